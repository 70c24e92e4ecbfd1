"""The core takes time, randomness and data as arguments: it reads no clock, no file and no terminal.

import-linter forbids the imports, also by way of other modules. Here each file is read once more: import-linter does
not see calls of builtins, imports by name or ``datetime.now``, nor the __init__.py of packages that may be absent.
"""

import ast
import tomllib
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support import ROOT

BUILTINS: Final = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open", "print"})
# Methods that read the clock, a file or the terminal, whatever they are called on.
METHODS: Final = frozenset(
    {"fromtimestamp", "import_module", "now", "read_bytes", "read_text", "today", "utcnow", "write_bytes", "write_text"}
)
# fromtimestamp is pure when it is given a time zone.
PURE_WITH_KEYWORD: Final = {"fromtimestamp": "tz"}


def contract() -> dict[str, Any]:
    """The import-linter contract that names the pure packages and what they may not import."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (pure,) = (each for each in contracts if each["id"] == "pure")
    assert isinstance(pure, dict)
    return pure


def pure_files() -> list[str]:
    """Every module of the pure packages, as a path relative to the repository."""
    found = []
    for module in contract()["source_modules"]:
        place = ROOT / module.removesuffix(".**").replace(".", "/")
        found += [*place.rglob("*.py"), *([file] if (file := place.with_suffix(".py")).is_file() else [])]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def impurities(source: str, forbidden: frozenset[str]) -> Iterator[str]:
    """What in the source does input or output, or could: "line: what"."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [each.name for each in names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
                yield f"{node.lineno}: {name}()"
                continue
            case ast.Call(func=ast.Attribute(attr=name), keywords=keywords) if name in METHODS:
                if PURE_WITH_KEYWORD.get(name) not in {each.arg for each in keywords}:
                    yield f"{node.lineno}: .{name}()"
                continue
            case _:
                continue
        yield from (f"{node.lineno}: import {each}" for each in modules if each.split(".")[0] in forbidden)


@pytest.mark.parametrize("path", pure_files())
def test_module_is_pure(path: str) -> None:
    """No module of the core does input or output, starts anything or reads a clock."""
    forbidden = frozenset(contract()["forbidden_modules"])
    assert list(impurities((ROOT / path).read_text(encoding="utf-8"), forbidden)) == []


def test_core_is_found() -> None:
    """Each package of the core that must exist has modules to look at."""
    files = pure_files()
    required = [module for module in contract()["source_modules"] if not module.endswith(".**")]
    missing = [each for each in required if not any(path.startswith(each.replace(".", "/")) for path in files)]
    assert required
    assert missing == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os.path", ["1: import os.path"]),
        ("import math, time", ["1: import time"]),
        ("def f():\n    from random import random", ["2: import random"]),
        ("open('x')", ["1: open()"]),
        ("print(1)", ["1: print()"]),
        ("datetime.datetime.now(tz=UTC)", ["1: .now()"]),
        ("datetime.fromtimestamp(1.0)", ["1: .fromtimestamp()"]),
        ("datetime.fromtimestamp(1.0, tz=UTC)", []),
        ("from . import time", []),
        ("import math\nfrom collections import abc\nnow = 1.0\nadvance(now)", []),
    ],
)
def test_impurities_are_seen(source: str, found: list[str]) -> None:
    """What is impure is named with its line, and nothing else is."""
    assert list(impurities(source, frozenset({"os", "random", "time"}))) == found
