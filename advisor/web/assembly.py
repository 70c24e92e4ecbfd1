"""The service's parts, joined: configuration, store, schedule, pages and the server that serves them."""

import logging
import math
import random
import threading
from collections.abc import Sequence
from errno import EADDRINUSE
from pathlib import Path
from typing import Any, Final

from waitress.server import create_server

from advisor.analysis import Options
from advisor.analysis.changes import ChangeRules
from advisor.errors import OutputError
from advisor.model.finding import Severity
from advisor.sources.scraping import Clock
from advisor.store.errors import StoreReadError, StoreWriteError
from advisor.store.retention import Retention
from advisor.store.store import Store
from advisor.web.app import create_app
from advisor.web.config import Config, Login, Notify, WhatIfSettings
from advisor.web.history import KeptHistory, StoreSink, remembered
from advisor.web.notify import Notice, Notifier, NotifyRules
from advisor.web.scheduler import Scheduler
from advisor.web.security import Access
from advisor.web.state import Service, Trouble
from advisor.web.targets import Watched, rules_of, watched
from advisor.web.troubles import troubles_of
from advisor.web.webhook import Webhook, WebhookSettings, webhooks_of
from advisor.web.whatifline import LineRules
from advisor.web.whatifs import Effort, WhatIfs

__all__ = ["Advisor", "access_of"]

_LOG: Final = logging.getLogger(__name__)
_THREADS: Final = 8
_MOST_CONNECTIONS: Final = 500
"""A reader who is slow or says nothing holds a connection, and no thread."""
_PRUNE_SECONDS: Final = 300.0
_STALE_INTERVALS: Final = 3.0
"""A report that is older than so many intervals of the schedule is called stale."""
_STOP_SECONDS: Final = 2.0
_NOBODYS: Final = "\0"
"""No header can hold it."""


class Advisor:
    """The whole service.

    Args:
        config: everything that it is told.
        clock: the time, and how to wait.

    Raises:
        OutputError: it cannot serve at its address, or keep its history.
        InputError: a file that the configuration names cannot be read.
    """

    def __init__(self, config: Config, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._stop = threading.Event()
        self._store = Store.open(config.store.path, now=self._clock.wall(), retention=_retention(config))
        self._notifier = Notifier(_rules(config.notify), remembered(self._store))
        self._sink = StoreSink(self._store, self._notifier, self._tell)
        self._scheduler = Scheduler(rules_of(config.schedule), self._sink, random.random, self._clock)
        self._history = KeptHistory(self._store)
        self._whatifs = _whatifs(config.whatif)
        self._kinds: dict[str, str] = {}
        self._webhooks: tuple[tuple[WebhookSettings, Webhook], ...] = ()
        self._scraping = threading.Event()
        self._stale_seconds = math.inf
        self._access = _access(config, config.listen.host)
        self._watched = Watched((), (), ())
        service = Service(
            self._store,
            self._scheduler.states,
            self._clock.wall,
            lambda name: self._kinds.get(name, "prometheus"),
            self._keeping,
            lambda: self._stale_seconds,
            self.troubles,
            whatifs=self._whatifs,
            change_rules=lambda: self._sink.changes.rules,
        )
        app = create_app(service, lambda: self._access)
        self._host = config.listen.host
        self._server = _serving(app, config.listen.host, config.listen.port)
        self.apply(config)

    @property
    def address(self) -> str:
        """Where it serves."""
        return f"http://{self._server.effective_host}:{self._server.effective_port}/"

    @property
    def store(self) -> Store:
        """Its history."""
        return self._store

    @property
    def sink(self) -> StoreSink:
        """Takes what analyses come to; whoever analyses beside the schedule gives it here."""
        return self._sink

    def start(self) -> None:
        """Begin, in threads."""
        self._scheduler.start()
        if self._whatifs is not None:
            self._whatifs.start()
        for name, body in (("server", self._serve), ("pruning", self._prune)):
            threading.Thread(target=body, name=name, daemon=True).start()

    def apply(self, config: Config) -> None:
        """Do as the configuration says from now on, but for where it serves and what its history is.

        Who was watched before keeps his state, and notices that wait go to the new webhook of the same kind.

        Raises:
            InputError: a file that it names cannot be read; then nothing has changed.
        """
        found = watched(
            config.operators,
            config.schedule,
            Options(),
            history=self._history,
            bases=self._store,
            clock=self._clock,
        )
        self._access = _access(config, self._host)
        self._store.retention = _retention(config)
        self._notifier.rules = _rules(config.notify)
        self._stale_seconds = _STALE_INTERVALS * config.schedule.interval_seconds
        self._replace_webhooks(webhooks_of(config.notify))
        self._sink.changes.rules = _change_rules(config.schedule.interval_seconds)
        self._kinds = {one.name: one.kind for one in config.operators}
        self._scheduler.replace(found.targets, found.discoveries, rules_of(config.schedule))
        self._scraping.set()
        self._watched = found
        self._scraping = until = threading.Event()
        for one in found.scrapes:
            threading.Thread(target=one.run, args=(until,), name=f"scrape {one.name}", daemon=True).start()

    def stop(self) -> None:
        """End everything within a few seconds; what was kept stays kept."""
        self._stop.set()
        self._scraping.set()
        # First those who answer: one that is still at it when the sockets are closed fails, and waits for ever after.
        self._server.task_dispatcher.shutdown(timeout=_STOP_SECONDS)
        self._server.close()
        if self._whatifs is not None:
            self._whatifs.stop(_STOP_SECONDS)
        self._scheduler.stop(_STOP_SECONDS)
        for _, webhook in self._webhooks:
            webhook.stop(_STOP_SECONDS)
        self._store.close()

    def troubles(self) -> tuple[Trouble, ...]:
        """What goes wrong now, beside analyses that fail."""
        webhooks = [webhook for _, webhook in self._webhooks]
        return tuple(
            troubles_of(
                self._store.problem,
                {**self._history.not_kept, **self._sink.not_kept},
                {one.name: (one.operator, one.health()) for one in self._watched.scrapes},
                {one.name: one.figures for one in webhooks},
                [one.name for one in self._scheduler.states() if one.hangs],
            )
        )

    def _replace_webhooks(self, wanted: Sequence[WebhookSettings]) -> None:
        """Send to these from now on; those that are as before go on, and what others have not sent is not lost."""
        before, after = dict(self._webhooks), {}
        for one in wanted:
            known = before.pop(one, None)
            after[one] = known or Webhook(one, random.random, self._clock)
            if known is None:
                after[one].start()
        self._webhooks = tuple(after.items())
        for settings, webhook in before.items():
            webhook.stop(_STOP_SECONDS)
            left = webhook.rest()
            for following in after.values():
                if following.name == settings.name:
                    following.send(left)

    def _keeping(self, operator: str) -> str:
        """Why what it tells is not kept; of several replicas one that is kept is enough."""
        problems = [one.health() for one in self._watched.scrapes if one.operator == operator]
        return problems[0] if problems and all(problems) else ""

    def _tell(self, notices: Sequence[Notice]) -> None:
        for _, webhook in self._webhooks:
            webhook.send(notices)

    def _serve(self) -> None:
        try:
            self._server.run()
        except OSError:
            # Its sockets are closed by another thread, while this one may be about to wait for them.
            if not self._stop.is_set():
                raise

    def _prune(self) -> None:
        # At once, so that the history knows the time from the start on: a clock that leaps later is then seen to leap.
        pause = 0.0
        while not self._stop.wait(pause):
            pause = _PRUNE_SECONDS
            try:
                self._store.prune(self._clock.wall())
                self._sink.forget()
            except (StoreReadError, StoreWriteError) as error:
                _LOG.warning("the history could not be thinned: %s", error)


def _whatifs(settings: WhatIfSettings) -> WhatIfs | None:
    """Who runs what-ifs; None where they are turned off."""
    if not settings.at_a_time:
        return None
    effort = Effort(seconds=settings.timeout_seconds)
    rules = LineRules(at_a_time=settings.at_a_time, limit_seconds=WhatIfs.limit_seconds(effort), most_kept=128)
    return WhatIfs(rules, effort, per_minute=settings.per_minute)


def access_of(login: Login, hosts: Sequence[str], host: str) -> Access:
    """Who may ask, as the configuration says; the token's file is read for each request, so that it may be renewed."""
    file = login.token_file
    return Access(
        hosts=(*hosts, host),
        token=(lambda: None) if file is None else (lambda: _token(file)),
        user_header=login.proxy_header or "",
        proxies=login.proxy_trusted,
    )


def _token(file: Path) -> str:
    """The token in a file; where that is gone or empty, one that nobody can have."""
    try:
        return file.read_text(encoding="utf-8").strip() or _NOBODYS
    except OSError:
        return _NOBODYS


def _access(config: Config, host: str) -> Access:
    return access_of(config.login, config.listen.allowed_hosts, host)


def _retention(config: Config) -> Retention:
    kept = config.store
    return Retention(
        each_report_seconds=kept.each_report_seconds,
        reports_seconds=kept.reports_seconds,
        failures_seconds=kept.failures_seconds,
        changes_seconds=kept.changes_seconds,
        samples_seconds=kept.samples_seconds,
    )


def _rules(notify: Notify) -> NotifyRules:
    severities = frozenset(map(Severity, notify.severities))
    return NotifyRules(severities=severities, cooldown_seconds=notify.cooldown_seconds)


def _change_rules(interval_seconds: float) -> ChangeRules:
    """Who looks more often than operators settle also wants to see sooner what became of a change."""
    usual = ChangeRules()
    return ChangeRules(settle_seconds=min(usual.settle_seconds, interval_seconds))


def _serving(app: Any, host: str, port: int) -> Any:  # noqa: ANN401 - waitress has no types
    try:
        return create_server(
            app,
            host=host,
            port=port,
            threads=_THREADS,
            ident=None,
            connection_limit=_MOST_CONNECTIONS,
            asyncore_use_poll=True,
        )
    except (OSError, ValueError) as error:
        # waitress tells of a name that is not known, and of nothing else, by a ValueError.
        what = error.strerror or error if isinstance(error, OSError) else "the name of the host is not known"
        hint = "choose another --listen-port" if getattr(error, "errno", 0) == EADDRINUSE else "choose another address"
        raise OutputError(f"cannot serve there: {what}", where=f"{host}:{port}", hint=hint) from error
