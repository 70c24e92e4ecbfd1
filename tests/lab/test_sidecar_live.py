"""The sidecar as a process beside a real operator on a real API server: a burst, and a restart of the operator.

Where the lab is not built this test is left out.
"""

import pytest

from tests.lab.binaries import toolbox
from tests.lab.laboratory import laboratory
from tests.lab.sidecarrun import run_sidecar

_NEEDED = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok", "faultproxy")
_MISSING = [name for name in (*_NEEDED, "operator-priority") if name not in toolbox().places]
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"the lab is not built ({', '.join(_MISSING)}); make lab-build"),
    pytest.mark.timeout(400),
]


def test_the_shadow_is_what_the_operator_has() -> None:
    """In a burst and over a restart: depth, number of reconciles and queue wait are those that the operator tells."""
    with laboratory(toolbox(), print) as lab:
        phases = run_sidecar(lab, print)
    for phase in phases:
        own, mine = phase.reconciles
        assert mine == pytest.approx(own, rel=0.05), phase
        for priority, error in phase.depth_error_mean.items():
            assert error <= max(1.0, 0.1 * phase.depth_peak.get(priority, 0.0)), phase
    own_wait, wait = phases[0].wait_mean_seconds
    assert wait == pytest.approx(own_wait, rel=0.1), phases[0]
    own_wait, wait = phases[1].wait_mean_seconds
    # Everything enters at once there, when the log says that sources start: some ten milliseconds early.
    assert wait == pytest.approx(own_wait, rel=0.1, abs=0.15), phases[1]
