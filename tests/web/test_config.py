"""Settings of the service: merged once, each with where it is from."""

from pathlib import Path

import pytest

from advisor.errors import SettingsError
from advisor.web.config import load_config, print_config, reload_config
from advisor.web.configkeys import KEYS
from advisor.web.configoperators import shown_operator

FILE = """\
[listen]
port = 9000
allowed_hosts = ["advisor.example.com"]

[login]
token_file = "token"

[schedule]
interval = "1m"
at_a_time = 2

[notify]
severities = ["critical", "warning"]
slack_url_file = "/run/slack"

[defaults.prometheus]
url = "https://reader:secret@mimir.example.com/prometheus"
tenant = "platform"
headers = {X-Key = "topsecret"}
ca_file = "ca.pem"

[[operators]]
name = "eu"
version = "1.7.0"
args = "--qps=30 --burst='60'"
prometheus = {cluster = "prod-eu"}

[[operators]]
name = "us"
profile = "own.yaml"
[operators.scrape]
urls = ["http://10.0.0.7:8080/metrics?key=hidden"]
interval = "10s"

[[operators]]
name = "car"
[operators.sidecar]
url = "http://10.0.0.8:8090/metrics"
bearer_token_file = "car-token"

[[operators]]
name = "all"
profile = "flux"
[operators.fleet]
namespace = "ray"
last = "6h"
"""


@pytest.fixture(name="file")
def file_of_example(tmp_path: Path) -> Path:
    """A file with something of everything."""
    path = tmp_path / "advisor.toml"
    path.write_text(FILE)
    return path


def refused(text: str, tmp_path: Path) -> SettingsError:
    """The error of a file."""
    path = tmp_path / "advisor.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as error:
        load_config(path, {}, {})
    return error.value


def test_nothing_given() -> None:
    """Without anything given, the service is on loopback, keeps 30 days, and says that it watches nothing."""
    config = load_config(None, {}, {})
    assert (config.listen.host, config.listen.is_loopback, config.login.is_needed) == ("127.0.0.1", True, False)
    assert config.schedule.interval_seconds == 300.0
    assert config.notify.severities == ("critical",)
    assert set(config.origins.values()) == {"default"}
    assert config.warnings == (
        "no operator is named, so nothing is watched: give --prometheus, --scrape or --sidecar, or [[operators]]",
    )


def test_a_file(file: Path) -> None:
    """Values are read with their units; paths are relative to the file's folder; each origin names file and line."""
    config = load_config(file, {}, {})
    assert (config.listen.port, config.listen.allowed_hosts) == (9000, ("advisor.example.com",))
    assert config.login.token_file == file.parent / "token"
    assert config.notify.slack_url_file == Path("/run/slack")
    assert (config.schedule.interval_seconds, config.schedule.at_a_time) == (60.0, 2)
    assert config.origins["listen.port"] == f"file {file} line 2"
    assert config.origins["schedule.interval"] == f"file {file} line 9"
    assert config.origins["schedule.jitter"] == "default"
    assert config.origins["operators"] == f"file {file} line 22"


def test_operators(file: Path) -> None:
    """Each has its source, with defaults merged, the time to look back of the schedule, and arguments as words."""
    eu, us, car, every = load_config(file, {}, {}).operators
    assert [one.kind for one in (eu, us, car, every)] == ["prometheus", "scrape", "sidecar", "fleet"]
    assert eu.prometheus is not None
    assert (eu.prometheus.cluster, eu.prometheus.tenant, eu.prometheus.last) == ("prod-eu", "platform", "3600s")
    assert eu.prometheus.ca_file == str(file.parent / "ca.pem")
    assert (eu.version, eu.args) == ("1.7.0", ("--qps=30", "--burst=60"))
    profiles = [one.profile for one in (eu, us, car, every)]
    assert profiles == [None, str(file.parent / "own.yaml"), None, "flux"]
    assert us.scrape is not None
    assert (us.scrape.urls, us.scrape.interval) == (("http://10.0.0.7:8080/metrics?key=hidden",), "10s")
    assert car.sidecar is not None
    assert car.sidecar.bearer_token_file == str(file.parent / "car-token")
    assert every.fleet is not None
    assert (every.fleet.tenant, every.fleet.namespace, every.fleet.last) == ("platform", "ray", "6h")
    assert eu.entry().prometheus == eu.prometheus
    with pytest.raises(ValueError, match="is a sidecar"):
        car.entry()


def test_the_last_one_wins(file: Path) -> None:
    """Flags go before the environment, that before the file, and that before defaults."""
    environ = {"KUBERAY_ADVISOR_LISTEN_PORT": "9001", "KUBERAY_ADVISOR_SCHEDULE_AT_A_TIME": "3", "HOME": "/"}
    flags = {"listen.port": 9002, "store.path": Path("here.db"), "schedule.jitter": None}
    config = load_config(file, environ, flags)
    assert (config.listen.port, config.schedule.at_a_time, config.schedule.interval_seconds) == (9002, 3, 60.0)
    assert config.store.path == Path("here.db")
    assert config.origins["listen.port"] == "flag --listen-port"
    assert config.origins["schedule.at_a_time"] == "environment KUBERAY_ADVISOR_SCHEDULE_AT_A_TIME"


def test_lists_and_paths_in_the_environment() -> None:
    """Lists have commas; paths are as they are."""
    environ = {
        "KUBERAY_ADVISOR_NOTIFY_SEVERITIES": "critical, info",
        "KUBERAY_ADVISOR_LOGIN_PROXY_HEADER": "X-Forwarded-User",
        "KUBERAY_ADVISOR_LOGIN_PROXY_TRUSTED": "127.0.0.1,10.0.0.0/8",
        "KUBERAY_ADVISOR_LOGIN_TOKEN_FILE": "token",
        "KUBERAY_ADVISOR_SCHEDULE_JITTER": "0.25",
    }
    config = load_config(None, environ, {})
    assert config.notify.severities == ("critical", "info")
    assert config.login.proxy_trusted == ("127.0.0.1/32", "10.0.0.0/8")
    assert (config.login.token_file, config.schedule.jitter_ratio) == (Path("token"), 0.25)


def test_variables_of_others_are_left_alone() -> None:
    """The sidecar's variables, and those that Kubernetes makes of a Service of that name, are not ours."""
    names = (
        "CONFIG",
        "SIDECAR_LOG_FILE",
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8095_TCP",
        "PORT_8095_TCP_ADDR",
        "WEB_SERVICE_HOST",
    )
    environ = {f"KUBERAY_ADVISOR_{name}": "tcp://10.0.0.1:8095" for name in names}
    assert set(load_config(None, environ, {}).origins.values()) == {"default"}


def test_operators_by_flags(file: Path) -> None:
    """They take the place of the file's, with its defaults."""
    flags = {"operators": [{"name": "one", "prometheus": {"namespace": "ray"}}]}
    config = load_config(file, {}, flags)
    (one,) = config.operators
    assert one.prometheus is not None
    assert (one.prometheus.namespace, one.prometheus.tenant) == ("ray", "platform")
    assert config.origins["operators"] == "flags"
    assert load_config(None, {}, {"operators": config.operators}).operators == config.operators


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[listen]\nprt = 1", "advisor.toml line 2: there is no key 'listen.prt' (did you mean listen.port?)"),
        ("[listn]\nport = 1", "advisor.toml line 1: there is no table 'listn' (did you mean listen?)"),
        ("listen = 1", "'listen' is a table, not a value (write [listen])"),
        ("[listen]\nport = 70000", "listen.port cannot be 70000 (allowed: a whole number from 0 to 65535)"),
        ("[listen]\nport = true", "listen.port cannot be True (allowed: a whole number"),
        ("[listen]\nhost = 'a b'", "listen.host cannot be 'a b' (allowed: a host name or an address, without a port)"),
        ("[schedule]\ninterval = 60", "schedule.interval cannot be 60 (allowed: a duration from 1s to 7d, such as"),
        ("[schedule]\ninterval = '0s'", "schedule.interval cannot be '0s' (allowed: a duration from 1s to 7d"),
        ("[schedule]\njitter = 0.9", "schedule.jitter cannot be 0.9 (allowed: a number from 0 to 0.5)"),
        ("[schedule]\njitter = 'much'", "schedule.jitter cannot be 'much' (allowed: a number from 0 to 0.5)"),
        ("[notify]\nseverities = ['fatal']", "(allowed: a list of critical, warning, info)"),
        ("[notify]\nseverities = 3", "(allowed: a list of critical, warning, info)"),
        ("[login]\nproxy_header = 'a b'", "(allowed: the name of an HTTP header)"),
        ("[login]\nproxy_header = 'X-User'", "line 2: login.proxy_header needs login.proxy_trusted"),
        ("[login]\nproxy_trusted = ['10.0.0.0/8']", "login.proxy_trusted belongs to login.proxy_header"),
        ("[login]\nproxy_trusted = ['ten']", "(allowed: a list of addresses or networks, such as 10.0.0.0/8)"),
        ("[login]\ntoken_file = ''", "login.token_file cannot be '' (allowed: a path)"),
        ("[listen]\nallowed_hosts = ['a:1/']", "(allowed: a list of host names without ports)"),
        ("[store]\nkeep_reports = '1m'", "store.keep_reports cannot be '1m' (allowed: a duration from 1h to 180d"),
        ("[store]\nkeep_changes = '11000d'", "store.keep_changes cannot be '11000d' (allowed: a duration from 1h to"),
        (
            "[store]\nkeep_samples = '1h'\n[schedule]\nlast = '2h'",
            "line 2: store.keep_samples is less than",
        ),
        ("[listen", "is not TOML: "),
        ("operators = 3", "operators"),
    ],
)
def test_errors_name_key_and_file(text: str, message: str, tmp_path: Path) -> None:
    """An error names the file, the line, the key, and what is allowed."""
    told = str(refused(text, tmp_path))
    assert message in told
    assert "advisor.toml" in told


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ("name = 'a'", "'a' has no source: exactly one of prometheus, scrape, sidecar, fleet is needed"),
        ("name = 'a'\nscrape = {urls = ['http://x']}\nfleet = {url = 'http://x'}", "'a' has scrape and fleet"),
        ("name = 'a'\nprometeus = {}", "no key `prometeus` - at `operators[0]` (did you mean prometheus?)"),
        ("name = 'a'\nprometheus = {ulr = 'x'}", "`operators[0].prometheus` (did you mean url?)"),
        ("name = 'a'\nprometheus = {url = 'ftp://x'}", "the URL of the store is none"),
        ("name = 'a'\nfleet = {}", "a url is needed here, or in defaults.prometheus - at `operators[0].fleet`"),
        ("name = 'a'\nfleet = {url = 'http://x', until = 5}", "there is no until - at `operators[0].fleet.until`"),
        ("name = 'a'\nscrape = {urls = []}", "at `operators[0].scrape.urls`"),
        ("name = 'a'\nscrape = {urls = ['http://x'], interval = 'soon'}", "'soon' is no duration"),
        ("name = 'a'\nsidecar = {url = 'x'}", "at `operators[0].sidecar.url`"),
        ("name = 'a'\nsidecar = {url = 'http://x', interval = 'soon'}", "at `operators[0].sidecar.interval`"),
        ("name = 'a'\nsidecar = {url = 'http://x', interval = '11m'}", "1s to 600s is possible, not '11m'"),
        ("name = 'a'\nsidecar = {url = 'http://x', headers = {'a b' = 'c'}}", "at `operators[0].sidecar.headers`"),
        ("name = 'a'\nsidecar = {url = 'http://x'}\nargs = \"'\"", "at `operators[0].args`"),
        ("name = ' a'\nsidecar = {url = 'http://x'}", "a name has no blanks around it"),
        ('name = "a\\u202eb"\nsidecar = {url = "http://x"}', "cannot be shown"),
        ("fleet = {url = 'http://x'}", "`name`"),
        (
            "name = 'a'\nfleet = {url = 'http://x'}\n[[operators]]\nname = 'A'\nfleet = {url = 'http://x'}",
            "the name 'A' stands twice",
        ),
    ],
)
def test_errors_of_operators(operators: str, message: str, tmp_path: Path) -> None:
    """An error names the place in the list."""
    assert message in str(refused(f"[[operators]]\n{operators}", tmp_path))


@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        ("defaults = 3", "a table is needed - at `defaults`"),
        ("[defaults.prometheus]\nurll = 'x'", "`defaults.prometheus` (did you mean url?)"),
        ("[defaults.sidecar]\ninsecure = 3", "at `defaults.sidecar.insecure`"),
    ],
)
def test_errors_of_defaults(defaults: str, message: str, tmp_path: Path) -> None:
    """Defaults are looked at also where no operator uses them."""
    assert message in str(refused(defaults, tmp_path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, not text, or far too long is told so."""
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_config(tmp_path / "none.toml", {}, {})
    path = tmp_path / "advisor.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="is not UTF-8 at byte 0"):
        load_config(path, {}, {})
    path.write_bytes(b"#" * (5 << 20))
    with pytest.raises(SettingsError, match="is longer than 4 MiB"):
        load_config(path, {}, {})


def test_unknown_variables_and_flags() -> None:
    """A wrong letter in the environment is told, and so is a flag that no setting has."""
    with pytest.raises(SettingsError, match=r"did you mean KUBERAY_ADVISOR_LISTEN_PORT\?"):
        load_config(None, {"KUBERAY_ADVISOR_LISTN_PORT": "1"}, {})
    with pytest.raises(SettingsError, match=r"environment KUBERAY_ADVISOR_LISTEN_PORT: listen.port cannot be 'x'"):
        load_config(None, {"KUBERAY_ADVISOR_LISTEN_PORT": "x"}, {})
    with pytest.raises(SettingsError, match=r"there is no setting 'listen\.prot'"):
        load_config(None, {}, {"listen.prot": 1})
    with pytest.raises(SettingsError, match=r"flag --schedule-timeout: schedule.timeout cannot be 'x'"):
        load_config(None, {}, {"schedule.timeout": "x"})


def test_printed(file: Path) -> None:
    """Each setting has a line with value and origin; nothing secret is in it."""
    config = load_config(file, {"KUBERAY_ADVISOR_SCHEDULE_AT_A_TIME": "7"}, {})
    text = print_config(config)
    lines = {line.partition(" ")[0]: line for line in text.splitlines()}
    assert set(lines) >= {key.name for key in KEYS}
    assert " = 7 " in lines["schedule.at_a_time"]
    assert lines["schedule.at_a_time"].endswith("# environment KUBERAY_ADVISOR_SCHEDULE_AT_A_TIME")
    assert " = 1m " in lines["schedule.interval"]
    assert lines["schedule.interval"].endswith(f"# file {file} line 9")
    assert " = critical,warning " in lines["notify.severities"]
    assert "  eu: prometheus url=https://***@mimir.example.com/prometheus " in text
    assert "urls=http://10.0.0.7:8080/metrics?***" in text
    for secret in ("secret", "topsecret", "hidden", "reader"):
        assert secret not in text
        assert secret not in repr(config.operators)
    assert "X-Key:***" in text


def test_token_commands_are_masked(tmp_path: Path) -> None:
    """A command may hold a password."""
    source = {"url": "http://x", "token_command": "print-token hunter2", "header_files": {"X-A": "a"}}
    config = load_config(None, {}, {"operators": [{"name": "a", "prometheus": source}]})
    text = print_config(config)
    assert "token_command=***" in text
    assert "header_files=X-A:" in text
    assert "hunter2" not in text


def test_open_to_all_is_told() -> None:
    """Who serves to the network without a login is warned."""
    config = load_config(None, {}, {"listen.host": "0.0.0.0"})  # noqa: S104 - what it is about
    assert "anybody who reaches 0.0.0.0:8095 can read everything: set login.token_file" in config.warnings
    assert load_config(None, {}, {"listen.host": "[::1]"}).listen.is_loopback
    assert load_config(None, {}, {"listen.host": "localhost"}).listen.is_loopback
    assert not load_config(None, {}, {"listen.host": "advisor.example.com"}).listen.is_loopback


def test_reload(file: Path) -> None:
    """Another reading tells what differs, and what of it needs a restart; the settings before stay as they are."""
    before = load_config(file, {}, {})
    file.write_text(FILE.replace("9000", "9005").replace('"1m"', '"2m"').replace('name = "us"', 'name = "usa"'))
    again = reload_config(before, file, {}, {})
    assert again.changed == ("listen.port", "schedule.interval", "operators")
    assert again.after_restart == ("listen.port",)
    assert (again.config.listen.port, before.listen.port) == (9005, 9000)
    file.write_text("[listen")
    with pytest.raises(SettingsError):
        reload_config(before, file, {}, {})
    assert reload_config(before, None, {}, {}).config.operators == ()


def test_every_setting_is_in_the_documentation() -> None:
    """docs/service-configuration.md names each setting."""
    page = (Path(__file__).parents[2] / "docs" / "service-configuration.md").read_text()
    assert [key.name for key in KEYS if f"`{key.name}`" not in page] == []


def test_a_profile_for_all(tmp_path: Path) -> None:
    """Operators that name none have that of the defaults, and an unknown one is an error with its place."""
    path = tmp_path / "advisor.toml"
    text = """
[defaults]
profile = "generic"
[[operators]]
name = "a"
sidecar = {url = "http://10.0.0.8:8090"}
[[operators]]
name = "b"
profile = "kueue"
prometheus = {url = "http://10.0.0.9"}
"""
    path.write_text(text, encoding="utf-8")
    operators = load_config(path, {}, {}).operators
    assert [one.profile for one in operators] == ["generic", "kueue"]
    assert "profile=kueue" in shown_operator(operators[1])
    path.write_text(text.replace("kueue", "kueu"), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"did you mean kueue\?.* at `operators\[1\]\.profile`"):
        load_config(path, {}, {})
