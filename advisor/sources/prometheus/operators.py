"""Which operators a store holds: found by the series that every controller-runtime operator exposes.

Only the index is asked (``/api/v1/series``), so a month costs as little as an hour.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.errors import NothingToAnalyseError, UnknownNameError
from advisor.knowledge.defaults import LEASE_NAME
from advisor.knowledge.profile import Profile, Recognition
from advisor.knowledge.profiles import KUBERAY
from advisor.knowledge.recognise import Seen, recognise, recognised
from advisor.model.text import format_some
from advisor.sources.prometheus.promql import Matcher, equal, selector

__all__ = ["KUBERAY_LEASE", "LEASE", "MARK", "Operator", "choose", "finders", "group_operators", "meant"]

MARK: Final = "controller_runtime_max_concurrent_reconciles"
"""Exposed once a controller, from its start on, by every operator on controller-runtime."""
_CLUSTER_LABELS: Final = (
    "cluster",
    "k8s_cluster",
    "k8s_cluster_name",
    "kubernetes_cluster",
    "cluster_name",
    "cluster_id",
)
LEASE: Final = "leader_election_master_status"
KUBERAY_LEASE: Final = LEASE_NAME
"""The name in that series by which KubeRay's is known: a replica that only stands by exposes no controller."""
_MOST_NAMED: Final = 10
_BY_CHART: Final = " (metrics.serviceMonitor.enabled in KubeRay's chart)"


@dataclass(frozen=True, slots=True, order=True)
class Operator:
    """One operator: a job in a namespace of a cluster; "" where the store has no such label.

    ``pods`` are the names of its Pods over the range, ``controllers`` the values of the ``controller`` label.
    """

    cluster: str
    namespace: str
    job: str
    cluster_label: str = ""
    controllers: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    further: tuple[Matcher, ...] = ()
    """Matchers that somebody gave beside."""
    lease: str = ""
    """What its replicas elect a leader for, where it is known."""

    @property
    def is_kuberay(self) -> bool:
        """Whether it is KubeRay's, by its controllers or its lease."""
        return recognise(self._seen()).profile.is_kuberay and not self._is_unknown()

    def is_of(self, profile: Profile) -> bool:
        """Whether it is one of a profile; of one that tells no way to recognise them, any is."""
        if profile.is_kuberay:
            return self.is_kuberay
        return profile.recognised_by == Recognition() or any(recognised(profile, self._seen()).values())

    def _is_unknown(self) -> bool:
        return not self.controllers and self.lease != KUBERAY_LEASE

    def _seen(self) -> Seen:
        labels = {"job": (self.job,), "namespace": (self.namespace,), "pod": self.pods}
        return Seen(controllers=self.controllers, leases=(self.lease,), labels=labels)

    @property
    def name(self) -> str:
        """Cluster, namespace and job, as far as there are such labels."""
        return "/".join(part for part in (self.cluster, self.namespace, self.job) if part) or "unnamed"

    def matchers(self) -> tuple[Matcher, ...]:
        """What selects its own series; what it has no label for is left open."""
        return (*self.place(), *equal([("job", self.job)]), *self.further)

    def objects(self) -> tuple[Matcher, ...]:
        """What selects its series about objects, whose namespace is the object's and not the operator's."""
        pods = (Matcher.one_of("pod", self.pods),) if self.pods else ()
        return (*(one for one in self.matchers() if one.label != "namespace"), *pods)

    def place(self) -> tuple[Matcher, ...]:
        """What selects its namespace, also in series of others about it."""
        return equal([(self.cluster_label, self.cluster), ("namespace", self.namespace)])


def finders(matchers: Iterable[Matcher], profile: Profile | None = None) -> list[str]:
    """Selectors of the series by which operators are found: the mark, and the lease where the profile knows it."""
    given, lease = tuple(matchers), (profile or KUBERAY).lease
    found = [selector([MARK], given)]
    if lease is not None:
        found.append(selector([LEASE], (Matcher("name", "=", lease), *given)))
    return found


def group_operators(
    found: Iterable[Mapping[str, str]], cluster_label: str = "", further: tuple[Matcher, ...] = ()
) -> tuple[Operator, ...]:
    """The operators that series of the mark belong to, in order.

    Args:
        found: the labels of each series.
        cluster_label: the label that tells clusters apart; the usual ones are tried where it is not given.
        further: matchers that the series were selected with beside.
    """
    series = list(found)
    label = cluster_label or next((one for one in _CLUSTER_LABELS if any(one in labels for labels in series)), "")
    found_by: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
    for labels in series:
        key = (labels.get(label, "") if label else "", labels.get("namespace", ""), labels.get("job", ""))
        found_by.setdefault(key, []).append(labels)
    return tuple(
        Operator(
            *key,
            cluster_label=label if key[0] else "",
            controllers=_values(members, "controller"),
            pods=_values(members, "pod"),
            further=further,
            lease=next(iter(_values((one for one in members if one.get("__name__") == LEASE), "name")), ""),
        )
        for key, members in sorted(found_by.items())
    )


def _values(series: Iterable[Mapping[str, str]], label: str) -> tuple[str, ...]:
    return tuple(sorted({value for labels in series if (value := labels.get(label))}))


def choose(operators: Sequence[Operator], *, narrowed: bool, where: str, profile: Profile | None = None) -> Operator:
    """The one operator to analyse: KubeRay's, if there is one; another only where somebody asked for it.

    Args:
        operators: those found.
        narrowed: whether somebody named a cluster, namespace, job or matcher.
        where: the store, for the error.
        profile: of which it is to be; None where nobody said.

    Raises:
        NothingToAnalyseError: none was found.
        UnknownNameError: there are several, or none that is meant.
    """
    wanted = profile or KUBERAY
    if not operators:
        raise NothingToAnalyseError(
            f"no series {MARK} in this time, so no operator is scraped into this store",
            where=where,
            hint=f"is the operator's /metrics scraped{_BY_CHART if wanted.is_kuberay else ''}, "
            "by a Prometheus that this store belongs to, and in this time (--last, --until)?",
        )
    candidates = meant(operators, narrowed=narrowed, profile=profile)
    if len(candidates) == 1:
        return candidates[0]
    what = (
        f"are {len(candidates)} operators in this store" if candidates else f"is no {wanted.title} operator, but others"
    )
    raise UnknownNameError(
        f"there {what}: {format_some([one.name for one in candidates or operators], _MOST_NAMED)}",
        where=where,
        hint="choose one with --cluster, --namespace and --job",
    )


def meant(operators: Sequence[Operator], *, narrowed: bool, profile: Profile | None = None) -> Sequence[Operator]:
    """Of the operators found those of a profile, else KubeRay's; all where none is and somebody narrowed the choice."""
    return [one for one in operators if one.is_of(profile or KUBERAY)] or (operators if narrowed else [])
