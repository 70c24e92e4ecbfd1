"""What each KubeRay and controller-runtime version exposes, defaults to and does: data and small look-ups.

Nothing here reads a file, a clock or the network, and nothing depends on the rest of the advisor.

- ``versions``: the releases, look-up by name and inference from what is exposed.
- ``catalogue``: every series that the advisor reads; ``render`` makes a page of it.
- ``programs``: requests of a reconcile and the load that timers cause.
- ``logs``: texts of the operator's log.
- ``defaults``: constants of the operator, its chart, controller-runtime and client-go.
"""

from advisor.knowledge.catalogue import METRICS, find
from advisor.knowledge.metric import Metric
from advisor.knowledge.program import ReconcileProgram
from advisor.knowledge.programs import PROGRAMS, program_of
from advisor.knowledge.versions import VERSIONS, KubeRayVersion, infer, latest, lookup

__all__ = [
    "METRICS",
    "PROGRAMS",
    "VERSIONS",
    "KubeRayVersion",
    "Metric",
    "ReconcileProgram",
    "find",
    "infer",
    "latest",
    "lookup",
    "program_of",
]
