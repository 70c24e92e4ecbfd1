"""Which operators a store holds, and which one is meant."""

import pytest

from advisor.errors import NothingToAnalyseError, UnknownNameError
from advisor.knowledge.profile import Profile, Recognition
from advisor.knowledge.profiles import built_in
from advisor.knowledge.profiles.kueue import KUEUE
from advisor.sources.prometheus.operators import Operator, choose, finders, group_operators
from advisor.sources.prometheus.promql import Matcher

KUBERAY = [
    {"namespace": "ray", "job": "kuberay-operator", "controller": name, "pod": "op-1"}
    for name in ("raycluster", "rayjob", "rayservice")
]
FLUX = {"namespace": "flux-system", "job": "flux", "controller": "kustomization", "pod": "flux-1"}


def test_series_of_one_job_are_one_operator() -> None:
    """Controllers and Pods of a job in a namespace are put together; a replaced Pod is one more Pod."""
    found = group_operators([*KUBERAY, {**KUBERAY[0], "pod": "op-2"}])
    assert found == (
        Operator("", "ray", "kuberay-operator", "", ("raycluster", "rayjob", "rayservice"), ("op-1", "op-2")),
    )
    assert found[0].name == "ray/kuberay-operator"


@pytest.mark.parametrize("label", ["cluster", "k8s_cluster_name"])
def test_clusters_are_told_apart_by_the_usual_labels(label: str) -> None:
    """The same job in two clusters is two operators, and each is selected with its cluster."""
    found = group_operators([{**KUBERAY[0], label: name} for name in ("eu", "us")])
    assert [one.cluster for one in found] == ["eu", "us"]
    assert Matcher(label, "=", "us") in found[1].matchers()


def test_another_label_for_clusters_can_be_named() -> None:
    """A label that nobody would guess has to be named."""
    series = [{**KUBERAY[0], "site": name} for name in ("a", "b")]
    assert len(group_operators(series)) == 1
    assert [one.cluster for one in group_operators(series, "site")] == ["a", "b"]


def test_labels_that_are_absent_select_nothing() -> None:
    """A store without namespace or job labels is asked without them."""
    (operator,) = group_operators([{"controller": "raycluster", "instance": "10.0.0.1:8080"}])
    assert (operator.matchers(), operator.name) == ((), "unnamed")


def test_matchers_that_were_given_are_kept() -> None:
    """What somebody narrowed the search with narrows every query."""
    further = (Matcher("env", "=", "prod"),)
    assert group_operators(KUBERAY, "", further)[0].matchers()[-1] == further[0]


def test_the_only_kuberay_operator_is_meant() -> None:
    """Other operators in the store do not make the choice harder."""
    assert choose(group_operators([*KUBERAY, FLUX]), narrowed=False, where="store").job == "kuberay-operator"


def test_another_operator_has_to_be_named() -> None:
    """A store without KubeRay is no mistake only where somebody named what is to be looked at."""
    operators = group_operators([FLUX])
    assert choose(operators, narrowed=True, where="store").job == "flux"
    with pytest.raises(UnknownNameError) as caught:
        choose(operators, narrowed=False, where="store")
    assert str(caught.value) == (
        "store: there is no KubeRay operator, but others: flux-system/flux "
        "(choose one with --cluster, --namespace and --job)"
    )


def test_several_are_listed_and_none_is_guessed() -> None:
    """Ten are named, and how many more there are."""
    operators = group_operators([{**KUBERAY[0], "cluster": f"c{number:02d}"} for number in range(12)])
    with pytest.raises(UnknownNameError) as caught:
        choose(operators, narrowed=False, where="store")
    assert caught.value.message.startswith("there are 12 operators in this store: c00/ray/kuberay-operator, c01/")
    assert caught.value.message.endswith("c09/ray/kuberay-operator and 2 more")


def test_no_operator_is_nothing_to_analyse() -> None:
    """The hint says what to look at."""
    with pytest.raises(NothingToAnalyseError) as caught:
        choose((), narrowed=False, where="store")
    assert "metrics.serviceMonitor.enabled" in caught.value.hint


def test_a_replica_that_only_stands_by_is_found_by_its_lease() -> None:
    """It exposes no controller, and is KubeRay's all the same."""
    lease = {
        "__name__": "leader_election_master_status",
        "name": "ray-operator-leader",
        "namespace": "ray",
        "job": "op",
    }
    (operator,) = group_operators([lease])
    assert (operator.is_kuberay, operator.controllers) == (True, ())


def test_series_about_objects_are_selected_without_a_namespace() -> None:
    """Their namespace is the object's: the operator's would select none of them."""
    (operator,) = group_operators(KUBERAY)
    assert operator.objects() == (Matcher("job", "=", "kuberay-operator"), Matcher("pod", "=", "op-1"))


class TestProfiles:
    """With a profile its operators are meant, and none else unless somebody narrowed the choice."""

    def test_its_operators_are_meant(self) -> None:
        """Flux is found beside KubeRay, and KubeRay beside Flux."""
        operators = group_operators([*KUBERAY, FLUX])
        assert choose(operators, narrowed=False, where="store", profile=built_in("flux")).job == "flux"
        assert choose(operators, narrowed=False, where="store", profile=built_in("kuberay")).job == "kuberay-operator"

    def test_for_any_operator_all_are_meant(self) -> None:
        """So one alone is it, and of several one has to be named."""
        generic = built_in("generic")
        assert choose(group_operators([FLUX]), narrowed=False, where="store", profile=generic).job == "flux"
        with pytest.raises(UnknownNameError, match="there are 2 operators in this store"):
            choose(group_operators([*KUBERAY, FLUX]), narrowed=False, where="store", profile=generic)

    def test_none_of_it(self) -> None:
        """The error names the kind that was looked for; where the choice is narrowed, what is there is taken."""
        kueue = built_in("kueue")
        with pytest.raises(UnknownNameError, match="there is no Kueue operator, but others: flux-system/flux"):
            choose(group_operators([FLUX]), narrowed=False, where="store", profile=kueue)
        assert choose(group_operators([FLUX]), narrowed=True, where="store", profile=kueue).job == "flux"
        with pytest.raises(NothingToAnalyseError) as caught:
            choose((), narrowed=False, where="store", profile=kueue)
        assert "KubeRay" not in caught.value.hint

    def test_its_lease_is_looked_for(self) -> None:
        """Where it knows one; without, the mark alone is."""
        own = Profile(name="own", title="Own", summary="Ours.", lease="own-leader", recognised_by=Recognition())
        assert finders(())[1] == 'leader_election_master_status{name="ray-operator-leader"}'
        assert finders((), own)[1] == 'leader_election_master_status{name="own-leader"}'
        assert len(finders((), built_in("flux"))) == 1

    def test_kueue_is_not_taken_for_kuberay(self) -> None:
        """It has controllers for Ray's kinds among many others."""
        names = ("rayjob", "raycluster", "workload", "clusterqueue", "localqueue")
        operators = group_operators([{**FLUX, "job": "kueue", "controller": name} for name in names])
        assert not operators[0].is_kuberay
        assert operators[0].is_of(KUEUE)
