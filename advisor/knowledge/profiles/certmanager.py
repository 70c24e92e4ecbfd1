"""cert-manager: workers and client limits as its page on scaling has them (research: field cases c009, c035)."""

from typing import Final

from advisor.knowledge.profile import Default, Knob, Profile, Recognition

__all__ = ["CERT_MANAGER"]

_PAGE: Final = "field cases, section 4: cert-manager's page on scaling, cert-manager#5936"

CERT_MANAGER: Final = Profile(
    name="cert-manager",
    title="cert-manager",
    summary="cert-manager's controller, which issues and renews certificates.",
    recognised_by=Recognition(
        operators=("cert-manager",),
        controllers=("certificates", "certificates-key-manager"),
    ),
    concurrency=Knob(
        words="an argument of the controller, described on its page on scaling",
        defaults=(Default(value=5.0, source=_PAGE),),
    ),
    qps=Knob(
        words="an argument of the controller, described on its page on scaling",
        defaults=(Default(value=20.0, source=_PAGE),),
    ),
    burst=Knob(
        words="an argument of the controller, described on its page on scaling; it must not be below QPS",
        defaults=(Default(value=50.0, source=_PAGE),),
    ),
    docs=("cert-manager documentation, scaling cert-manager",),
    notes=(
        (
            "Where the API server has priority and fairness, its page on scaling sets 10000 for both QPS and Burst, so "
            "that the client does not limit."
        ),
        "Several controllers write one object: conflicts are cured by server-side apply, not by workers.",
        "Large RSA keys are CPU: take ECDSA or smaller keys, or more CPU.",
        "A Burst below QPS is refused (notes of OpenShift's cert-manager operator 1.20).",
    ),
)
