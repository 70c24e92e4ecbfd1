import pytest

from advisor.knowledge.profiles import GENERIC, built_in
from advisor.knowledge.versions import VERSIONS, latest
from advisor.model.raw import Setup
from advisor.model.settings import Setting, Settings, SettingSource
from advisor.signals.settings import argument, resolve_settings

ARGUMENT, DEFAULT, UNKNOWN = SettingSource.ARGUMENT, SettingSource.VERSION_DEFAULT, SettingSource.UNKNOWN


def settings(version: str | None = None, *args: str, workers: float | None = None) -> Settings:
    """Settings from a version and arguments."""
    return resolve_settings(Setup(version=version, args=args), workers=workers, cpu_limit=None, memory_limit=None)


class TestArgument:
    @pytest.mark.parametrize(
        ("args", "value"),
        [
            (("--qps=50",), "50"),
            (("-qps=50",), "50"),
            (("--qps", "50"), "50"),
            (("--qps=-1",), "-1"),
            (("--qps", "-1"), "-1"),
            (("--qps=",), ""),
            (("--qps=1", "--burst=2", "--qps=3"), "3"),
            (("--qps=1", "--qps", "3"), "3"),
            (("--qps",), None),
            (("--qps-extra=50", "qps=50", "50"), None),
            ((), None),
        ],
    )
    def test_forms(self, args: tuple[str, ...], value: str | None) -> None:
        """Both forms and one or two dashes are read, the last one wins, and what only looks like it is not taken."""
        assert argument(args, "qps") == value


class TestConcurrency:
    def test_the_metric_wins(self) -> None:
        """An argument may not have taken effect; what the operator exposes did."""
        assert settings("1.7.0", "--reconcile-concurrency=10", workers=1.0).concurrency == Setting(
            1.0, SettingSource.METRIC, "controller_runtime_max_concurrent_reconciles"
        )

    def test_the_argument_without_a_metric(self) -> None:
        """Without the series the argument is what is known."""
        assert settings(None, "--reconcile-concurrency", "10").concurrency == Setting(
            10.0, ARGUMENT, "--reconcile-concurrency"
        )

    def test_neither(self) -> None:
        """Without both it is not known."""
        assert settings("1.7.0").concurrency == Setting(None, UNKNOWN, "no series and no argument tells")


class TestClientLimits:
    @pytest.mark.parametrize(
        ("version", "args", "qps", "burst"),
        [
            # Given: the argument counts, of a known version with the flags and of an unknown one.
            (
                "1.7.0",
                ("--qps=50", "--burst=60"),
                Setting(50.0, ARGUMENT, "--qps"),
                Setting(60.0, ARGUMENT, "--burst"),
            ),
            (None, ("--qps=50", "--burst=60"), Setting(50.0, ARGUMENT, "--qps"), Setting(60.0, ARGUMENT, "--burst")),
            # Zero is client-go's own default.
            (
                "1.7.0",
                ("--qps=0", "--burst=0"),
                Setting(5.0, ARGUMENT, "--qps=0, which is client-go's default"),
                Setting(10.0, ARGUMENT, "--burst=0, which is client-go's default"),
            ),
            # Not given: the version's default, but only if the arguments are known to leave it out.
            (
                "v1.7.0",
                ("--enable-leader-election",),
                Setting(100.0, DEFAULT, "default of KubeRay 1.7"),
                Setting(200.0, DEFAULT, "default of KubeRay 1.7"),
            ),
            # Releases without the flags have their own default, whatever the arguments say.
            (
                "1.4.0",
                (),
                Setting(-1.0, DEFAULT, "default of KubeRay 1.4"),
                Setting(0.0, DEFAULT, "default of KubeRay 1.4"),
            ),
            (
                "1.3.2",
                ("--qps=500",),
                Setting(20.0, DEFAULT, "default of KubeRay 1.3"),
                Setting(30.0, DEFAULT, "default of KubeRay 1.3"),
            ),
        ],
    )
    def test_by_version_and_arguments(
        self, version: str | None, args: tuple[str, ...], qps: Setting, burst: Setting
    ) -> None:
        """Arguments win where the release has the flags; 1.4 does not limit at all, 1.3 to 20 and 30."""
        found = settings(version, *args)
        assert (found.qps, found.burst) == (qps, burst)

    @pytest.mark.parametrize(
        ("version", "args"),
        [("1.7.0", ()), (None, ()), ("2099.1", ("--x",)), (None, ("--x",)), (None, ("--qps=fast",))],
    )
    def test_unknown(self, version: str | None, args: tuple[str, ...]) -> None:
        """Without arguments or without a known version nothing is assumed; a value that is no number is none."""
        assert settings(version, *args).qps == Setting(
            None, UNKNOWN, "--qps is in no metric and the arguments are not known"
        )

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
    def test_a_number_that_is_none(self, value: str) -> None:
        """A value that is not finite is not taken."""
        assert settings("1.7.0", f"--qps={value}").qps == Setting(100.0, DEFAULT, "default of KubeRay 1.7")

    @pytest.mark.parametrize("args", [("--config=/etc/c.yaml",), ("--config", "/etc/c.yaml", "--qps=50")])
    def test_a_configuration_file_hides_them(self, args: tuple[str, ...]) -> None:
        """With a configuration file the flags do not decide, so the limits are not known."""
        found = settings("1.7.0", *args)
        hidden = Setting(None, UNKNOWN, "the operator reads a configuration file that is not in the input")
        assert (found.qps, found.burst) == (hidden, hidden)


class TestLimiterOff:
    @pytest.mark.parametrize(
        ("version", "args", "off"),
        [
            ("1.7.0", ("--qps=-1",), True),
            ("1.4.2", (), True),
            ("1.7.0", ("--qps=100",), False),
            ("1.7.0", (), False),
            ("1.3.0", (), False),
        ],
    )
    def test_is_known_from_a_negative_qps_alone(self, version: str, args: tuple[str, ...], off: bool) -> None:
        """The limiter is off where QPS is known to be negative; where it is unknown nothing is claimed."""
        assert settings(version, *args).limiter_off is off


def test_limits_of_the_container() -> None:
    """CPU and memory limits come from kube-state-metrics, or are not known."""
    found = resolve_settings(Setup(version="1.7.0"), workers=None, cpu_limit=0.5, memory_limit=None)
    assert found.version == "1.7.0"
    assert found.cpu_limit_cores == Setting(0.5, SettingSource.METRIC, "kube_pod_container_resource_limits")
    assert found.memory_limit_bytes == Setting(None, UNKNOWN, "no kube_pod_container_resource_limits")
    assert (found.cpu_limit_cores.known, found.memory_limit_bytes.known) == (True, False)


class TestVersionFromWhatIsExposed:
    def test_a_single_compatible_release_stands_in(self) -> None:
        """Without a stated version, the one release that exposes all this is taken, and marked as inferred."""
        found = resolve_settings(Setup(), exposed=(latest(),), workers=None, cpu_limit=None, memory_limit=None)
        assert (found.version, found.version_inferred) == (latest().series, True)

    def test_several_compatible_releases_tell_nothing(self) -> None:
        """Releases that look alike from outside are not guessed between."""
        found = resolve_settings(Setup(), exposed=VERSIONS[-3:-1], workers=None, cpu_limit=None, memory_limit=None)
        assert (found.version, found.version_inferred) == (None, False)

    def test_a_stated_version_wins(self) -> None:
        """What the operator was said to be is not overruled."""
        found = resolve_settings(
            Setup(version="1.6.1"), exposed=(latest(),), workers=None, cpu_limit=None, memory_limit=None
        )
        assert (found.version, found.version_inferred) == ("1.6.1", False)

    @pytest.mark.parametrize(
        ("version", "args", "qps"),
        [("1.7.0", (), -1.0), ("1.7.0", ("--qps=50",), 50.0), ("1.6.1", (), None), (None, (), None)],
    )
    def test_a_silent_limiter_is_off(self, version: str | None, args: tuple[str, ...], qps: float | None) -> None:
        """Where the limiter's histogram is registered along with the durations, no sample means no limiter."""
        found = resolve_settings(
            Setup(version=version, args=args), limiter_silent=True, workers=None, cpu_limit=None, memory_limit=None
        )
        assert found.qps.value == qps


class TestOtherOperators:
    """Their profile says which flags they have, and what holds by default."""

    @pytest.mark.parametrize(
        ("args", "value", "source", "detail"),
        [
            (("--qps=33",), 33.0, ARGUMENT, "--qps"),
            (("--qps", "0"), 5.0, ARGUMENT, "--qps=0, which is client-go's default"),
            (("--other",), 20.0, DEFAULT, "default of Argo Workflows: field cases, section 4"),
            ((), None, UNKNOWN, "--qps is in no metric and the arguments do not tell it"),
        ],
    )
    def test_a_known_flag(self, args: tuple[str, ...], value: float | None, source: SettingSource, detail: str) -> None:
        """The arguments go first; the default stands in only where they are known and do not set it."""
        profile = built_in("argo-workflows")
        assert profile is not None
        setup = Setup(version="3.6.0", args=args)
        found = resolve_settings(setup, profile=profile, workers=None, cpu_limit=None, memory_limit=None)
        assert (found.qps.value, found.qps.source) == (value, source)
        assert found.qps.detail.startswith(detail)
        assert (found.version, found.is_kuberay) == (None, False)

    def test_nothing_is_assumed_of_any_operator(self) -> None:
        """Without a flag that is known, arguments that look like KubeRay's are not taken for it."""
        setup = Setup(version="1.7.0", args=("--qps=33", "--reconcile-concurrency=4"))
        found = resolve_settings(setup, profile=GENERIC, workers=None, cpu_limit=None, memory_limit=None)
        assert [one.known for one in (found.qps, found.burst, found.concurrency)] == [False] * 3
        assert found.qps.detail == "qps is in no metric, and no flag of controller-runtime is known"
