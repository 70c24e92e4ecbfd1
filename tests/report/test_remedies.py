import pytest

from advisor.analysis import Options, analyse
from advisor.model.signal import Unit, Window
from advisor.report.remedies import how_to_get
from advisor.signals.making import Maker
from advisor.sources.recording import RecordingSource
from tests.support import ROOT

LOG = "no operator log"
OBJECTS = "no object timeline in the input"


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        (f"{LOG} in the input", "operator.log.gz"),
        (f"{LOG} with keys in this window", "operator.log.gz"),
        (OBJECTS, "objects.jsonl.gz"),
        ("no cpu limit in kube_pod_container_resource_limits or the given settings", "kube-state-metrics"),
        ("no sample in the window for: delta container_cpu_cfs_throttled_seconds_total", "cAdvisor"),
        ("no sample in the window for: delta rest_client_rate_limiter_duration_seconds_sum", "from 1.7 on"),
        ("no sample in the window for: mean of workqueue_depth", "port 8080"),
        ("the operator's arguments are not known, or do not set it", "--args"),
        (Maker(Window(0.0, 1.0), "").untold(Unit.SECONDS).missing or "", "facts"),
    ],
)
def test_what_can_be_had(reason: str, part: str) -> None:
    """Each reason for which something can be done says what."""
    assert part in how_to_get(reason)


@pytest.mark.parametrize("reason", ["none ended in the window", "nothing was counted in the window", "anything else"])
def test_what_did_not_happen(reason: str) -> None:
    """Nothing can be had of it."""
    assert how_to_get(reason) == ""


def test_reasons_are_those_that_are_given() -> None:
    """A recording without a log has a reason of those above."""
    report = analyse(RecordingSource(ROOT / "tests" / "data" / "recordings" / "standby-replica"), Options())
    assert f"{LOG} in the input" in {one.reason for one in report.missing}
