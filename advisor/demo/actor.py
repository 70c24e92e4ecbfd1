"""One simulated operator behind an address: hidden while its past is played, then in step with the clock."""

from collections.abc import Sequence

from advisor.analysis.simulated import answer_of, arguments_of, version_of
from advisor.analysis.simulatedlive import LiveOperator
from advisor.model.raw import Selection
from advisor.sources.exposition import Exposition
from advisor.sources.feed import Feed
from advisor.sources.operatorserver import OperatorServer
from advisor.twin.exposed import Family, Operator

__all__ = ["Actor"]

_HOST = "127.0.0.1"
_UNSEEN = ("--qps=", "--burst=")


class Actor:
    """An operator that is watched. Serves nothing but errors until it is live.

    Args:
        name: what it is called.
        operator: that has not begun.

    Attributes:
        log: none.
        objects: none.
    """

    def __init__(self, name: str, operator: Operator) -> None:
        self.name = name
        self.log = Feed(0)
        self.objects = Feed(0)
        self._operator = operator
        self._args: tuple[str, ...] = ()
        self._live: LiveOperator | None = None
        self._server: OperatorServer | None = None

    @property
    def seconds(self) -> float:
        """How far its run has come."""
        return self._operator.simulation.engine.now_ns / 1e9

    @property
    def version(self) -> str:
        """Its release."""
        return version_of(self._operator.simulation.settings)

    @property
    def args(self) -> tuple[str, ...]:
        """What its arguments say that is in no series; those of the last process while it is down."""
        if self._operator.is_up:
            given = arguments_of(self._operator.simulation.settings)
            self._args = tuple(one for one in given if one.startswith(_UNSEEN))
        return self._args

    @property
    def url(self) -> str:
        """Where it serves."""
        assert self._server is not None  # noqa: S101 - it is asked once it serves
        return self._server.url

    @property
    def instance(self) -> str:
        """How a scraper calls that address."""
        return self.url.rpartition("/")[2]

    def serve(self) -> None:
        """Take a free port of this machine's loopback.

        Raises:
            OSError: there is none.
        """
        self._server = OperatorServer(_HOST, 0, self)

    def play(self, to_seconds: float) -> None:
        """Go on to a time of the run at once."""
        self._operator.live(round(to_seconds * 1e9))

    def answer(self, selection: Selection, instance: str) -> Exposition | None:
        """What a scrape would come to now; None while it is down."""
        return answer_of(self._operator, selection, instance) if self._operator.is_up else None

    def go_live(self) -> None:
        """Be in step with the clock from now on, from where the run has come to."""
        self._live = LiveOperator(self._operator)

    def catch_up(self) -> None:
        """Follow the clock, once it is live."""
        if self._live is not None:
            self._live.catch_up()

    def metrics(self) -> Sequence[Family]:
        """What its endpoint answers now; nothing while it is down, or not live yet."""
        return () if self._live is None else self._live.metrics()

    def container_metrics(self) -> Sequence[Family]:
        """Nothing: nobody scrapes a kubelet here."""
        return ()

    def end(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            self._server.end()
