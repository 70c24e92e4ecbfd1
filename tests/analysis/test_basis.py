"""What an analysis takes down for what-ifs gives the same situation as the data themselves."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from advisor.analysis import Options, report_of
from advisor.analysis.basis import basis_of, read_basis, situation_of, write_basis
from advisor.analysis.loading import Loaded, load_facts, load_source
from advisor.analysis.situations import of_inputs
from advisor.errors import InputError, NothingToAnalyseError
from advisor.model.facts import Facts
from advisor.sources.recording import RecordingSource
from tests.support import ROOT


def recorded() -> Loaded:
    """A real recording with objects."""
    return load_source(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker"))


def without_objects() -> Loaded:
    """The same as a scrape alone has it."""
    loaded = recorded()
    return replace(loaded, info=msgspec.structs.replace(loaded.info, object_changes=0))


@pytest.mark.parametrize("load", [recorded, without_objects])
def test_the_same_situation(load: Callable[[], Loaded]) -> None:
    """Written and read again, for single objects and for rates alike; and the settings are known without a run."""
    loaded = load()
    basis = read_basis(write_basis(basis_of("x", loaded)))
    situation = situation_of(basis)
    assert situation == of_inputs([("x", loaded)], None, lambda _: None)
    assert basis.settings == situation.settings
    assert basis.window.seconds > 0.0


def test_told_figures() -> None:
    """Facts are a basis as well."""
    facts = msgspec.convert(
        {
            "schema": "kuberay-advisor/facts/v1",
            "operator": {"version": "1.7.0"},
            "client": {"qps": 100.0, "burst": 200, "request_seconds_mean": 0.02, "limiter_wait_seconds_mean": 0.0},
            "controllers": {"raycluster": {"max_concurrent_reconciles": 1}},
            "demand": {"items_in_burst": 3, "api_calls_per_item": 6.0},
        },
        Facts,
    )
    loaded = load_facts(facts)
    basis = read_basis(write_basis(basis_of("x", loaded)))
    assert basis.beside == ()
    assert situation_of(basis) == of_inputs([("x", loaded)], None, lambda _: None)


def test_a_report_is_the_same_beside_it() -> None:
    """Taking a basis down changes nothing of the observation."""
    loaded = recorded()
    before = report_of(loaded, Options())
    basis_of("x", loaded)
    assert report_of(loaded, Options()) == before


def test_no_load() -> None:
    """Where figures are not known, the error names them."""
    facts = msgspec.convert({"schema": "kuberay-advisor/facts/v1", "operator": {"version": "1.7.0"}}, Facts)
    with pytest.raises(NothingToAnalyseError, match="missing"):
        basis_of("x", load_facts(facts))


@pytest.mark.parametrize("document", [b"", b"[]", b'{"name": "x"}'])
def test_no_basis(document: bytes) -> None:
    """A document that is none is refused."""
    with pytest.raises(InputError, match="is no basis of a what-if"):
        read_basis(document)


def test_another_version() -> None:
    """So is one that a later program wrote."""
    document = msgspec.json.decode(write_basis(basis_of("x", recorded())))
    with pytest.raises(InputError, match="of another version"):
        read_basis(msgspec.json.encode(document | {"form": 2}))
