"""An hour of an operator with many keys, played to the sidecar's core."""

import random
from dataclasses import dataclass
from typing import Final

from prometheus_client.registry import CollectorRegistry

from advisor.model.raw import LogRecord, Subject
from advisor.queueing.informer import Change, InformerCache
from advisor.queueing.objectstore import EventType, OwnerReference, WatchEvent
from advisor.sidecar.collector import SidecarCollector, SidecarView
from advisor.sidecar.condensing import RecordRing, condensed
from advisor.sidecar.logreader import LogBatch
from advisor.sidecar.objectring import ObjectRing
from advisor.sidecar.observed import Observed, Writer
from advisor.sidecar.observer import Observer, ObserverSettings
from advisor.sidecar.ring import Peaks, Ring
from advisor.sidecar.rules import RULES
from advisor.signals.names import SELECTION
from advisor.sources.exposition import ExpositionParser

__all__ = ["Held", "hour"]

_START: Final = 1_800_000_000.0
_SECONDS: Final = 3600
_SCRAPE_SECONDS: Final = 5
_LINES: Final = 8
_EACH_SECOND: Final = 40
"""Reconciles: what ten thousand idle RayClusters come to by their resync of 300 s."""


@dataclass(frozen=True)
class Held:
    """Everything that the sidecar holds at the end."""

    observer: Observer
    rings: tuple[Ring, RecordRing, ObjectRing]
    registry: CollectorRegistry
    caches: tuple[InformerCache[Observed], ...]

    def series(self) -> int:
        """Series of an answer."""
        return sum(len(family.samples) for family in self.registry.collect())


def hour(keys: int, *, with_watches: bool) -> Held:
    """Play an hour."""
    observer = Observer(
        ObserverSettings(has_watches=with_watches),
        synced=lambda: {kind for rules in RULES.values() for kind, _ in rules.watches} if with_watches else (),
    )
    ring, peaks, records, objects = Ring(), Peaks(), RecordRing(), ObjectRing()
    registry = CollectorRegistry()
    now = _START

    def view() -> SidecarView:
        known = observer.look(now)
        return SidecarView(
            shadows=known.shadows,
            keys=known.keys,
            hot_keys=known.hot_keys,
            key_state=known.key_state,
            peaks=peaks.view(now),
        )

    registry.register(SidecarCollector(view))
    choose = random.Random(7)  # noqa: S311 - a load, no secret
    names = [(f"team-{number % 50:02d}", f"cluster-{number:05d}") for number in range(keys)]

    def tell(change: Change[Observed]) -> None:
        observer.changed(now, change)
        objects.add(now, change)

    caches = _caches(names, tell) if with_watches else ()
    for second in range(_SECONDS):
        now = _START + second
        found = [choose.choice(names) for _ in range(_EACH_SECOND)]
        batch = LogBatch(condensed(record for one in found for record in _reconcile(now, one, choose)))
        observer.logged(batch)
        records.add(batch.records)
        for one in found if with_watches else ():
            _touch(caches, one, second, tell)
        if second % _SCRAPE_SECONDS == 0:
            parser = ExpositionParser(SELECTION, "operator")
            parser.feed(_exposition(second))
            exposition = parser.finish()
            for take in (ring.take, peaks.take, observer.scraped):
                take(now, exposition)
        observer.advance(now)
    return Held(observer, (ring, records, objects), registry, caches)


def _reconcile(now: float, name: tuple[str, str], choose: random.Random) -> list[LogRecord]:
    identity = f"{choose.getrandbits(128):032x}"
    subjects = (Subject.LINE,) * (_LINES - 1) + (Subject.END,)
    return [
        LogRecord(
            time=now + 0.005 * number,
            subject=subject,
            controller="raycluster",
            namespace=name[0],
            name=name[1],
            reconcile_id=identity,
            delay_seconds=300.0 if subject is Subject.END else None,
        )
        for number, subject in enumerate(subjects)
    ]


def _caches(names: list[tuple[str, str]], tell: object) -> tuple[InformerCache[Observed], ...]:
    clusters, pods = InformerCache[Observed](), InformerCache[Observed]()
    clusters.receive_list(0, [_cluster(one, 1) for one in names])
    pods.receive_list(0, [_pod(one, 1) for one in names])
    for cache in (clusters, pods):
        for change in cache.tick(0):
            tell(change)  # type: ignore[operator]
    return clusters, pods


def _touch(caches: tuple[InformerCache[Observed], ...], name: tuple[str, str], version: int, tell: object) -> None:
    for cache, one in zip(caches, (_cluster(name, version + 2), _pod(name, version + 2)), strict=True):
        cache.receive(0, WatchEvent(EventType.MODIFIED, None, one))
        for change in cache.tick(0):
            tell(change)  # type: ignore[operator]


def _labels(name: str, kind: str) -> dict[str, str]:
    return {
        "ray.io/cluster": name,
        "ray.io/node-type": "head",
        "ray.io/group": "headgroup",
        "ray.io/identifier": f"{name}-{kind}",
        "ray.io/is-ray-node": "yes",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


def _cluster(name: tuple[str, str], version: int) -> Observed:
    return Observed(
        kind="RayCluster",
        namespace=name[0],
        name=name[1],
        uid=f"uid-{name[1]}",
        resource_version=version,
        generation=1 + version % 5,
        labels={"team": name[0]},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": f"{version:016x}"},
        created=_START,
        writers=(Writer("kubectl", _START), Writer("ray-operator", _START + version)),
        state="ready",
        desired_workers=1,
        ready_workers=1,
        observed_generation=1 + version % 5,
    )


def _pod(name: tuple[str, str], version: int) -> Observed:
    return Observed(
        kind="Pod",
        namespace=name[0],
        name=f"{name[1]}-head-abcde",
        uid=f"uid-{name[1]}-head",
        resource_version=version,
        labels=_labels(name[1], "head"),
        owners=(OwnerReference("RayCluster", name[1], f"uid-{name[1]}"),),
        created=_START,
        phase="Running",
        ready=True,
    )


def _exposition(second: int) -> bytes:
    done = second * _EACH_SECOND
    return (
        f'workqueue_depth{{controller="raycluster",name="raycluster",priority="0"}} {second % 7}\n'
        f'controller_runtime_active_workers{{controller="raycluster"}} {second % 3}\n'
        'controller_runtime_max_concurrent_reconciles{controller="raycluster"} 4\n'
        f'controller_runtime_reconcile_time_seconds_sum{{controller="raycluster"}} {done * 0.04}\n'
        f'controller_runtime_reconcile_time_seconds_count{{controller="raycluster"}} {done}\n'
        f'workqueue_adds_total{{controller="raycluster",name="raycluster"}} {done}\n'
        f'workqueue_queue_duration_seconds_sum{{controller="raycluster",name="raycluster"}} {done * 0.1}\n'
        f'workqueue_queue_duration_seconds_count{{controller="raycluster",name="raycluster"}} {done}\n'
        f"process_cpu_seconds_total {second * 0.05}\nprocess_start_time_seconds {_START - 1000}\n"
    ).encode()
