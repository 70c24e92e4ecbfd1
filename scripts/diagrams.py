"""The diagrams of docs/concepts.md, as SVG: boxes, arrows and words, with a title and a description for screen readers.

``python -m scripts.generate_docs`` writes them to docs/diagrams. Each has a background of its own, so that it reads in
light and dark alike.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

__all__ = ["diagrams"]

_INK: Final = "#1f2933"
_SOFT: Final = "#52606d"
_PAPER: Final = "#fbfbf8"
_FILLS: Final = {"plain": "#ffffff", "queue": "#e3effa", "work": "#e4f3e6", "time": "#fdf1dc", "bad": "#fbe4e0"}
_STROKES: Final = {"plain": "#7b8794", "queue": "#2f6fab", "work": "#2d7d3c", "time": "#a86a00", "bad": "#b23a26"}
_METRIC: Final = "#6b2fa0"


def diagrams() -> Iterator[tuple[str, str]]:
    """Path below the root, and text, of each."""
    for name, draw in (("queue", _queue), ("journey", _journey), ("bucket", _bucket), ("decision", _decision)):
        yield f"docs/diagrams/{name}.svg", draw()


class _Drawing:
    """One picture in pixels, from the top left."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self._size = width, height
        self._about = title, description
        self._parts: list[str] = []

    def box(self, place: tuple[int, int, int, int], words: Sequence[str], kind: str = "plain") -> None:
        """A box at left, top, width, height with lines of words in its middle; the first one is strong."""
        left, top, width, height = place
        self._parts.append(
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="{_FILLS[kind]}" '
            f'stroke="{_STROKES[kind]}" stroke-width="1.5"/>'
        )
        first = top + height / 2 - (len(words) - 1) * 9 + 5
        for number, line in enumerate(words):
            self.words((left + width / 2, first + 18 * number), line, strong=number == 0, middle=True)

    def words(
        self, at: tuple[float, float], text: str, *, strong: bool = False, middle: bool = False, colour: str = ""
    ) -> None:
        """A line of words, from its left or around its middle."""
        size, weight = (14, ' font-weight="600"') if strong else (13, "")
        anchor = ' text-anchor="middle"' if middle else ""
        fill = colour or (_INK if strong else _SOFT)
        self._parts.append(
            f'<text x="{at[0]:g}" y="{at[1]:g}" font-size="{size}"{weight}{anchor} fill="{fill}">{escape(text)}</text>'
        )

    def series(self, at: tuple[float, float], *names: str, middle: bool = False) -> None:
        """Names of series, in the colour that is theirs."""
        anchor = ' text-anchor="middle"' if middle else ""
        for number, name in enumerate(names):
            self._parts.append(
                f'<text x="{at[0]:g}" y="{at[1] + 16 * number:g}" font-size="12"{anchor} fill="{_METRIC}" '
                f'font-family="ui-monospace, monospace">{escape(name)}</text>'
            )

    def arrow(self, *points: tuple[int, int], dashed: bool = False) -> None:
        """A line through points, with a head at the last."""
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<path d="{path}" fill="none" stroke="{_INK}" stroke-width="1.5"{dash} marker-end="url(#head)"/>'
        )

    def line(self, begin: tuple[int, int], end: tuple[int, int], colour: str = _STROKES["plain"]) -> None:
        """A thin line without a head."""
        self._parts.append(
            f'<path d="M{begin[0]} {begin[1]} L{end[0]} {end[1]}" stroke="{colour}" stroke-width="1.2" fill="none"/>'
        )

    def dot(self, x: int, y: int, kind: str) -> None:
        """A small round thing: a key, or a token."""
        self._parts.append(
            f'<circle cx="{x}" cy="{y}" r="7" fill="{_FILLS[kind]}" stroke="{_STROKES[kind]}" stroke-width="1.5"/>'
        )

    def text(self) -> str:
        """The whole file."""
        (width, height), (title, description) = self._size, self._about
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"',
            'role="img" aria-labelledby="title description" font-family="system-ui, sans-serif">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"',
            f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{_INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="8" fill="{_PAPER}"/>',
        )
        return "\n".join((*head, *self._parts, "</svg>")) + "\n"


def _queue() -> str:
    drawing = _Drawing(
        900,
        470,
        "The work queue of one controller",
        "Events are reduced to keys. A key is ready, ordered by priority and then by age, or waits for a timer. "
        "Workers take ready keys from the front; a key in work is locked, and one that is added meanwhile stays ready "
        "until its own reconcile ends. Results lead back: a timer, a retry after an error, or nothing.",
    )
    drawing.box((20, 60, 150, 96), ("watch events", "changed: priority 0", "first list, resync: -100"))
    drawing.arrow((170, 108), (236, 108))
    drawing.words((203, 98), "key", middle=True)
    drawing.box((240, 24, 330, 200), ("",), "queue")
    drawing.words((256, 50), "ready: by priority, then by age", strong=True)
    for row, (name, keys) in enumerate((("0", 3), ("-100", 5))):
        top = 88 + 46 * row
        drawing.words((258, top + 5), name)
        for number in range(keys):
            drawing.dot(545 - 40 * number, top, "queue")
    drawing.words((258, 178), "The same key once: adding it again merges.")
    drawing.words((258, 198), "Locked keys stay in line and are passed over.")
    drawing.box((240, 268, 330, 76), ("waiting for a timer", "by time; no gauge counts these keys"), "time")
    drawing.arrow((300, 268), (300, 228))
    drawing.words((308, 252), "due, or added without a delay")
    drawing.arrow((570, 108), (646, 108))
    drawing.words((608, 98), "first", middle=True)
    drawing.box((650, 24, 230, 200), ("",), "work")
    drawing.words((660, 50), "workers, --reconcile-concurrency")
    for number in range(3):
        drawing.box((670, 66 + 50 * number, 190, 40), (f"worker {number + 1}: a locked key",), "work")
    drawing.arrow((765, 224), (765, 306), (574, 306))
    drawing.words((590, 298), "RequeueAfter, or error:")
    drawing.words((590, 324), "5 ms, doubled each time")
    drawing.arrow((840, 224), (840, 376))
    drawing.words((800, 394), "done: the key is unlocked", middle=True)
    drawing.line((20, 412), (880, 412))
    drawing.words((20, 438), "Counted:", strong=True)
    drawing.series(
        (110, 434), "workqueue_depth: ready, locked ones too", "workqueue_retries_total: each add with a delay"
    )
    drawing.series(
        (470, 434),
        "controller_runtime_active_workers: in work",
        "controller_runtime_max_concurrent_reconciles: workers",
    )
    return drawing.text()


def _journey() -> str:
    drawing = _Drawing(
        900,
        330,
        "One key from its event to the end of its reconcile, and which series measures which part",
        "An event adds the key. Until a worker takes it, it is the queue wait. Then the reconcile: reads from the "
        "cache cost nothing, and each write first waits for a token and then for the API server. The exported "
        "request duration holds both. The work duration runs from hand-off to done.",
    )
    drawing.box((20, 70, 100, 56), ("event", "adds the key"))
    drawing.box((140, 70, 240, 56), ("ready in the queue", "others go first"), "queue")
    drawing.box((380, 70, 70, 56), ("read", "cache"), "work")
    drawing.box((450, 70, 110, 56), ("token", "limiter wait"), "time")
    drawing.box((560, 70, 120, 56), ("API server", "the write"), "work")
    drawing.box((680, 70, 60, 56), ("CPU", ""), "work")
    drawing.box((770, 70, 110, 56), ("done", "key unlocked"))
    drawing.arrow((120, 98), (138, 98))
    drawing.arrow((740, 98), (768, 98))
    drawing.words((140, 50), "no worker yet", strong=True)
    drawing.words((380, 50), "a worker is busy with it, asleep or not", strong=True)
    for top, left, right, names in (
        (150, 140, 376, ("workqueue_queue_duration_seconds",)),
        (150, 384, 740, ("workqueue_work_duration_seconds", "controller_runtime_reconcile_time_seconds")),
        (214, 450, 560, ("rest_client_rate_limiter_duration_seconds",)),
        (258, 450, 680, ("rest_client_request_duration_seconds, which holds both",)),
    ):
        drawing.line((left, top), (right, top), _METRIC)
        drawing.line((left, top - 6), (left, top + 6), _METRIC)
        drawing.line((right, top - 6), (right, top + 6), _METRIC)
        drawing.series((left, top + 18), *names)
    drawing.words(
        (20, 308),
        "The client's series hold requests of other callers too (events, the lease); calls to dashboards are in none.",
    )
    return drawing.text()


def _bucket() -> str:
    drawing = _Drawing(
        900,
        300,
        "The token bucket of the client: QPS fills it, Burst is its size, and each kind of object has its own",
        "Tokens drop into a bucket at QPS a second, up to Burst. Each request takes one. While it holds tokens, "
        "requests go out at once; when it is empty, they go out at QPS, and workers sleep meanwhile. Pods, Services "
        "and statuses of RayClusters have a bucket each.",
    )
    drawing.words((40, 34), "QPS: so many tokens a second", strong=True)
    for number in range(4):
        drawing.dot(180, 52 + 22 * number, "time")
    drawing.line((110, 130), (110, 230))
    drawing.line((110, 230), (250, 230))
    drawing.line((250, 230), (250, 130))
    for row in range(3):
        for number in range(5):
            drawing.dot(134 + 23 * number, 216 - 24 * row, "time")
    drawing.words((180, 256), "Burst: so many fit in", strong=True, middle=True)
    drawing.words((180, 278), "what is more is lost", middle=True)
    drawing.arrow((256, 190), (330, 190))
    drawing.words((293, 180), "one each", middle=True)
    drawing.box((334, 162, 130, 56), ("a request", "of a worker"), "work")
    drawing.arrow((464, 190), (520, 190))
    drawing.box((524, 162, 110, 56), ("API server",))
    drawing.box((334, 40, 300, 76), ("bucket empty: the worker sleeps", "and is busy by every gauge"), "bad")
    drawing.arrow((400, 162), (400, 120), dashed=True)
    drawing.words((690, 50), "One bucket for each kind:", strong=True)
    for number, (kind, tokens, state) in enumerate(
        (("Pods", 0, "empty"), ("RayClusters", 3, "some"), ("Services", 6, "full"), ("Events", 5, "hold no worker"))
    ):
        top = 84 + 46 * number
        drawing.words((690, top + 5), kind)
        for token in range(tokens):
            drawing.dot(784 + 12 * token, top, "time")
        drawing.words((690, top + 21), state)
    drawing.words((334, 256), "A request that has to wait longer than a second")
    drawing.words((334, 274), "writes a line into the log; shorter waits do not.")
    return drawing.text()


def _decision() -> str:
    drawing = _Drawing(
        900,
        660,
        "Is more concurrency the answer? Only if each of these questions rules nothing else in",
        "First whether anybody waits, then whether the workers are busy, then where their time goes: one key, the "
        "client's limiter, the API server, the CPU quota, errors, external calls. Only if all of these are ruled out "
        "are the workers too few, and concurrency is raised.",
    )
    questions: tuple[tuple[str, str, str, str, str], ...] = (
        ("Do keys wait, or clusters?", "workqueue_queue_duration_seconds", "no", "healthy: keep all", "plain"),
        ("Are all workers busy?", "active_workers, depth", "no", "one hot key, a timer, Pods that pend: keep", "bad"),
        ("Is it mainly one key?", "the log, or the sidecar", "yes", "hot-key: find its writer", "bad"),
        (
            "Do requests wait for tokens?",
            "rest_client_rate_limiter_duration_seconds",
            "yes",
            "client-throttled: raise QPS and Burst",
            "time",
        ),
        (
            "Does each write take long?",
            "request duration less limiter wait; 429",
            "yes",
            "api-server-slow: keep, look there",
            "bad",
        ),
        (
            "Does the CPU quota stop it?",
            "container_cpu_cfs_throttled_periods_total",
            "yes",
            "cpu-limited: raise the CPU limit",
            "time",
        ),
        ("Is work done again?", "reconcile_errors_total, 409", "yes", "error-retries, write-conflicts: mend", "bad"),
        (
            "Do workers wait for others?",
            "busy time that nothing else explains",
            "yes",
            "external-call-slow: raise, mend heads",
            "work",
        ),
    )
    for number, (question, where, answer, then, kind) in enumerate(questions):
        top = 20 + 70 * number
        drawing.box((20, top, 420, 50), (question, ""))
        drawing.series((230, top + 38), where, middle=True)
        drawing.arrow((440, top + 25), (526, top + 25))
        drawing.words((483, top + 18), answer, middle=True)
        drawing.box((530, top, 350, 50), (then,), kind)
        drawing.arrow((230, top + 50), (230, top + 70))
        drawing.words((240, top + 65), "yes" if answer == "no" else "no")
    last = "workers-saturated: raise concurrency, at most four times in one step, and measure again"
    drawing.box((20, 580, 860, 50), (last,), "work")
    return drawing.text()
