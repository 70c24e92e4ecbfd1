"""KubeRay's operator: every value comes from what is known of its releases, requests and chart."""

from typing import Final

from advisor.knowledge.defaults import CONFIGURATION_FIELDS, CONTAINER_NAME, DEFAULT_CONCURRENCY, FLAGS, LEASE_NAME
from advisor.knowledge.profile import KUBERAY_NAME, ControllerProfile, Default, Knob, Profile, Recognition
from advisor.knowledge.programs import FIXED_WORKERS, PROGRAMS
from advisor.knowledge.releases import RELEASES

__all__ = ["KUBERAY"]

_RESEARCH: Final = "research: kuberay 1.1"
_HELM: Final = dict(RELEASES[-1].helm_value_paths)


def _limit_defaults(name: str) -> tuple[Default, ...]:
    """What the client's limit was, with each release that changed it."""
    found: list[Default] = []
    for release in RELEASES:
        value = release.default_qps if name == "qps" else float(release.default_burst)
        if not found or found[-1].value != value:
            found.append(Default(value=value, since=release.series, source="research: kuberay 1.6"))
    return tuple(found)


def _knob(name: str, *defaults: Default) -> Knob:
    return Knob(flag=FLAGS[name], field=CONFIGURATION_FIELDS[name], helm_value=_HELM[name], defaults=defaults)


_LABELS: Final = {label: None for release in RELEASES for _, label in release.controller_labels}

KUBERAY: Final = Profile(
    name=KUBERAY_NAME,
    title="KubeRay",
    summary="KubeRay's operator: defaults, flags, chart values and requests are known for each release.",
    recognised_by=Recognition(
        operators=("kuberay", "kuberay-operator"),
        controllers=tuple(_LABELS),
        series=("kuberay_*", "ray_operator_clusters_*"),
        labels={"container": (CONTAINER_NAME,)},
    ),
    concurrency=_knob("concurrency", Default(value=float(DEFAULT_CONCURRENCY), source=_RESEARCH)),
    qps=_knob("qps", *_limit_defaults("qps")),
    burst=_knob("burst", *_limit_defaults("burst")),
    controllers=tuple(
        ControllerProfile(
            name=program.controller,
            workers=FIXED_WORKERS.get(program.controller),
            external_calls=program.makes_external_calls,
            source="research: kuberay 4",
        )
        for program in PROGRAMS
    ),
    lease=LEASE_NAME,
    deployment=CONTAINER_NAME,
    container=CONTAINER_NAME,
    docs=("kuberay-advisor metrics and explain; the troubleshooting guide of Ray on Kubernetes",),
    notes=("What changed with each release is known beside this profile, and goes before it.",),
)
