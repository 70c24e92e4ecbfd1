"""Profiles: what is in each, and which one an operator has."""

import string

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.knowledge.defaults import CONFIGURATION_FIELDS, FLAGS
from advisor.knowledge.profile import ControllerProfile, Default, Knob, Profile, Recognition, fits
from advisor.knowledge.profiles import GENERIC, KUBERAY, PROFILES, built_in
from advisor.knowledge.programs import EXTERNAL_CALLERS, FIXED_WORKERS, PROGRAMS
from advisor.knowledge.recognise import Seen, recognise, recognised
from advisor.knowledge.versions import VERSIONS, latest

NAMES = [one.name for one in PROFILES]
KNOWN = sorted({name for one in PROFILES for name in one.recognised_by.controllers})
WORDS = st.one_of(st.sampled_from(KNOWN), st.text(string.ascii_lowercase, min_size=1, max_size=8))


@pytest.mark.parametrize("profile", PROFILES, ids=NAMES)
class TestEach:
    def test_it_is_valid(self, profile: Profile) -> None:
        """Written and read again it is the same, so everything in it passes what a file has to pass."""
        assert msgspec.json.decode(msgspec.json.encode(profile), type=Profile) == profile

    def test_each_value_has_a_source(self, profile: Profile) -> None:
        """Defaults and what is said of controllers name where that is from."""
        sources = [default.source for _, knob in profile.knobs() for default in knob.defaults]
        sources += [one.source for one in profile.controllers]
        assert all(map(str.strip, sources))

    def test_defaults_of_one_release_stand_once(self, profile: Profile) -> None:
        """No two defaults hold for the same."""
        for _, knob in profile.knobs():
            places = [(one.controller, one.since) for one in knob.defaults]
            assert len(set(places)) == len(places)

    def test_what_cannot_be_set_by_a_known_way_is_said_in_words(self, profile: Profile) -> None:
        """Where the profile knows a default, it knows a way or has words for it."""
        for _, knob in profile.knobs():
            assert knob.flag or knob.words or not knob.defaults

    def test_it_recognises_its_own(self, profile: Profile) -> None:
        """Its names and its controllers lead to it."""
        for name in profile.recognised_by.operators:
            assert recognise(Seen(operator=name.upper())).profile is profile
        if controllers := profile.recognised_by.controllers:
            assert recognise(Seen(controllers=controllers)).profile is profile

    def test_it_is_found_by_name(self, profile: Profile) -> None:
        """Each has a name of its own."""
        assert built_in(profile.name) is profile


class TestKubeRay:
    def test_its_values_are_those_of_its_releases(self) -> None:
        """Flags, fields, chart values, lease and newest defaults are what the rest of the program uses."""
        values = dict(latest().helm_value_paths)
        for name, knob in KUBERAY.knobs():
            assert (knob.flag, knob.field, knob.helm_value) == (FLAGS[name], CONFIGURATION_FIELDS[name], values[name])
        newest = [KUBERAY.qps.defaults[-1].value, KUBERAY.burst.defaults[-1].value]
        assert newest == [latest().default_qps, latest().default_burst]
        assert KUBERAY.fixed_workers == FIXED_WORKERS
        assert KUBERAY.external_callers == EXTERNAL_CALLERS
        assert {KUBERAY.program(one.controller) for one in PROGRAMS} == set(PROGRAMS)

    def test_every_controller_of_every_release_tells_it(self) -> None:
        """Also under the label that a release had for it."""
        for version in VERSIONS:
            for _, label in version.controller_labels:
                assert recognise(Seen(controllers=[label])).profile is KUBERAY


class TestKnob:
    def test_a_default_that_depends_on_the_release_is_none(self) -> None:
        """Of several nobody knows which holds; one for a single controller is none for all."""
        first, second = Default(value=20, source="a"), Default(value=-1, since="2", source="b")
        assert Knob(defaults=(first,)).default == first
        assert Knob(defaults=(first, second)).default is None
        assert Knob(defaults=(Default(value=5, source="a", controller="x"),)).default is None
        assert GENERIC.qps.default is None

    def test_a_controllers_own_flag_goes_first(self) -> None:
        """Others have the common one."""
        knob = Knob(flag="--workers", flags={"backup": "--backup-workers"})
        assert (knob.flag_for("backup"), knob.flag_for("database")) == ("--backup-workers", "--workers")

    def test_only_settings_are_knobs(self) -> None:
        """Anything else is a mistake of the caller."""
        with pytest.raises(KeyError):
            KUBERAY.knob("cpu")


class TestRecognise:
    @given(
        controllers=st.lists(WORDS, unique=True, max_size=6),
        operator=st.none() | WORDS,
        series=st.lists(WORDS, max_size=3),
        labels=st.dictionaries(st.sampled_from(["job", "container"]), st.lists(WORDS, max_size=2)),
    )
    def test_there_is_always_one_and_always_the_same(
        self, controllers: list[str], operator: str | None, series: list[str], labels: dict[str, list[str]]
    ) -> None:
        """Whatever is seen, in whatever order, leads to one profile and one reason."""
        seen = Seen(operator=operator, controllers=controllers, series=series, labels=labels)
        turned = Seen(operator=operator, controllers=controllers[::-1], series=set(series), labels=labels)
        found = recognise(seen)
        assert found.profile in PROFILES
        assert found.why
        assert recognise(turned) == found

    def test_more_controllers_win(self) -> None:
        """Kueue reconciles jobs of Ray's kinds as well, and has controllers of its own beside."""
        seen = Seen(controllers=["rayjob", "raycluster", "workload", "clusterqueue", "localqueue"])
        found = recognise(seen)
        assert (found.profile.name, found.why) == ("kueue", "by its controllers clusterqueue, localqueue, workload")

    @pytest.mark.parametrize(
        ("seen", "name", "why"),
        [
            (Seen(leases=["ray-operator-leader"]), "kuberay", "by its lease ray-operator-leader"),
            (Seen(series=["kuberay_cluster_info", "up"]), "kuberay", "by its series kuberay_cluster_info"),
            (Seen(labels={"job": ["kustomize-controller-2"]}), "flux", "by its labels job=kustomize-controller-2"),
            (Seen(), "kuberay", "no controller was seen, and nothing tells of another operator"),
            (Seen(operator="rook"), "generic", "no profile is for an operator called rook"),
            (
                Seen(controllers=["f", "e", "d", "c", "b", "a"]),
                "generic",
                "no profile knows its controllers a, b, c, d and 2 more",
            ),
            (Seen(operator="mine", controllers=["kustomization"]), "flux", "by its controllers kustomization"),
            (Seen(operator="kueue", controllers=["kustomization"]), "kueue", "it is called kueue"),
        ],
    )
    def test_what_tells(self, seen: Seen, name: str, why: str) -> None:
        """A name goes before controllers, those before lease, series and labels; else it is any operator's."""
        found = recognise(seen)
        assert (found.profile.name, found.why) == (name, why)

    def test_patterns(self) -> None:
        """A star at the end stands for any rest, elsewhere for itself."""
        assert fits("a*", "ab")
        assert not fits("a*b", "aab")
        assert not fits("a", "ab")

    def test_nothing_is_recognised_of_a_profile_without_ways(self) -> None:
        """The one for any operator is only what is left."""
        assert not any(recognised(GENERIC, Seen(controllers=KNOWN, series=["kuberay_x"])).values())


def test_what_is_known_of_controllers() -> None:
    """Fixed workers, who waits for others, who does not, and who nobody knows of."""
    profile = Profile(
        name="mine",
        title="mine",
        summary="mine",
        recognised_by=Recognition(),
        controllers=(
            ControllerProfile(name="a", workers=1, source="x"),
            ControllerProfile(name="b", external_calls=True, source="x"),
            ControllerProfile(name="c", external_calls=False, source="x"),
        ),
    )
    assert profile.fixed_workers == {"a": 1}
    assert profile.external_callers == {"b"}
    assert profile.known_callers == {"b", "c"}
    assert [profile.stays_inside(name) for name in "abcd"] == [False, False, True, False]
    assert profile.program("raycluster") is None
