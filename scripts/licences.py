"""Under which licences the pinned distributions are, and which of them are not permissive; ``docs/licences.md``.

A distribution's own metadata says its licence, as an SPDX expression since 2024. Older ones say it in words, or in a
classifier; what says too little, or is not installed where the page is made, is named here after reading its file.
"""

import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping

from scripts.locks import ROOT, lock_files, normal, pins

__all__ = ["Installed", "installed", "licence_of", "packages", "page", "restrictions"]

Installed = Mapping[str, importlib.metadata.Distribution]
"""Distributions of an environment by normalised name."""

_WORDS = {
    "Apache 2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "The MIT License (MIT)": "MIT",
    "ZPL 2.1": "ZPL-2.1",
}
"""What stands in the field ``License``, where it is not SPDX, and what it means."""
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Those that name one licence; "BSD License" may be any of several."""
_READ = {
    "boolean-py": "BSD-2-Clause",
    "ciw": "MIT",
    "colorama": "BSD-3-Clause",
    "cyclonedx-python-lib": "Apache-2.0",
    "defusedxml": "PSF-2.0",
    "grafana-dashboard-builder": "Apache-2.0",
    "hatchling": "MIT",
    "httpx2-jsfetch": "BSD-3-Clause",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "license-expression": "Apache-2.0",
    "packageurl-python": "MIT",
    "promql-parser": "MIT",
    "py-serializable": "Apache-2.0",
    "pyproject-hooks": "MIT",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "tomlkit": "MIT",
    "trove-classifiers": "Apache-2.0",
    "tzdata": "Apache-2.0",
    "build": "MIT",
    "uv": "MIT OR Apache-2.0",
}
"""Read in the licence file of the distribution, or in the metadata of one that a test environment does not have."""
_PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "PSF-2.0", "Zlib")
) | {"ZPL-2.1"}
"""Licences that ask for no more than that they and the names of the authors are kept."""
_RESTRICTED = {"MPL-2.0": "changes to its own files have to be published under it; what uses it does not"}
_PURPOSES = {
    "runtime": "What an install brings",
    "image": "What the container image brings beside",
    "dev": "What checks and tests it",
    "build": "What builds it",
    "dashboards": "What makes the dashboards",
    "lock": "What writes the lock files",
    "sbom": "What writes the bill of materials",
}
_HEAD = """\
# Licences of others

kuberay-advisor itself is under Apache-2.0. This page lists the licence of everything that a lock file pins, as SPDX
expressions; the versions are those of `requirements/*.txt`. The first lists are what an install brings, what the pages
contain and what the container image has beside; the others are used by developers and are part of nothing that is
published. In the last column stands what a licence asks for beyond keeping its text and its authors' names. `make sbom`
writes the first two as CycloneDX, with versions, digests and who needs whom."""
_NPM = ROOT / "tests" / "browser" / "package-lock.json"


def installed(folders: list[str] | None = None) -> Installed:
    """The distributions of this environment, or of the given folders of packages."""
    found = importlib.metadata.distributions() if folders is None else importlib.metadata.distributions(path=folders)
    return {normal(one.name): one for one in found}


def licence_of(name: str, environment: Installed) -> tuple[str, bool]:
    """The SPDX expression for a distribution, and whether its own metadata says so; "" where nothing does."""
    declared = _declared(environment[name].metadata) if name in environment else ""
    return (declared, True) if declared else (_READ.get(name, ""), False)


def _declared(metadata: importlib.metadata.PackageMetadata) -> str:
    values = metadata.json
    for field in ("license_expression", "license"):
        lines = str(values.get(field) or "").strip().splitlines()
        first = lines[0].strip() if lines else ""
        text = _WORDS.get(first, first)
        if _is_spdx(text):
            return text
    named = {_CLASSIFIERS.get(one, "") for one in metadata.get_all("Classifier") or [] if "License ::" in one}
    # Several, or one that the table lacks, have to be read.
    return named.pop() if len(named) == 1 else ""


def _is_spdx(text: str) -> bool:
    return bool(text) and all(one in _PERMISSIVE or one in _RESTRICTED for one in _licences(text))


def _licences(expression: str) -> list[str]:
    """The licences in an expression; parentheses do not change which there are."""
    return re.split(r" (?:AND|OR|WITH) ", expression.replace("(", "").replace(")", ""))


def restrictions(expression: str) -> list[str]:
    """The licences of an expression that are not permissive, of which an alternative does not free; usually none."""
    parts = re.split(r" AND ", expression)
    return [part for part in parts if not any(one in _PERMISSIVE for one in _licences(part))]


def packages() -> Iterator[tuple[str, str, str]]:
    """Name, version and licence of each package of npm: one is part of the pages, the other tests them."""
    for path, entry in json.loads(_NPM.read_text(encoding="utf-8"))["packages"].items():
        if path:
            yield path.rpartition("/")[2], entry["version"], entry["license"]


def page(environment: Installed | None = None) -> str:
    """The text of ``docs/licences.md``.

    Raises:
        LookupError: a licence is not known; read it and name it in this module.
    """
    known = installed() if environment is None else environment
    parts = [_HEAD]
    files = {path.stem: path for path in lock_files()}
    order = [*_PURPOSES, *sorted(files.keys() - _PURPOSES.keys())]
    for stem in order:
        before = {pin.name for pin in pins(files["runtime"])} if stem != "runtime" else set()
        names = sorted({pin.name for pin in pins(files[stem])} - before)
        rows = [(f"`{name}`", _known(name, known)) for name in names]
        parts.append(_table(f"{_PURPOSES.get(stem, 'Further')}: `requirements/{stem}.txt`", rows))
        if stem == "runtime":
            vendored = [(f"**{name}**", licence) for name, _, licence in packages() if _is_vendored(name)]
            parts.append(_table("Part of the pages: `advisor/web/static/vendor`", vendored))
    others = [(f"**{name}**", licence) for name, _, licence in packages() if not _is_vendored(name)]
    parts.append(_table("What tests the pages: `tests/browser/package-lock.json`", others))
    return "\n\n".join(parts) + "\n"


def _known(name: str, environment: Installed) -> str:
    licence, _ = licence_of(name, environment)
    if not licence:
        raise LookupError(f"{name}: its licence is not known; read it and name it in scripts/licences.py")
    return licence


def _is_vendored(name: str) -> bool:
    return (ROOT / "advisor" / "web" / "static" / "vendor" / name).is_dir()


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {name} | {licence} | {_asks(licence)} |" for name, licence in rows]
    return "\n".join((f"## {title}", "", "| distribution | licence | asks for more |", "| --- | --- | --- |", *lines))


def _asks(licence: str) -> str:
    return "; ".join(f"**{one}**: {_RESTRICTED[one]}" for one in restrictions(licence))
