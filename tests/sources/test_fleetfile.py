import datetime as dt
from pathlib import Path
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import InputFormatError, InputNotFoundError
from advisor.sources.fleetfile import access_of, file_stem, read_fleet, scrape_plan
from advisor.sources.fleetspec import FleetEntry, PrometheusSpec, ScrapeSpec
from advisor.sources.logtime import duration_seconds

STORE: Final = "http://store:9090"


def read(folder: Path, text: str) -> tuple[FleetEntry, ...]:
    """The operators of a file with this text."""
    path = folder / "fleet.yaml"
    path.write_text(text, encoding="utf-8")
    return read_fleet(path)


def refused(folder: Path, text: str) -> str:
    """The error that a file with this text is; it names the file and the page."""
    with pytest.raises(InputFormatError) as caught:
        read(folder, text)
    assert caught.value.where == str(folder / "fleet.yaml")
    assert caught.value.hint
    return caught.value.message


def prometheus(folder: Path, text: str, defaults: str = "{}") -> PrometheusSpec:
    """The store of the only operator."""
    document = f"defaults: {{prometheus: {defaults}}}\noperators: [{{name: a, prometheus: {text}}}]\n"
    (entry,) = read(folder, document)
    assert entry.prometheus is not None
    return entry.prometheus


def test_sources_of_every_kind(tmp_path: Path) -> None:
    """Each operator has one source; paths are those from the file's folder."""
    made = read(
        tmp_path,
        f"""
        schema: kuberay-advisor/fleet/v1
        operators:
          - {{name: store, prometheus: {{url: "{STORE}", bearer_token_file: token}}}}
          - {{name: recording, recording: old/monday}}
          - {{name: facts, facts: /tmp/some.facts.yaml}}
          - {{name: live, scrape: {{urls: ["http://10.0.0.1:8080"], ca_file: ../ca.pem}}}}
        """,
    )
    assert [one.name for one in made] == ["store", "recording", "facts", "live"]
    store, recording, facts, live = made
    assert store.prometheus == PrometheusSpec(url=STORE, bearer_token_file=str(tmp_path / "token"))
    assert recording.recording == str(tmp_path / "old" / "monday")
    assert facts.facts == "/tmp/some.facts.yaml"
    assert live.scrape == ScrapeSpec(urls=("http://10.0.0.1:8080",), ca_file=str(tmp_path / ".." / "ca.pem"))


def test_defaults_are_what_operators_do_not_say(tmp_path: Path) -> None:
    """Key by key, a mapping of headers as a whole; null takes a default away."""
    defaults = f"{{url: '{STORE}', tenant: a, last: 1h, headers: {{X-A: '1', X-B: '2'}}, ca_file: ca.pem}}"
    assert prometheus(tmp_path, "{}", defaults) == PrometheusSpec(
        url=STORE, tenant="a", last="1h", headers={"X-A": "1", "X-B": "2"}, ca_file=str(tmp_path / "ca.pem")
    )
    own = "{url: 'http://other', tenant: null, headers: {X-C: '3'}, ca_file: null, insecure: true}"
    assert prometheus(tmp_path, own, defaults) == PrometheusSpec(
        url="http://other", last="1h", headers={"X-C": "3"}, insecure=True
    )


def test_version_and_args_are_for_who_does_not_say_them(tmp_path: Path) -> None:
    """Arguments are words, however they are written; facts say such themselves and take no default."""
    made = read(
        tmp_path,
        """
        defaults: {version: "1.7.0", args: "--qps=100 --name 'a b'"}
        operators:
          - {name: a, recording: a}
          - {name: b, recording: b, version: "1.6.1", args: [--qps=20, "--name=x y"]}
          - {name: c, recording: c, version: null, args: null}
          - {name: d, facts: d.yaml}
        """,
    )
    assert [(one.version, one.args) for one in made] == [
        ("1.7.0", ("--qps=100", "--name", "a b")),
        ("1.6.1", ("--qps=20", "--name=x y")),
        (None, ()),
        (None, ()),
    ]


def test_scraping(tmp_path: Path) -> None:
    """How long and how often may come from the defaults."""
    text = "defaults: {scrape: {for: 1m, interval: 5s}}\noperators: [{name: a, scrape: {urls: ['http://h:1/m']}}]\n"
    (entry,) = read(tmp_path, text)
    assert entry.scrape is not None
    (endpoint,), plan = scrape_plan(entry.scrape)
    assert (endpoint.url, plan.seconds, plan.interval) == ("http://h:1/m", 60.0, 5.0)


@pytest.mark.parametrize(
    ("written", "until"),
    [
        ("2026-11-30T03:00:00Z", dt.datetime(2026, 11, 30, 3, tzinfo=dt.UTC)),
        ("'2026-11-30T03:00:00Z'", dt.datetime(2026, 11, 30, 3, tzinfo=dt.UTC)),
        ("2026-11-30 03:00:00", dt.datetime(2026, 11, 30, 3)),  # noqa: DTZ001 - as it is written
        ("1795980000", 1795980000.0),
    ],
)
def test_the_end_of_a_range(written: str, until: dt.datetime | float, tmp_path: Path) -> None:
    """A time as YAML or JSON has it, or Unix seconds."""
    assert prometheus(tmp_path, f"{{url: '{STORE}', until: {written}}}").until == until


def test_every_way_into_a_store(tmp_path: Path) -> None:
    """What the file says is what the client is told."""
    spec = prometheus(
        tmp_path,
        f"{{url: '{STORE}', user: me, password_file: pw, header_files: {{X-Key: key}}, client_cert: c.pem, "
        "client_key: k.pem, ca_file: ca.pem, tenant: t, headers: {X-A: '1'}}",
    )
    access = access_of(spec)
    assert (access.user, access.password_file) == ("me", tmp_path / "pw")
    assert access.header_files == {"X-Key": tmp_path / "key"}
    assert (access.client_cert, access.client_key) == (tmp_path / "c.pem", tmp_path / "k.pem")
    assert (access.ca_file, access.tenant, access.headers) == (tmp_path / "ca.pem", "t", {"X-A": "1"})
    command = prometheus(tmp_path, f"{{url: '{STORE}', token_command: \"print-token 'of me'\"}}")
    assert access_of(command).token_command == ("print-token", "of me")
    signed = prometheus(tmp_path, f"{{url: '{STORE}', sigv4_region: eu-west-1}}")
    assert access_of(signed).sigv4_region == "eu-west-1"


def test_nothing_secret_is_shown() -> None:
    """A URL may hold a password, and a header a token."""
    spec = PrometheusSpec(url="http://me:secret@store", headers={"X-Key": "secret"})
    entry = FleetEntry(name="a", prometheus=spec, scrape=ScrapeSpec(headers={"X-Key": "secret"}))
    assert "secret" not in repr(entry)


def one(text: str) -> str:
    """A file with one operator."""
    return f"operators: [{text}]\n"


def in_store(text: str) -> str:
    """A file with one operator in a store."""
    return one(f"{{name: a, prometheus: {{url: '{STORE}', {text}}}}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]\n", "holds no mapping"),
        ("{}\n", "it lacks the required field `operators` - at `$`"),
        ("operators: []\n", "Expected `array` of length >= 1 - at `$.operators`"),
        ("operators: {a: b}\n", "Expected `array`, got `object` - at `$.operators`"),
        ("operators: [a]\n", "a mapping is needed, with a name and a source - at `$.operators[0]`"),
        (f"{one('{name: a, recording: a}')}more: 1\n", "there is no key `more` - at `$`"),
        (f"schema: v2\n{one('{name: a, recording: a}')}", "Invalid enum value 'v2' - at `$.schema`"),
        (one("{recording: a}"), "it lacks the required field `name` - at `$.operators[0]`"),
        (one("{name: '', recording: a}"), "Expected `str` of length >= 1 - at `$.operators[0].name`"),
        (one("{name: 7, recording: a}"), "Expected `str`, got `int` - at `$.operators[0].name`"),
        (one("{name: ' a', recording: a}"), "a name has no blanks around it"),
        (one("{name: a, recording: a, recoding: b}"), "there is no key `recoding` - at `$.operators[0]`"),
        (one("{name: a}"), "'a' has no source: exactly one of prometheus, recording, facts, scrape is needed - at"),
        (one("{name: a, recording: a, facts: b}"), "'a' has recording and facts: exactly one of"),
        (one("{name: a, facts: b, version: '1.7.0'}"), "version and args belong to another source"),
        (one('{name: a, recording: b, args: "--x \'y"}'), "No closing quotation - at `$.operators[0].args`"),
        (one("{name: a, recording: a}, {name: a, facts: b}"), "the name 'a' stands twice, first in operators[0] - at"),
        (one("{name: a, recording: a}, {name: A, facts: b}"), "the name 'A' makes the same file name as 'a', first in"),
        (one("{name: a, recording: a, name: b}"), "the key 'name' stands twice, again in line 1"),
        (one("{name: a, prometheus: {}}"), "a url is needed here, or in defaults.prometheus - at `$.operators[0].prom"),
        (one("{name: a, prometheus: {url: 'ftp://a'}}"), "the URL of the store is none (its form is https://"),
        (in_store("lst: 1h"), "there is no key `lst` - at `$.operators[0].prometheus`"),
        (in_store("last: 1 hour"), "'1 hour' is no duration such as 90s, 5m, 1h30m or 7d - at `$.operators[0].pr"),
        (in_store("last: 6"), "Expected `str`, got `int` - at `$.operators[0].prometheus.last`"),
        (in_store("last: 0s"), "'0s' is no duration"),
        (in_store("until: yesterday"), "- at `$.operators[0].prometheus.until`"),
        (in_store("matchers: [env]"), "'env' is no matcher such as"),
        (in_store("user: a"), "a user needs a password or a password file - at `$.operators[0].prometheus`"),
        (in_store("bearer_token_file: a, sigv4_region: b"), "exclude each other (keep the one that the store wants)"),
        (in_store("headers: {'a b': c}"), "a header has a name that none can have"),
        (in_store('token_command: "a \'b"'), "No closing quotation"),
        (in_store("insecure: 'yes'"), "Expected `bool`, got `str` - at `$.operators[0].prometheus.insecure`"),
        (in_store("until: .nan"), "nan is no figure"),
        (one("{name: a, scrape: {}}"), "a list of at least one URL is needed - at `$.operators[0].scrape.urls`"),
        (one("{name: a, scrape: {urls: [nowhere]}}"), "expected http://HOST[:PORT][/PATH]"),
        (one("{name: a, scrape: {urls: ['http://a', 'http://a']}}"), "the same endpoint is given twice"),
        (one("{name: a, scrape: {urls: ['http://a'], for: 1s}}"), "the time is shorter than one interval"),
        (one("{name: a, scrape: {urls: ['http://a'], headers: {'a b': c}}}"), "expected 'Name: value'"),
        ("defaults: {recording: a}\noperators: [{name: a}]\n", "there is no key `recording` - at `$.defaults`"),
        (
            "defaults: {prometheus: {urls: a}}\noperators: [{name: a}]\n",
            "there is no key `urls` - at `$.defaults.prometheus`",
        ),
        ("operators: [&a {name: a, recording: a}, *a]\n", "refers with *a to another place"),
    ],
)
def test_what_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """Whatever cannot be meant is named with its place, before anything is asked or read."""
    assert message in refused(tmp_path, text)


def test_headers_are_not_told_in_errors(tmp_path: Path) -> None:
    """A value that cannot be sent may be a secret all the same."""
    assert "geheim" not in refused(tmp_path, in_store("headers: {X-Key: gehéim}, tenant: geheim"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(InputNotFoundError, match=r"none\.yaml: cannot be read"):
        read_fleet(tmp_path / "none.yaml")


def test_a_thousand_operators(tmp_path: Path) -> None:
    """As many as there are."""
    lines = "".join(f"- {{name: op-{index}, recording: r/{index}}}\n" for index in range(1000))
    assert len(read(tmp_path, f"operators:\n{lines}")) == 1000


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("7d", 604800.0), ("1w", 604800.0)]
)
def test_durations(text: str, seconds: float) -> None:
    """As on the command line."""
    assert duration_seconds(text) == seconds


@given(st.text(max_size=300), st.text(max_size=300))
def test_file_names_are_safe_and_differ_where_names_do(one: str, other: str) -> None:
    """Any name gives a short name of plain characters that hides no file, is no folder, and is no other's."""
    stem = file_stem(one)
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+%")
    assert not stem.startswith(".")
    assert stem.casefold() != "fleet"
    assert len(stem) <= 180
    assert (file_stem(other) == stem) == (other == one)


def test_long_names_keep_their_beginning() -> None:
    """What is cut off ends with a digest of the whole."""
    assert file_stem("x" * 180) == "x" * 180
    assert file_stem("x" * 200).startswith("x" * 150)
    assert file_stem("x" * 200) != file_stem("x" * 201)


def test_entries_can_be_sent_to_a_worker(tmp_path: Path) -> None:
    """What a worker gets is what was read."""
    spec = prometheus(tmp_path, f"{{url: '{STORE}', headers: {{X-A: '1'}}, until: 2026-11-30T03:00:00Z}}")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=PrometheusSpec) == spec
