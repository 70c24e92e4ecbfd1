"""Finding operators in a store, from what somebody says about where to look."""

from dataclasses import dataclass

from advisor.knowledge.profile import Profile
from advisor.model.signal import Window
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.operators import Operator, choose, finders, group_operators
from advisor.sources.prometheus.promql import Matcher, equal

__all__ = ["Where", "find_operator", "find_operators"]


@dataclass(frozen=True, slots=True)
class Where:
    """Where to look in a store; "" is anywhere. ``matchers`` are further ones, for each of the operator's series."""

    cluster: str = ""
    cluster_label: str = ""
    namespace: str = ""
    job: str = ""
    matchers: tuple[Matcher, ...] = ()
    profile: Profile | None = None
    """What kind of operator is looked for; None: KubeRay's, and others where somebody narrows the choice."""

    @property
    def narrows(self) -> bool:
        """Whether it says anything."""
        return bool(self.cluster or self.namespace or self.job or self.matchers)

    def all_matchers(self) -> tuple[Matcher, ...]:
        """What a series of the operator has to match; a cluster without a known label is looked at afterwards."""
        labels = ((self.cluster_label, self.cluster), ("namespace", self.namespace), ("job", self.job))
        return (*equal(labels), *self.matchers)


def find_operators(client: PrometheusClient, where: Where, span: Window) -> tuple[Operator, ...]:
    """All operators there that were scraped in the span.

    Raises:
        InputError: the store does not answer as it should.
    """
    found = client.series(finders(where.all_matchers(), where.profile), span.start, span.end)
    operators = group_operators(found, where.cluster_label, where.matchers)
    return tuple(one for one in operators if where.cluster in ("", one.cluster))


def find_operator(client: PrometheusClient, where: Where, span: Window) -> Operator:
    """The one operator that is meant.

    Raises:
        InputError: the store does not answer as it should.
        NothingToAnalyseError: there is none.
        UnknownNameError: there are several.
    """
    return choose(find_operators(client, where, span), narrowed=where.narrows, where=client.name, profile=where.profile)
