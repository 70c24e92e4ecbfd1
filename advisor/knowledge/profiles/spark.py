"""The Spark operator of Kubeflow (research: field cases c021, c049, c071, c076, section 4; peers 1.1)."""

from typing import Final

from advisor.knowledge.profile import Default, Knob, Profile, Recognition

__all__ = ["SPARK_OPERATOR"]

_PEERS: Final = "peers 1.1: the operators' own guidance (spark-operator#2864, #2186)"

SPARK_OPERATOR: Final = Profile(
    name="spark-operator",
    title="Spark operator",
    summary="Kubeflow's operator for Spark applications.",
    recognised_by=Recognition(
        operators=("spark-operator",),
        controllers=("sparkapplication",),
    ),
    concurrency=Knob(
        words="an argument of the controller; the benchmark goes to 20 or 30 only with CPU",
        defaults=(Default(value=10.0, source=_PEERS),),
    ),
    qps=Knob(words="the QPS of its Kubernetes client", defaults=(Default(value=20.0, source=_PEERS),)),
    burst=Knob(words="the Burst of its Kubernetes client", defaults=(Default(value=30.0, source=_PEERS),)),
    docs=("Kubeflow documentation, Spark operator benchmarks",),
    notes=(
        (
            "A JVM is started for each submission: at 20 workers it took 1.8 CPUs a worker, and 7 to 11 % more was "
            "done than with 10 (Kubeflow's benchmark)."
        ),
        (
            "Its queue has a bucket of its own, 50 a second with a burst of 500, beside the client's "
            "(spark-operator#2186)."
        ),
        "More replicas are standbys; more operators, split by namespace, share the work (spark-operator#2192).",
    ),
)
