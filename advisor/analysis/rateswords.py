"""How facts and samples speak of the figures that a load is made of."""

from dataclasses import dataclass

from advisor.model.text import format_value
from advisor.twin.workload import Workload

__all__ = ["FACTS", "SAMPLES", "Words"]


@dataclass(frozen=True, slots=True)
class Words:
    """Names of figures as the reader of one kind of source knows them.

    Attributes:
        subject: begins the sentence that ends with what is missing.
        hint: what to do about it.
        workers: workers of the controller.
        qps: the client's limiter.
        api_seconds: time of a request.
        calls_of_item: requests of one item of a batch.
        reconciles: reconciles a second.
        reconcile_seconds: their mean time.
        calls: requests of one of them.
        or_batch: what would do instead of the last three.
        has_episodes: whether the figures are those of one episode among others.
    """

    subject: str
    hint: str
    workers: str
    qps: str
    api_seconds: str
    calls_of_item: str
    reconciles: str
    reconcile_seconds: str
    calls: str
    or_batch: str
    has_episodes: bool

    def note(self, workload: Workload, start_seconds: float, seconds: float) -> str:
        """What a reader has to know about a load that was made from such figures.

        Args:
            workload: the load.
            start_seconds: when the episode begins in the observation.
            seconds: its length.
        """
        if not self.has_episodes:
            return f"load and times follow from the facts file's rates and means: {_described(workload)}"
        start, length = format_value(start_seconds, "seconds"), format_value(seconds, "seconds")
        return (
            "no single object was seen: load and times follow from rates and means of the load episode "
            f"{start} in, {length} long, the one in which most time was lost: {_described(workload)}"
        )


def _described(workload: Workload) -> str:
    arrivals = workload.arrivals
    if not arrivals:
        return "nothing is created"
    seconds = arrivals[-1].at_seconds
    pace = f"at an even pace over {format_value(seconds, 'seconds')}" if seconds else "at once"
    clusters = "1 cluster" if len(arrivals) == 1 else f"{len(arrivals)} clusters"
    size = arrivals[0].workers
    return f"{clusters} with {size} worker{'' if size == 1 else 's'}{' each' if len(arrivals) > 1 else ''}, {pace}"


FACTS = Words(
    subject="the facts carry",
    hint="add these facts, describe the load with --workload, or record the operator",
    workers="controllers.raycluster.max_concurrent_reconciles",
    qps="client.qps or operator.version",
    api_seconds="client.request_seconds_mean with client.limiter_wait_seconds_mean below it",
    calls_of_item="demand.api_calls_per_item",
    reconciles="controllers.raycluster.reconciles_per_second",
    reconcile_seconds="controllers.raycluster.reconcile_seconds_mean",
    calls="controllers.raycluster.api_calls_per_reconcile",
    or_batch=" (or demand.items_in_burst with demand.api_calls_per_item)",
    has_episodes=False,
)

SAMPLES = Words(
    subject="the samples carry",
    hint="settings that are in no series can be given with --version and --args; for the rest, scrape the operator "
    "itself while clusters are created, record it with --objects, or describe the load with --workload",
    workers="workers of raycluster (controller_runtime_max_concurrent_reconciles)",
    qps="QPS (in no series: --version and --args tell it)",
    api_seconds="time of a request (rest_client_request_duration_seconds, or workqueue_work_duration_seconds and "
    "rest_client_requests_total)",
    calls_of_item="requests of an item",
    reconciles="reconciles of raycluster (controller_runtime_reconcile_total)",
    reconcile_seconds="time of a reconcile (controller_runtime_reconcile_time_seconds)",
    calls="requests of a reconcile (rest_client_requests_total, or rest_client_request_duration_seconds)",
    or_batch="",
    has_episodes=True,
)
