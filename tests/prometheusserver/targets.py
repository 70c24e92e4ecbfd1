"""Labels that a scrape adds to every series, written into OpenMetrics text as it streams by."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["OnClash", "Target", "target", "with_target"]

OnClash = Literal["rename", "keep", "replace"]

_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*,?\s*')
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Target:
    """Labels that series get, and what happens to a series that has one of them.

    ``on_clash``: ``rename`` keeps the series' own as ``exported_NAME``, as Prometheus does by default; ``keep`` keeps
    the series' own alone, as ``honor_labels`` does and as external labels do; ``replace`` drops the series' own. Series
    whose names begin with one of ``leave`` stay as they are: those that come from another target.
    """

    labels: tuple[tuple[str, str], ...]
    on_clash: OnClash = "rename"
    leave: tuple[str, ...] = ()


def target(labels: Mapping[str, str], on_clash: OnClash = "rename", leave: Iterable[str] = ()) -> Target:
    """A target from labels by name."""
    return Target(tuple(labels.items()), on_clash, tuple(leave))


def with_target(pieces: Iterable[str], added: Target) -> Iterator[str]:
    """The same samples with the target's labels; pieces are whole lines, and so are those that come out.

    Raises:
        ValueError: a line is no sample with classic names.
    """
    # The lines of a series follow each other, so one is remembered.
    before = after = "\n"
    for piece in pieces:
        for line in piece.splitlines(keepends=True):
            if line.startswith("#") or not line.strip():
                yield line
                continue
            if not line.startswith(before):
                before, after = _series(line), _changed(_series(line), added)
            yield after + line[len(before) :]


def _series(line: str) -> str:
    """Name, labels and the blank after them."""
    name = _NAME.match(line)
    if name is None:
        raise ValueError(f"no sample: {line.rstrip()}")
    end = name.end()
    if line[end : end + 1] == "{":
        end += 1
        while (label := _LABEL.match(line, end)) is not None:
            end = label.end()
        if line[end : end + 1] != "}":
            raise ValueError(f"labels do not end: {line.rstrip()}")
        end += 1
    if line[end : end + 1] != " ":
        raise ValueError(f"no value: {line.rstrip()}")
    return line[: end + 1]


def _changed(series: str, added: Target) -> str:
    if series.startswith(added.leave):
        return series
    name, _, rest = series.rstrip(" }").partition("{")
    own: dict[str, str] = dict(_LABEL.findall(rest))
    new = {label: value.translate(_ESCAPES) for label, value in added.labels}
    if added.on_clash == "rename":
        for clash in [label for label in own if label in new]:
            free = f"exported_{clash}"
            while free in own or free in new:
                free = f"exported_{free}"
            own[free] = own.pop(clash)
        labels = own | new
    else:
        labels = own | new if added.on_clash == "replace" else new | own
    text = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{text}}} "
