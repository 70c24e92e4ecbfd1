"""What one store may cost: time, size, number and parallelism of requests."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a client; the defaults suit a store that others need too."""

    connect_seconds: float = 5.0
    """To a connection, TLS included."""
    silence_seconds: float = 60.0
    """The longest time in which nothing comes; a store computes that long before the first byte."""
    attempt_seconds: float = 120.0
    """From the begin of one attempt to the last byte of its answer."""
    total_seconds: float = 300.0
    """For all attempts at one request, with the pauses between them."""
    attempts: int = 4
    """How often one request is made where a store is overloaded or cannot be reached."""
    first_pause_seconds: float = 0.5
    """Before the second attempt; each further pause is twice as long, all of them shortened at random by up to half."""
    longest_pause_seconds: float = 30.0
    """Of one pause, also where the store asks for a longer one."""
    body_bytes: int = 256 << 20
    """Of one answer, unpacked."""
    points: int = 11_000
    """Times in one range query: Prometheus answers no more."""
    halvings: int = 6
    """How often a range that the store refuses as too much is halved."""
    in_flight: int = 2
    """Requests at a time."""
    requests: int = 200
    """All requests, repeated ones included."""
    series: int = 10_000
    """Label sets in one answer about series."""
