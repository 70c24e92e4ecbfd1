"""Every setting of the service but its operators: name, default, reader, and what it is for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from advisor.model.finding import Severity
from advisor.store.retention import Retention
from advisor.web.configvalues import (
    Reader,
    address_list,
    count,
    duration,
    header_name,
    host,
    host_list,
    path,
    ratio,
    words,
)

__all__ = ["KEYS", "OPERATORS", "PREFIX", "SECTIONS", "Key"]

PREFIX: Final = "KUBERAY_ADVISOR_"
"""What variables of the environment begin with."""
OPERATORS: Final = "operators"
_MINUTE: Final = 60.0
_HOUR: Final = 3600.0
_DAY: Final = 86400.0
_LONGEST_KEPT: Final = 180 * _DAY
_LONGEST_CHANGES: Final = 3650 * _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting.

    Attributes:
        name: section and key, such as ``listen.port``.
        field: name of the field in the section's class, with its unit.
        default: its value where nobody says anything.
        read: makes a value of what somebody says.
        about: what it is for, for the documentation.
        is_path: whether it is a path, relative to the file's folder.
        needs_restart: whether a reload does not change it.
    """

    name: str
    field: str
    default: object
    read: Reader
    about: str
    is_path: bool = False
    needs_restart: bool = False

    @property
    def section(self) -> str:
        """The table in the file."""
        return self.name.partition(".")[0]

    @property
    def variable(self) -> str:
        """The variable of the environment."""
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def flag(self) -> str:
        """The flag of the command line."""
        return "--" + self.name.replace(".", "-").replace("_", "-")


def _key(name: str, field: str, default: object, read: Reader, about: str) -> Key:
    return Key(name=name, field=field, default=default, read=read, about=about)


def _file(name: str, about: str, default: Path | None = None, *, needs_restart: bool = False) -> Key:
    field = name.partition(".")[2]
    return Key(
        name=name, field=field, default=default, read=path, about=about, is_path=True, needs_restart=needs_restart
    )


def _fixed(name: str, field: str, default: object, read: Reader, about: str) -> Key:
    return Key(name=name, field=field, default=default, read=read, about=about, needs_restart=True)


def _kept(name: str, field: str, default: float, about: str) -> Key:
    most = _LONGEST_KEPT if default <= _LONGEST_KEPT else _LONGEST_CHANGES
    return _key(f"store.{name}", field, default, duration(_HOUR, most), about)


_USUAL: Final = Retention()
_RETENTION: Final = (
    _kept(
        "keep_each_report",
        "each_report_seconds",
        _USUAL.each_report_seconds,
        "how long every report is kept; then the last of each hour, and those that say something new",
    ),
    _kept("keep_reports", "reports_seconds", _USUAL.reports_seconds, "how long any report is kept"),
    _kept("keep_failures", "failures_seconds", _USUAL.failures_seconds, "how long analyses that failed are kept"),
    _kept("keep_changes", "changes_seconds", _USUAL.changes_seconds, "how long changes of settings are kept"),
    _kept("keep_samples", "samples_seconds", _USUAL.samples_seconds, "how long what the service scrapes is kept"),
)

KEYS: Final[tuple[Key, ...]] = (
    _fixed("listen.host", "host", "127.0.0.1", host, "address to serve at; from this machine only by default"),
    _fixed("listen.port", "port", 8095, count(0, 65535), "port to serve at; 0 takes a free one"),
    _key(
        "listen.allowed_hosts",
        "allowed_hosts",
        (),
        host_list,
        "names under which browsers may ask, beside localhost and `listen.host`; `*.` at the front is any subdomain",
    ),
    _file("login.token_file", "holds the token that readers need; read again when it changes"),
    _key("login.proxy_header", "proxy_header", None, header_name, "header in which a reverse proxy names the reader"),
    _key(
        "login.proxy_trusted",
        "proxy_trusted",
        (),
        address_list,
        "where that proxy is: from other addresses the header counts for nothing",
    ),
    _file("store.path", "the database of history", Path("kuberay-advisor.db"), needs_restart=True),
    *_RETENTION,
    _key(
        "schedule.interval",
        "interval_seconds",
        5 * _MINUTE,
        duration(1.0, 7 * _DAY),
        "from one analysis of an operator to the next",
    ),
    _key(
        "schedule.jitter",
        "jitter_ratio",
        0.1,
        ratio(0.5),
        "how much of the interval each may come sooner or later, so that not all come at once",
    ),
    _key(
        "schedule.timeout",
        "timeout_seconds",
        2 * _MINUTE,
        duration(1.0, _DAY),
        "for one analysis, the time of scraping apart",
    ),
    _key(
        "schedule.last",
        "last_seconds",
        _HOUR,
        duration(_MINUTE, 90 * _DAY),
        "how far back an analysis looks, where an operator says nothing itself",
    ),
    _key(
        "schedule.longest_pause",
        "longest_pause_seconds",
        _HOUR,
        duration(1.0, 7 * _DAY),
        "after failures each pause is twice the one before, up to this",
    ),
    _key("schedule.at_a_time", "at_a_time", 4, count(1, 256), "analyses at a time"),
    _fixed("whatif.at_a_time", "at_a_time", 1, count(0, 64), "what-ifs at a time; 0 turns them off"),
    _fixed(
        "whatif.timeout",
        "timeout_seconds",
        30.0,
        duration(1.0, 600.0),
        "for one what-if: no more settings are tried after it, and what is finished is shown",
    ),
    _fixed("whatif.per_minute", "per_minute", 6, count(1, 1000), "what-ifs that each reader may ask for in a minute"),
    _file("notify.webhook_url_file", "holds the URL to which notices go as JSON; read for each"),
    _file("notify.slack_url_file", "holds the URL of a Slack-compatible webhook; read for each"),
    _key(
        "notify.severities",
        "severities",
        (Severity.CRITICAL.value,),
        words([one.value for one in Severity]),
        "findings that are worth a notice",
    ),
    _key(
        "notify.cooldown",
        "cooldown_seconds",
        6 * _HOUR,
        duration(1.0, 30 * _DAY),
        "for so long the same finding of the same operator is not told as new again",
    ),
)
"""All of them, in the order in which they are shown."""
SECTIONS: Final = tuple(dict.fromkeys(key.section for key in KEYS))
