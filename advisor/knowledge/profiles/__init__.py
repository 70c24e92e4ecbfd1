"""The profiles that come with the advisor, KubeRay's first and that for any other operator last."""

from typing import Final

from advisor.knowledge.profile import Profile
from advisor.knowledge.profiles.argo import ARGO_CD, ARGO_WORKFLOWS
from advisor.knowledge.profiles.certmanager import CERT_MANAGER
from advisor.knowledge.profiles.flux import FLUX
from advisor.knowledge.profiles.generic import GENERIC
from advisor.knowledge.profiles.kuberay import KUBERAY
from advisor.knowledge.profiles.kueue import KUEUE
from advisor.knowledge.profiles.spark import SPARK_OPERATOR

__all__ = ["GENERIC", "KUBERAY", "PROFILES", "built_in"]

PROFILES: Final = (KUBERAY, FLUX, KUEUE, CERT_MANAGER, ARGO_CD, ARGO_WORKFLOWS, SPARK_OPERATOR, GENERIC)


def built_in(name: str) -> Profile | None:
    """The profile of a name; None where there is none."""
    return next((one for one in PROFILES if one.name == name), None)
