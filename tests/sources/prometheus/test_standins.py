"""Stores that are not a Prometheus: stand-ins that speak as they do, before a real Prometheus that has the data.

What is theirs alone is in here: paths, tenants, labels, and how each says that an answer is partial.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from advisor.analysis import Options, load_source, override, report_of
from advisor.errors import StoreAccessError
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operator
from advisor.sources.prometheus.source import PrometheusSource
from tests.prometheusserver.server import served
from tests.prometheusserver.targets import target
from tests.prometheusserver.tools import find_or_leave_out
from tests.sources.prometheus.stores import Handler, send, serving

NAME = "throttled-one-worker"
UNSIMULATED = override(Options(), ("policy.most_simulated_pods=0",))
Change = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def before(address: str, prefix: str, change: Change, tenant: str | None = None) -> Iterator[str]:
    """A store under a path of its own that answers what a Prometheus answers, changed; a tenant may be asked for."""

    def behave(handler: Handler) -> None:
        seen = handler.request_seen
        if tenant is not None and seen.headers.get("x-scope-orgid") != tenant:
            send(handler, b"no org id\n", 401, "text/plain; charset=utf-8")
        elif not seen.path.startswith(f"{prefix}/api/v1/"):
            send(handler, b"404 page not found\n", 404, "text/plain; charset=utf-8")
        else:
            answer = httpx.post(f"{address}{seen.path.removeprefix(prefix)}", data=seen.params, trust_env=False)
            send(handler, json.dumps(change(answer.json())).encode(), answer.status_code)

    with serving(behave) as store:
        yield f"{store.url}{prefix}"


def report_from(url: str, recording: Path, access: Access | None = None, where: Where | None = None) -> Report:
    """The report on the recording's time."""
    setup = json.loads((recording / "setup.json").read_text(encoding="utf-8"))
    span = Window(setup["start"] - 2, setup["end"] + 2)
    with PrometheusClient(url, access) as client:
        source = PrometheusSource(client, find_operator(client, where or Where(), span), span)
        return report_of(load_source(source), UNSIMULATED)


def said(report: Report) -> str:
    """All notes of the report."""
    return "\n".join(note.message for note in report.source.notes)


def test_thanos_says_that_an_answer_is_partial(data: Path) -> None:
    """A querier that does not reach one of its stores answers with a warning, which is in the report."""
    recording = data / "recordings" / NAME
    warning = "No StoreAPIs matched for this query"
    labelled = target({"cluster": "eu-1"}, "keep")
    with (
        served(find_or_leave_out("system"), recording, target=labelled) as address,
        before(address, "", lambda answer: {**answer, "warnings": [warning]}) as url,
    ):
        report = report_from(url, recording, where=Where(cluster="eu-1"))
    assert report.findings[0].code == "client-throttled"
    assert warning in said(report)


def test_mimir_has_a_path_and_wants_a_tenant(data: Path) -> None:
    """Under /prometheus, with the tenant in a header; without one the error says what is missing."""
    recording = data / "recordings" / NAME
    with (
        served(find_or_leave_out("system"), recording) as address,
        before(address, "/prometheus", dict, tenant="team-a") as url,
    ):
        assert report_from(url, recording, Access(tenant="team-a")).findings[0].code == "client-throttled"
        with pytest.raises(StoreAccessError, match="401"):
            report_from(url, recording)


def test_victoriametrics_has_its_own_mark_of_a_partial_answer(data: Path) -> None:
    """The cluster version's path, ``isPartial`` in place of warnings, and statistics that nobody asked for."""
    recording = data / "recordings" / NAME

    def partial(answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "isPartial": True, "stats": {"seriesFetched": "12", "executionTimeMsec": 3}}

    with (
        served(find_or_leave_out("system"), recording) as address,
        before(address, "/select/0/prometheus", partial) as url,
    ):
        report = report_from(url, recording)
    assert report.findings[0].code == "client-throttled"
    assert "the store's answer is partial: some of its nodes did not answer" in said(report)
