"""Series of the Kubernetes client (research: kuberay 2.3, controller-runtime 4.3, 5.2, 5.3)."""

from typing import Final

from advisor.knowledge.metric import Metric

__all__ = ["CLIENT_BUCKETS_BYTES", "CLIENT_BUCKETS_SECONDS", "CLIENT_METRICS"]

CLIENT_BUCKETS_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
# fmt: off
CLIENT_BUCKETS_BYTES: Final = (
    64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
)
# fmt: on

_VERB_AND_HOST: Final = ("verb", "host")

CLIENT_METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="rest_client_requests_total",
        kind="counter",
        labels=("code", "method", "host"),
        unit="requests",
        family="client",
        exposed_by="client-go",
        meaning="Attempts to reach the API server, by HTTP code and method.",
        not_meaning="Not comparable with --qps: every kind has a bucket of its own, so a total above QPS needs no "
        "throttling and a total below it does not exclude it. 409 on POST is an existing object, only on PUT or "
        "PATCH a conflict.",
        note="Contains watches (as GET), lease renewals and events; dashboard calls are in none of these series. The "
        "label is method here and verb in the others; none names the kind.",
    ),
    Metric(
        name="rest_client_request_duration_seconds",
        kind="histogram",
        labels=_VERB_AND_HOST,
        unit="seconds",
        family="client",
        exposed_by="kuberay",
        meaning="Duration of a request from before the limiter until the body is read.",
        not_meaning="Not the API server's latency: it contains the client's own limiter wait, Retry-After sleeps and "
        "retries. Subtract rest_client_rate_limiter_duration_seconds.",
        note="Watches are not in it; the lease write every 2 s is, and dilutes it on an idle operator.",
        since="1.7",
        buckets=CLIENT_BUCKETS_SECONDS,
    ),
    Metric(
        name="rest_client_rate_limiter_duration_seconds",
        kind="histogram",
        labels=_VERB_AND_HOST,
        unit="seconds",
        family="client",
        exposed_by="kuberay",
        meaning="Wait in the client's token bucket, one observation per passage, waits of zero included.",
        not_meaning="Short waits are not harmless: with one worker no wait exceeds 1/QPS though the limiter may take "
        "nearly all the time. Absence is not absence of throttling before 1.7.",
        note="No samples at all while the limiter is off. The share above 5 ms and the share of worker time tell more "
        "than a quantile.",
        since="1.7",
        buckets=CLIENT_BUCKETS_SECONDS,
    ),
    Metric(
        name="rest_client_request_retries_total",
        kind="counter",
        labels=("code", "verb", "host"),
        unit="requests",
        family="client",
        exposed_by="kuberay",
        meaning="Attempts from the second on, made inside the client after 429, some 5xx and lost connections.",
        not_meaning="Not reconcile retries; most of these never become a reconcile error.",
        note="The series appears with the first retry.",
        since="1.7",
    ),
    Metric(
        name="rest_client_request_size_bytes",
        kind="histogram",
        labels=_VERB_AND_HOST,
        unit="bytes",
        family="client",
        exposed_by="kuberay",
        meaning="Size of request bodies.",
        not_meaning="Not network traffic: headers, watches and retries are missing.",
        since="1.7",
        buckets=CLIENT_BUCKETS_BYTES,
    ),
    Metric(
        name="rest_client_response_size_bytes",
        kind="histogram",
        labels=_VERB_AND_HOST,
        unit="bytes",
        family="client",
        exposed_by="kuberay",
        meaning="Size of response bodies.",
        not_meaning="Not network traffic: watches, the largest part, are missing.",
        since="1.7",
        buckets=CLIENT_BUCKETS_BYTES,
    ),
    Metric(
        name="rest_client_dns_resolution_duration_seconds",
        kind="histogram",
        labels=("host",),
        unit="seconds",
        family="client",
        exposed_by="kuberay",
        meaning="Time to resolve the API server's name.",
        not_meaning="Absence is not failure: nothing is resolved when the server is addressed by number.",
        since="1.7",
        buckets=CLIENT_BUCKETS_SECONDS[:-1],
    ),
)
