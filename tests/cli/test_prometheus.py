"""The commands that read from a Prometheus, against a real one."""

import gzip
import json
from pathlib import Path

import pytest

from tests.prometheusserver.server import create_tsdb, running, served
from tests.prometheusserver.synthetic import Fleet
from tests.prometheusserver.tools import find_or_leave_out
from tests.support import Golden, run

NAME = "throttled-one-worker"


def span_of(recording: Path) -> tuple[str, ...]:
    """Options for the time of a recording."""
    setup = json.loads((recording / "setup.json").read_text(encoding="utf-8"))
    return "--until", str(setup["end"] + 2), "--last", f"{setup['end'] - setup['start'] + 4:.0f}s"


def test_one_command_diagnoses_an_operator(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The address of a store is all that has to be said, beside the time."""
    recording = data / "recordings" / NAME
    with served(find_or_leave_out("system"), recording) as address:
        assert run("analyze", "--prometheus", address, *span_of(recording), "--output", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["findings"][0]["code"] == "client-throttled"
    assert report["source"]["kind"] == "prometheus"


def test_what_the_store_has_becomes_a_recording(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``record --prometheus`` keeps what an analysis reads; the recording gets the same report as the store."""
    recording = data / "recordings" / NAME
    out = tmp_path / "out"
    with served(find_or_leave_out("system"), recording) as address:
        given = ("--prometheus", address, *span_of(recording))
        assert run("record", *given, "--out", str(out)) == 0
        assert f"recorded in {out}" in capsys.readouterr().out
        assert run("analyze", *given, "--output", "json") == 0
        of_store = json.loads(capsys.readouterr().out)
    assert run("analyze", "--recording", str(out), "--output", "json") == 0
    of_recording = json.loads(capsys.readouterr().out)
    assert {path.name for path in out.iterdir()} == {"metrics.om.gz", "setup.json"}
    for key in ("findings", "advice", "figures", "episodes"):
        assert _without_origins(of_recording[key]) == _without_origins(of_store[key])


def _without_origins(what: object) -> object:
    """The same without what names the source."""
    if isinstance(what, dict):
        return {key: _without_origins(value) for key, value in what.items() if key != "origin"}
    if isinstance(what, list):
        return [_without_origins(one) for one in what]
    return what


def test_pseudonyms_hide_names_of_the_store(data: Path, tmp_path: Path) -> None:
    """No namespace, Pod or address of the store is in the recording."""
    recording, out = data / "recordings" / NAME, tmp_path / "out"
    with served(find_or_leave_out("system"), recording) as address:
        run("record", "--prometheus", address, *span_of(recording), "--out", str(out), "--pseudonyms")
    text = gzip.decompress((out / "metrics.om.gz").read_bytes()).decode()
    assert "workqueue_depth" in text
    assert "127.0.0.1" not in text
    assert run("analyze", "--recording", str(out)) == 0


def test_queries_are_explained_and_not_asked(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    """Each query with purpose and cost; nobody listens at the address, and nobody has to."""
    address = ("--prometheus", "http://127.0.0.1:1", "--until", "2026-11-30T03:00:00Z")
    assert run("analyze", *address, "--last", "7d", "--namespace", "ray", "--explain-queries") == 0
    golden.check("queries/week.txt", capsys.readouterr().out)
    assert run("analyze", *address, "--explain-queries") == 0
    golden.check("queries/hours.txt", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--explain-queries", "--facts", "x"), "--explain-queries belongs to --prometheus URL"),
        (("--cluster", "eu", "--facts", "x"), "--cluster belongs to --prometheus URL"),
        (("--prometheus", "http://a", "--facts", "x"), "Give one input"),
        (("--prometheus", "http://a", "--match", "{"), "is no matcher such as"),
        (("--prometheus", "http://a", "--until", "yesterday"), "is no time such as"),
        (("--prometheus", "http://a", "--user", "u"), "a user needs a password"),
        (("--prometheus", "http://a", "--for", "5m"), "--for belongs to --scrape URL"),
    ],
)
def test_options_that_cannot_be_are_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong use ends with exit code 2 and says which option."""
    assert run("analyze", *arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_store_without_an_operator_says_what_to_look_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Prometheus that scrapes no operator is exit code 4, with what is missing."""
    text = tmp_path / "other.om"
    text.write_text("# TYPE a gauge\na 1 1796000000.0\n# EOF\n", encoding="utf-8")
    with served(find_or_leave_out("system"), text) as address:
        assert run("analyze", "--prometheus", address, "--until", "1796000010", "--last", "1m") == 4
    said = " ".join(capsys.readouterr().err.split())
    assert "no series controller_runtime_max_concurrent_reconciles in this time" in said


def test_a_store_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, the address, and what could be the reason."""
    assert run("analyze", "--prometheus", "http://127.0.0.1:1") == 3
    said = capsys.readouterr().err
    assert "http://127.0.0.1:1" in said
    assert "refused" in said


def test_all_operators_of_a_store_are_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--all`` finds every cluster's operator, writes a report of each, and names the worst first."""
    fleet, tool, out = Fleet(8), find_or_leave_out("system"), tmp_path / "out"
    create_tsdb(tool, fleet.texts(), tmp_path / "tsdb")
    with running(tool, tmp_path / "tsdb") as address:
        time = ("--until", str(fleet.end), "--last", "1h")
        assert run("analyze", "--prometheus", address, *time, "--all", "--out", str(out), "--output", "json") == 0
        summary = json.loads(capsys.readouterr().out)
        assert run("analyze", "--prometheus", address, *time) == 2
    assert "there are 8 operators in this store" in " ".join(capsys.readouterr().err.split())
    assert len(list(out.glob("cluster-*.json"))) == 8
    found = {one["name"].partition("/")[0]: one["verdict"]["finding"] for one in summary["operators"]}
    wanted = {"quiet": "healthy", "saturated": "workers-saturated", "throttled": "client-throttled"}
    for cluster in fleet.clusters:
        nature = fleet.nature_of(cluster)
        assert found[cluster] == wanted.get(nature, found[cluster]), nature
    assert summary["operators"][0]["verdict"]["severity"] == "critical"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--all", "--facts", "x", "--out", "y"), "--all belongs to --prometheus URL"),
        (("--fleet", "f", "--facts", "x", "--out", "y"), "--fleet FILE goes without an input"),
        (("--fresh", "--facts", "x"), "--fresh belongs to --fleet FILE or --all"),
    ],
)
def test_options_of_many_operators_go_together(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What makes no sense for one operator is refused there, and the reverse."""
    assert run("analyze", *arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())
