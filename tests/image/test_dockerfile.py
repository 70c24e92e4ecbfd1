"""What the Dockerfile says, read without an engine."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

import advisor
from tests.image.dockerfile import Copy, DockerfileError, Run, Stage, ignored, read_dockerfile, sources_of
from tests.support import ROOT

TEXT: Final = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORE: Final = (ROOT / ".dockerignore").read_text(encoding="utf-8")


def image(**given: str) -> Stage:
    """The last stage."""
    return read_dockerfile(TEXT, given)[-1]


def test_the_base_is_given_from_outside_and_never_invented() -> None:
    """Each stage is of the same base, which is an argument; the file names no digest and no registry."""
    assert [stage.base for stage in read_dockerfile(TEXT, {})] == ["python:3.13-slim-bookworm"] * 2
    pinned = f"python:3.13-slim-bookworm@sha256:{'0' * 64}"
    stages = read_dockerfile(TEXT, {"BASE_IMAGE": pinned})
    assert [stage.base for stage in stages] == [pinned] * 2
    assert re.findall(r"sha256:[0-9a-f]+", TEXT) == []
    assert "://" not in TEXT
    assert re.findall(r"^FROM \S*[.:]\S*/", TEXT, re.MULTILINE) == []
    # A syntax directive would fetch a front end from a registry.
    assert "syntax=" not in TEXT


def test_the_release_of_python_is_one_that_the_package_takes() -> None:
    """The base's Python is not older than pyproject asks for."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    least = re.search(r'requires-python = ">=3\.(\d+)"', project)
    assert least is not None
    assert int(image().base.split(":")[1].split("-")[0].split(".")[1]) >= int(least[1])


def test_what_a_container_is_started_with() -> None:
    """A user by number who is not root, the program itself as the first process, and Kubernetes' own signal."""
    last = image()
    assert last.user == (65532, 65532)
    assert last.entrypoint == ("/opt/kuberay-advisor/bin/kuberay-advisor",)
    assert last.command == ("--help",)
    assert last.stop_signal == "SIGTERM"
    assert last.folder == "/var/lib/kuberay-advisor"
    assert last.environ["PYTHONDONTWRITEBYTECODE"] == "1"
    assert last.environ["PATH"].startswith("/opt/kuberay-advisor/bin:")


def test_labels() -> None:
    """Version, revision and source come from whoever builds; the licence is the package's."""
    labels = image(VERSION="1.2.3", REVISION="abc", SOURCE="somewhere", BASE_IMAGE="base").labels
    prefix = "org.opencontainers.image."
    assert {name.removeprefix(prefix): value for name, value in labels.items()} == {
        "title": "kuberay-advisor",
        "description": "Advises on concurrency, QPS and burst of the KubeRay operator",
        "licenses": "Apache-2.0",
        "version": "1.2.3",
        "revision": "abc",
        "source": "somewhere",
        "base.name": "base",
    }


def test_everything_that_is_copied_goes_to_the_engine() -> None:
    """Each source exists and .dockerignore lets it through; what it copies from a stage is of one before."""
    stages = read_dockerfile(TEXT, {})
    seen: list[str] = []
    for stage in stages:
        for step in stage.steps:
            if isinstance(step, Copy) and step.stage:
                assert step.stage in seen
            elif isinstance(step, Copy):
                assert all(sources_of(ROOT, source, IGNORE) for source in step.sources), step
        seen.append(stage.name)


def test_nothing_else_goes_to_the_engine() -> None:
    """What the Dockerfile does not copy stays behind: tests, environments, history, byte code, keys that lie about."""
    kept = {path for path in ("LICENSE", "NOTICE", "pyproject.toml") if not ignored(path, IGNORE)}
    assert kept == {"LICENSE", "NOTICE", "pyproject.toml"}
    for path in (
        "README.md",
        "Dockerfile",
        ".git/config",
        ".venv-test/bin/python",
        "tests/data/tls/key.pem",
        "requirements/dev.txt",
        "dist/kuberay_advisor-0.1.0.tar.gz",
        "advisor/__pycache__/errors.cpython-313.pyc",
        "advisor/web/old.pyo",
        ".env",
        "kubeconfig",
    ):
        assert ignored(path, IGNORE), path
    # A rule for which folders a wheel may hold is hatchling's; what it needs is there.
    assert "advisor/py.typed" in sources_of(ROOT, "advisor", IGNORE)


def test_installs_are_pinned_by_hash() -> None:
    """Each install from an index wants hashes and wheels; the project's own wheel is installed without an index."""
    steps = [step for stage in read_dockerfile(TEXT, {}) for step in stage.steps if isinstance(step, Run)]
    installs = [part for step in steps for part in step.command.split("&&") if " install " in part and "pip" in part]
    assert len(installs) == 3
    for part in installs:
        assert ("--require-hashes" in part and "--only-binary :all:" in part) or "--no-index" in part, part


def test_no_secret_has_a_place_in_it() -> None:
    """No argument or variable is for one, and nothing is fetched but by the installer."""
    for stage in read_dockerfile(TEXT, {}):
        for name in (*stage.arguments, *stage.environ):
            assert re.search("TOKEN|PASSWORD|SECRET|KEY|CREDENTIAL", name) is None
    assert (
        re.search(r"\b(curl|wget|apt-get|git)\b", "\n".join(line.split("#")[0] for line in TEXT.splitlines())) is None
    )


def test_pins_are_those_of_what_is_tested() -> None:
    """Each distribution in the image has the release that `make unit` tests with, and that a user gets."""

    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        return set(re.findall(r"^([a-z0-9-]+==[^ ;\\]+)", text, re.MULTILINE))

    assert pins("runtime.txt") <= pins("image.txt") <= pins("dev.txt")
    assert any(pin.startswith("lightkube==") for pin in pins("image.txt"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM base\nHEALTHCHECK NONE\n", "line 2: HEALTHCHECK is not known"),
        ("FROM base\nADD x /x\n", "line 2: ADD is not known"),
        ("FROM base\nUSER nobody\n", "line 2: USER nobody: wants numbers"),
        ("FROM base\nUSER 1:1\nRUN true\n", "line 3: RUN true: comes after USER"),
        ("FROM base\nRUN --mount=type=cache,target=/x true\n", "line 2: RUN --mount"),
        ("FROM base\nCOPY --chown=1 a b\n", "wants the form COPY"),
        ("FROM base\nENV a b\n", "wants the form name=value"),
        ("RUN true\n", "comes before FROM"),
        ("FROM base\nRUN a \\\n", "line 2: is continued beyond the end"),
    ],
)
def test_what_the_reader_does_not_know_is_refused(text: str, said: str) -> None:
    """An instruction, or a form of one, that these tests do not follow fails, and says in which line."""
    with pytest.raises(DockerfileError, match=re.escape(said)):
        read_dockerfile(text, {})


def test_the_reader_follows_arguments_as_an_engine_does() -> None:
    """An ARG before FROM is for FROM alone until a stage asks for it; what is given goes before a default."""
    text = "ARG A=1\nFROM base:${A} AS x\nARG B=${A}\nRUN one\nARG A\nARG C=$A\nENV D=${C}${E}\nRUN two\n"
    (stage,) = read_dockerfile(text, {})
    one, two = (step for step in stage.steps if isinstance(step, Run))
    assert (stage.name, stage.base) == ("x", "base:1")
    assert one.environ == {"B": ""}
    assert two.environ == {"A": "1", "B": "", "C": "1", "D": "1"}
    (given,) = read_dockerfile(text, {"A": "2", "B": "3"})
    assert given.base == "base:2"
    assert given.arguments == {"A": "2", "B": "3", "C": "2"}


def made(folder: Path, engine: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """`make image` where this script is the only engine."""
    for name in ("docker", "podman"):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{engine if name == 'podman' else 'exit 1'}\n")
        path.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["make", "--silent", "--directory", str(ROOT), "image", *args]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_make_image_says_where_no_engine_answers(tmp_path: Path) -> None:
    """A client without an engine behind it is none; nothing is built."""
    done = made(tmp_path, "exit 1")
    assert done.returncode != 0
    assert "image: neither docker nor podman answers here" in done.stderr


def test_make_image_builds_with_the_engine_that_answers(tmp_path: Path) -> None:
    """Tagged with the package's version, which the label gets too; other arguments are passed on."""
    done = made(tmp_path, 'echo "$@" "$SOURCE_DATE_EPOCH"', "IMAGE=x/y", "IMAGE_ARGS=--build-arg BASE_IMAGE=b@sha256:0")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[0]
    assert said.startswith("build ")
    for part in (
        f"--build-arg VERSION={advisor.__version__} ",
        f"--tag x/y:{advisor.__version__} ",
        " --build-arg BASE_IMAGE=b@sha256:0 . ",
    ):
        assert part in said
    when = re.search(r"SOURCE_DATE_EPOCH=(\d+) ", said)
    assert when is not None
    assert said.endswith(f" {when[1]}")
