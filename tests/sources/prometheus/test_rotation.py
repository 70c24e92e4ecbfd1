"""Secrets that are renewed while a client lives."""

import datetime as dt
import fcntl
import json
import os
import sys
from pathlib import Path

import pytest

from advisor.errors import StoreAccessError
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.secret import PASSWORD, TOKEN, CommandSource, FileSource, Secret, run_command
from tests.sources.prometheus.stores import AT, OK, UP, Behaviour, Handler, message, reply, serving
from tests.sources.servers import FastClock

NO_TOKEN = (
    "the token command printed no token of one line (it has to print a token alone, or an ExecCredential as JSON)"
)
NO_STATUS = "the token command printed JSON without status.token (as JSON it has to be an ExecCredential of Kubernetes)"
BY_HAND = f"(run {sys.executable} by hand to see why)"
DENIED = reply("denied", 401, "text/plain")


def wanting(token: str) -> Behaviour:
    """Lets in who has this token."""

    def behave(handler: Handler) -> None:
        (OK if handler.request_seen.headers.get("authorization") == f"Bearer {token}" else DENIED)(handler)

    return behave


def printing(tmp_path: Path, text: str) -> tuple[Path, tuple[str, ...]]:
    """A file, and a command that prints what is in it and notes that it ran."""
    file, runs = tmp_path / "printed", tmp_path / "runs"
    file.write_text(text, encoding="utf-8")
    program = f"print(open({str(file)!r}).read()); open({str(runs)!r}, 'a').write('x')"
    return file, (sys.executable, "-c", program)


class TestAgainstStores:
    def test_a_file_that_changed_is_read_before_the_next_request(self, tmp_path: Path) -> None:
        """No request is lost for a renewed token."""
        file = tmp_path / "token"
        with serving(OK) as store, PrometheusClient(store.url, Access(bearer_token_file=file)) as client:
            for token in ("first", "second", "third3"):
                file.write_text(token, encoding="utf-8")
                client.instant(UP, AT)
        assert [one.headers["authorization"] for one in store.requests] == [
            "Bearer first",
            "Bearer second",
            "Bearer third3",
        ]

    def test_a_file_that_changed_unseen_is_read_on_401(self, tmp_path: Path) -> None:
        """A new token of the same size and time is found when the old one is refused, and the request repeated once."""
        file = tmp_path / "token"
        file.write_text("old", encoding="utf-8")
        os.utime(file, ns=(1, 1))

        def refuse(handler: Handler) -> None:
            file.write_text("new", encoding="utf-8")
            os.utime(file, ns=(1, 1))
            DENIED(handler)

        with serving(refuse, wanting("new")) as store, PrometheusClient(
            store.url, Access(bearer_token_file=file)
        ) as client:  # fmt: skip
            assert client.instant(UP, AT).samples == 1
        assert [one.headers["authorization"] for one in store.requests] == ["Bearer old", "Bearer new"]

    def test_a_new_secret_is_tried_once(self, tmp_path: Path) -> None:
        """A store that refuses the new one too is not asked for ever."""
        file = tmp_path / "token"
        file.write_text("a", encoding="utf-8")

        def refuse(handler: Handler) -> None:
            file.write_text(file.read_text(encoding="utf-8") + "a", encoding="utf-8")
            DENIED(handler)

        with serving(refuse) as store:
            assert f"the bearer token from the file {file} was refused" in message(
                store, Access(bearer_token_file=file)
            )
        assert len(store.requests) == 2

    def test_a_command_is_run_again_on_401(self, tmp_path: Path) -> None:
        """A token that ended early is replaced by a new one."""
        file, command = printing(tmp_path, "old")
        with serving(wanting("old")) as store, PrometheusClient(store.url, Access(token_command=command)) as client:
            client.instant(UP, AT)
            client.instant(UP, AT)
        assert (tmp_path / "runs").read_text(encoding="utf-8") == "x"
        with serving(wanting("new")) as store, PrometheusClient(store.url, Access(token_command=command)) as client:

            def renew(handler: Handler) -> None:
                file.write_text("new", encoding="utf-8")
                DENIED(handler)

            store._behaviours = (renew, wanting("new"))
            client.instant(UP, AT)
        assert [one.headers["authorization"] for one in store.requests] == ["Bearer old", "Bearer new"]

    def test_a_command_that_prints_the_same_again(self, tmp_path: Path) -> None:
        """The error names the program, not its arguments and not what it printed."""
        _, command = printing(tmp_path, "same-token")
        with serving(reply("no same-token", 401, "text/plain")) as store:
            text = message(store, Access(token_command=command))
        assert text == (
            "STORE/api/v1/query: status 401 Unauthorized: the bearer token from the command "
            f"{sys.executable} was refused: no *** (has it expired)"
        )
        assert (tmp_path / "runs").read_text(encoding="utf-8") == "xx"

    def test_a_command_may_take_longer_than_an_answer(self, tmp_path: Path) -> None:
        """The time that it takes is none of the store's."""
        _, command = printing(tmp_path, "token")

        class Slow(FastClock):
            def monotonic(self) -> float:
                # Running the command moves the hands by more than an attempt may take.
                return super().monotonic() + (1000.0 if (tmp_path / "runs").exists() else 0.0)

        limits = Limits(attempt_seconds=100.0, total_seconds=2000.0)
        with serving(OK) as store, PrometheusClient(
            store.url, Access(token_command=command), limits, clock=Slow()
        ) as client:  # fmt: skip
            assert client.instant(UP, AT).samples == 1


class TestFiles:
    def test_a_file_in_its_place_is_read(self, tmp_path: Path) -> None:
        """As Kubernetes replaces mounted secrets: by renaming, with the same size and time."""
        file, other = tmp_path / "token", tmp_path / "other"
        source = FileSource(file, "token", TOKEN)
        for path, text in ((file, "one"), (other, "two")):
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(1, 1))
        assert source.current() == Secret("one")
        other.replace(file)
        assert source.current() == Secret("two")

    def test_an_unchanged_file_is_read_once(self, tmp_path: Path) -> None:
        """Only its state is looked at."""
        file = tmp_path / "token"
        file.write_text("one", encoding="utf-8")
        os.utime(file, ns=(1, 1))
        source = FileSource(file, "token", TOKEN)
        source.current()
        file.write_text("two", encoding="utf-8")
        os.utime(file, ns=(1, 1))
        assert source.current() == Secret("one")
        assert source.renewed(Secret("one")) == Secret("two")

    def test_a_folder_in_its_place(self, tmp_path: Path) -> None:
        """What is there and cannot be read is named."""
        with pytest.raises(StoreAccessError) as caught:
            FileSource(tmp_path, "token", TOKEN).current()
        assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory (check the path and its permissions)"

    def test_a_password_may_hold_blanks(self, tmp_path: Path) -> None:
        """Only the line end is cut off."""
        file = tmp_path / "password"
        file.write_text(" two words ä\n", encoding="utf-8")
        assert FileSource(file, "password", PASSWORD).current().reveal() == " two words ä"


def credential(token: str, end: float | None) -> bytes:
    """What a program for kubectl prints."""
    status = {"token": token}
    if end is not None:
        status["expirationTimestamp"] = dt.datetime.fromtimestamp(end, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(
        {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    ).encode()


class TestCommands:
    def test_a_bare_token_is_kept_for_five_minutes(self) -> None:
        """Then the program is run again."""
        clock, outputs = FastClock(), iter((b" one\n", b"two"))
        source = CommandSource(("a",), clock, lambda _: next(outputs))
        assert [source.current().reveal() for _ in range(2)] == ["one", "one"]
        clock.move(299.0)
        assert source.current().reveal() == "one"
        clock.move(1.0)
        assert source.current().reveal() == "two"

    def test_a_credential_is_kept_until_shortly_before_its_end(self) -> None:
        """Half a minute before its end another one is wanted."""
        clock = FastClock(wall=1_000_000.0)
        outputs = iter((credential("one", 1_003_600.0), credential("two", None)))
        source = CommandSource(("a",), clock, lambda _: next(outputs))
        source.current()
        clock.move(3569.0)
        assert source.current().reveal() == "one"
        clock.move(1.0)
        assert source.current().reveal() == "two"

    @pytest.mark.parametrize("end", ["soon", "2026-11-30T00:00:00"])
    def test_an_end_that_is_no_time_is_ignored(self, end: str) -> None:
        """Then the token is kept as one without an end."""
        output = json.dumps({"status": {"token": "one", "expirationTimestamp": end}}).encode()
        clock, outputs = FastClock(), iter((output, b"two"))
        source = CommandSource(("a",), clock, lambda _: next(outputs))
        source.current()
        clock.move(299.0)
        assert source.current().reveal() == "one"
        clock.move(1.0)
        assert source.current().reveal() == "two"

    def test_a_refused_token_that_was_renewed_meanwhile(self) -> None:
        """Of two threads that were refused, one runs the program."""
        outputs = iter((b"one", b"two"))
        source = CommandSource(("a",), FastClock(), lambda _: next(outputs))
        old = source.current()
        assert source.renewed(old) == source.renewed(old) == Secret("two")

    @pytest.mark.parametrize(
        ("output", "text"),
        [
            (b"", NO_TOKEN),
            (b"a\nb", NO_TOKEN),
            (b"\xff", NO_TOKEN),
            (b'{"status": {}}', NO_STATUS),
            (b'{"token": "hidden"', NO_STATUS),
        ],
    )  # fmt: skip
    def test_what_is_no_token(self, output: bytes, text: str) -> None:
        """The error names the program alone, and nothing of what it printed, in no exception that it holds."""
        with pytest.raises(StoreAccessError) as caught:
            CommandSource(("program", "argument"), FastClock(), lambda _: output).current()
        assert str(caught.value) == f"program: {text}"
        assert caught.value.__context__ is None


class TestRunning:
    def test_what_it_prints(self) -> None:
        """Without a shell: arguments arrive as they are. Standard input is empty, and errors go nowhere."""
        program = "import sys; print(sys.argv[1], sys.stdin.read(), end=''); print('noise', file=sys.stderr)"
        assert run_command((sys.executable, "-c", program, "$HOME; a b")) == b"$HOME; a b "

    @pytest.mark.parametrize(
        ("command", "text"),
        [
            (
                ("/nowhere",),
                "/nowhere: the token command cannot be started: No such file or directory (check the path)",
            ),
            (
                (sys.executable, "-c", "print('hidden'); raise SystemExit(7)"),
                f"{sys.executable}: the token command failed with exit code 7 {BY_HAND}",
            ),
        ],
    )
    def test_what_fails(self, command: tuple[str, ...], text: str) -> None:
        """The error names the program and the exit code."""
        with pytest.raises(StoreAccessError) as caught:
            run_command(command)
        assert str(caught.value) == text

    def test_one_that_hangs(self, tmp_path: Path) -> None:
        """It ends with all that it started, and what it had printed is in no exception."""
        lock = tmp_path / "lock"
        inner = f"import fcntl, time; file = open({str(lock)!r}, 'w'); fcntl.flock(file, fcntl.LOCK_EX); time.sleep(60)"
        program = (
            f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {inner!r}]); "
            "print('hidden', flush=True); time.sleep(60)"
        )
        with pytest.raises(StoreAccessError) as caught:
            run_command((sys.executable, "-c", program), 0.7)
        assert str(caught.value) == f"{sys.executable}: the token command did not end within 0.7 s {BY_HAND}"
        assert caught.value.__context__ is None
        with lock.open("w", encoding="utf-8") as file:
            # Would wait for the inner program, had it been left alone.
            fcntl.flock(file, fcntl.LOCK_EX)
