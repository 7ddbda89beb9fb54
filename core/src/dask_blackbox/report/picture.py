"""The run in one picture: what each worker did, its memory against its limit, its deaths.

For places that show images and no pages: chat, artifacts, summaries of CI jobs, paper.  A
host's page shows it beside the card, with the slowest and largest tasks (`overview_of`).
"""

from __future__ import annotations

import io
from functools import cache
from html import escape
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from dask_blackbox.analyse.facts.executions import (
    cached_keys_of,
    executions_of,
    not_run_keys_of,
)
from dask_blackbox.analyse.standstills import hang_of
from dask_blackbox.card_data import CardData, Overview, TaskCost
from dask_blackbox.formatting import clock, exact_size, plain
from dask_blackbox.report.axis import Axis, axis_of
from dask_blackbox.report.curves import Curve, curves_of
from dask_blackbox.report.workers import (
    WorkerProcess,
    process_numbers,
    worker_processes,
)
from dask_blackbox.run_tables import RunTables

PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#b5a642", "#a6761d",
)  # fmt: skip
_OTHER = "#9a9a96"
_INK, _SOFT, _LANE, _LINE, _BAD = "#1c1c1a", "#5d5d57", "#ecebe4", "#dddcd4", "#b42318"
_WIDTH, _LEFT, _RIGHT = 1000, 130, 12
_MOST_ROWS = 60
_MOST_CURVES = 200
_NAMED = 6
_TALLEST, _WORK, _MEMORY = 16, 320, 110
_LEVELS = 24
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)  # fmt: skip


def picture_svg(run: RunTables, card: CardData) -> str:
    """Return the picture of a run as SVG."""
    return _as_svg(_picture(run, card))


def load_image_library() -> None:
    """Load what `picture_png` needs, which takes as long as the picture."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: F401

    Image.preinit()  # the formats of files


def picture_png(run: RunTables, card: CardData, *, scale: int = 2) -> bytes:
    """Return the picture of a run as PNG."""
    return _as_png(_picture(run, card), scale=scale)


def coverage(
    begin: ArrayLike, end: ArrayLike, edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for how long spans cover each of the steps between edges, in the same unit.

    However many spans there are, each counts with exactly the part that lies in a step.
    """
    return np.diff(_covered(begin, edges) - _covered(end, edges))


def _covered(moments: ArrayLike, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the time from each moment to each edge after it."""
    ordered = np.sort(np.asarray(moments, dtype=np.float64))
    before = np.searchsorted(ordered, edges)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    covered: NDArray[np.float64] = edges * before - sums[before]
    return covered


class _Rows(NamedTuple):
    """Which workers are drawn where: numbers of their processes, and pixels."""

    scale: _Scale
    processes: list[WorkerProcess]
    workers: list[list[int]]
    top: int
    height: int


class _Scale:
    """Where moments lie: seconds since the axis began to pixels."""

    def __init__(self, axis: Axis) -> None:
        self.axis, self.width = axis, _WIDTH - _LEFT - _RIGHT
        self.edges = np.linspace(0.0, axis.length, self.width + 1)

    def x(self, at: float) -> float:
        return _LEFT + (at - self.axis.start) / self.axis.length * self.width


def _picture(run: RunTables, card: CardData) -> Drawing:
    axis, processes = axis_of(run), worker_processes(run)
    scale = _Scale(axis)
    workers = _rows_of(processes)
    height = max(3, min(_TALLEST, _WORK // max(1, len(workers))))
    curves = curves_of(run, axis, processes).workers[:_MOST_CURVES]
    work_top = 64
    memory_top = work_top + height * len(workers) + 22
    bottom = memory_top + (_MEMORY + 8 if curves else 0)
    title = f"{card.state}: {plain(card.headline)}"
    drawing = Drawing(_WIDTH, bottom + 24, title)
    drawing.text(_RIGHT, 16, _cut(title, 110), _BAD if card.verdict else _INK, size=15)
    drawing.text(
        _RIGHT, 36, _cut(f"{plain(card.job)} · {plain(card.run_id)}", 60), _SOFT
    )
    _ticks(drawing, scale, work_top - 6, bottom)
    prefixes = _work(drawing, run, _Rows(scale, processes, workers, work_top, height))
    _legend(drawing, prefixes)
    if curves:
        _memory(drawing, curves, scale, memory_top)
    return drawing


def _rows_of(processes: list[WorkerProcess]) -> list[list[int]]:
    """Return the numbers of the processes of each row, deaths first where there are too many."""
    own: dict[str, list[int]] = {}
    for number, process in enumerate(processes):
        own.setdefault(process.worker, []).append(number)
    workers = [*own.values()]
    if len(workers) > _MOST_ROWS:
        died = [any(processes[n].fate == "died" for n in worker) for worker in workers]
        order = sorted(range(len(workers)), key=lambda n: (not died[n], n))[:_MOST_ROWS]
        workers = [workers[n] for n in sorted(order)]
    return workers


def _work(drawing: Drawing, run: RunTables, rows: _Rows) -> list[str]:
    """Draw a row for each worker; return the prefixes that have a colour."""
    scale, processes, workers, top, height = rows
    table = _placed(run, processes, scale.axis)
    totals = table.group_by("prefix", maintain_order=True).agg(
        (pl.col("stop") - pl.col("begin")).sum()
    )
    totals = totals.sort("stop", "prefix", descending=[True, False])
    prefixes = [str(name) for name in totals["prefix"].head(len(PALETTE))]
    tall = height - (2 if height > 6 else 0)  # noqa: PLR2004
    for place, worker in enumerate(workers):
        y = top + place * height
        of_row = [processes[number] for number in worker]
        for process in of_row:
            a = scale.x(max(process.joined or 0.0, scale.axis.start))
            b = scale.x(min(process.left or scale.axis.stop, scale.axis.stop))
            drawing.box(a, y, max(0.0, b - a), tall, _LANE)
        own = table.filter(pl.col("process").is_in(worker))
        threads = max((process.nthreads or 1) for process in of_row)
        _row(drawing, own, prefixes, scale, (y, tall, threads))
        for process in of_row:
            if process.fate == "died" and process.left:
                drawing.cross(scale.x(process.left), y + tall / 2, _BAD)
        if height >= 9 or place % (12 // height + 1) == 0:  # noqa: PLR2004
            _label(drawing, of_row, y + tall / 2)
    return prefixes


def _label(drawing: Drawing, of_row: list[WorkerProcess], y: float) -> None:
    """Write the name of a worker beside its row, in red if a process of it died."""
    died = any(process.fate == "died" for process in of_row)
    label, colour = _cut(plain(of_row[0].label), 18), _BAD if died else _SOFT
    drawing.text(_LEFT - 6, y, label, colour, size=11, anchor="end")


def _placed(run: RunTables, processes: list[WorkerProcess], axis: Axis) -> pl.DataFrame:
    executions = executions_of(run).select("key", "prefix", "worker", "begin", "stop")
    executions = pl.concat([executions, _unfinished(run, executions)])
    return (
        executions.with_columns(process_numbers(executions, processes))
        .filter(pl.col("begin").is_not_null())
        .select(
            "prefix", "process",
            (pl.col("begin").dt.epoch("us") / 1e6 - axis.start).alias("begin"),
            (pl.col("stop").dt.epoch("us") / 1e6 - axis.start).alias("stop"),
        )
    )  # fmt: skip


def _unfinished(run: RunTables, executions: pl.DataFrame) -> pl.DataFrame:
    """Return what was executing when the run ended in a stall: it has no row of its own."""
    hang = hang_of(run)
    if hang is None:
        return executions.clear()
    end = hang.until
    later = executions.filter(pl.col("stop").dt.epoch("us") / 1e6 > hang.at)
    known = set(later["key"])
    rows = [
        (each.key, each.prefix, each.worker, end - each.executing_for, end)
        for each in hang.executing
        if each.executing_for is not None and each.key not in known
    ]
    columns = {"key": str, "prefix": str, "worker": str, "begin": float, "stop": float}
    moments = [
        pl.from_epoch((pl.col(name) * 1e6).cast(pl.Int64), time_unit="us")
        .dt.replace_time_zone("UTC")
        .alias(name)
        for name in ("begin", "stop")
    ]
    unfinished = pl.DataFrame(rows, schema=columns, orient="row").with_columns(moments)
    return unfinished.cast(executions.schema)


def _row(
    drawing: Drawing, own: pl.DataFrame, prefixes: list[str], scale: _Scale,
    place: tuple[int, int, int],
) -> None:  # fmt: skip
    """Draw what a worker did: each pixel as strong as its share of work."""
    y, tall, threads = place
    colours = np.array([_rgb(colour) for colour in (*PALETTE, _OTHER)])
    sums = np.zeros((len(colours), scale.width))
    other = ~pl.col("prefix").is_in(prefixes)
    for number, name in enumerate([*prefixes, None]):
        part = own.filter(other if name is None else pl.col("prefix") == name)
        row = len(PALETTE) if name is None else number
        sums[row] = coverage(part["begin"], part["stop"], scale.edges)
    sums /= scale.edges[1] - scale.edges[0]
    whole = sums.sum(axis=0)
    mixed = (sums.T @ colours) / np.maximum(whole, 1e-9)[:, None]
    share = np.ceil(np.clip(whole / threads, 0, 1) * _LEVELS) / _LEVELS
    mixed = (mixed // 8 * 8).astype(int)
    begin = 0
    for x in range(1, scale.width + 1):
        if (
            x < scale.width
            and share[x] == share[begin]
            and (mixed[x] == mixed[begin]).all()
        ):
            continue
        if share[begin] > 0:
            colour = "#{:02x}{:02x}{:02x}".format(*mixed[begin])
            drawing.box(
                _LEFT + begin, y, x - begin, tall, colour, opacity=float(share[begin])
            )
        begin = x


def _memory(drawing: Drawing, curves: list[Curve], scale: _Scale, top: int) -> None:
    limits = [curve.limit for curve in curves if curve.limit]
    peaks = [value for curve in curves for value in curve.memory if value is not None]
    most = max([*limits, *peaks], default=1.0) * 1.05
    floor = top + _MEMORY

    def y(value: float) -> float:
        return floor - value / most * (_MEMORY - 6)

    drawing.text(
        _LEFT - 6, y(most) + 6, exact_size(most * 2**20), _SOFT, size=11, anchor="end"
    )
    drawing.text(_LEFT - 6, floor - 6, "memory", _SOFT, size=11, anchor="end")
    for curve in sorted(curves, key=lambda each: each.died is not None):
        points = [
            (scale.x(scale.axis.start + at / 1e3), y(value))
            for at, value in zip(curve.at, curve.memory, strict=True)
            if value is not None and at >= 0
        ]
        drawing.line(points, _BAD if curve.died is not None else "#5b7f95", width=1.4)
        if curve.died is not None and points:
            drawing.cross(*points[-1], _BAD)
    for limit in sorted(set(limits))[:3]:
        x, end = float(_LEFT), _LEFT + scale.width
        while x < end:
            drawing.box(x, y(limit), min(6, end - x), 1, _BAD)
            x += 11
        drawing.text(
            _LEFT + 4, y(limit) + 9, f"limit {exact_size(limit * 2**20)}", _BAD, size=11
        )


def _ticks(drawing: Drawing, scale: _Scale, top: int, bottom: int) -> None:
    least = scale.axis.length / scale.width * 90
    step = next((each for each in _STEPS if each >= least), _STEPS[-1])
    at = -(-scale.axis.start // step) * step
    while at <= scale.axis.stop:
        x = scale.x(at)
        drawing.box(x, top, 1, bottom - top, _LINE)
        if _LEFT + 20 < x < _WIDTH - 40:
            text = clock(at) if step < 1 else clock(at).partition(".")[0]
            drawing.text(x, bottom + 12, text, _SOFT, size=11, anchor="middle")
        at += step


def _legend(drawing: Drawing, prefixes: list[str]) -> None:
    x = 420.0
    for colour, prefix in zip(PALETTE, prefixes[:_NAMED], strict=False):
        text = _cut(plain(prefix), 16)
        if x + 20 + 7 * len(text) > _WIDTH:
            return
        drawing.box(x, 31, 10, 10, colour)
        drawing.text(x + 14, 36, text, _SOFT, size=11)
        x += 26 + 6.6 * len(text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


_FONT = 'role="img" font-family="system-ui, Segoe UI, Roboto, DejaVu Sans, sans-serif"'
_ALMOST_WHITE = 250
_CAP = 0.75  # of a text's size: how high its letters are


class _Box(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    colour: str
    opacity: float = 1.0


class _Line(msgspec.Struct, frozen=True):
    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0


class _Text(msgspec.Struct, frozen=True):
    x: float
    y: float
    text: str
    colour: str
    size: float = 12.0
    anchor: str = "start"


class Drawing(msgspec.Struct):
    """Shapes in the order in which they are painted; the background is white.

    Attributes:
        width: Pixels.
        height: Pixels.
        title: What it shows, for who cannot see it.
    """

    width: int
    height: int
    title: str
    shapes: list[_Box | _Line | _Text] = msgspec.field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, colour: str,
        *, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """Add a filled rectangle."""
        self.shapes.append(_Box(x, y, width, height, colour, opacity))

    def line(
        self, points: list[tuple[float, float]], colour: str, *, width: float = 1.0
    ) -> None:
        """Add a line through points."""
        if len(points) > 1:
            self.shapes.append(_Line(tuple(points), colour, width))

    def cross(self, x: float, y: float, colour: str, *, radius: float = 4.0) -> None:
        """Add a cross."""
        r = radius
        self.line([(x - r, y - r), (x + r, y + r)], colour, width=2.2)
        self.line([(x - r, y + r), (x + r, y - r)], colour, width=2.2)

    def text(
        self, x: float, y: float, text: str, colour: str,
        *, size: float = 12.0, anchor: str = "start",
    ) -> None:  # fmt: skip
        """Add a text; `y` is its middle, `anchor` is start, middle or end."""
        self.shapes.append(_Text(x, y, text, colour, size, anchor))


def _as_svg(drawing: Drawing) -> str:
    """Return a drawing as a document that needs neither style nor font of its own."""
    size = f'width="{drawing.width}" height="{drawing.height}"'
    view = f'viewBox="0 0 {drawing.width} {drawing.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {_FONT}>',
        f"<title>{escape(drawing.title)}</title>",
        f'<rect {size} fill="#ffffff"/>',
        *map(_svg, drawing.shapes),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _svg(shape: _Box | _Line | _Text) -> str:
    if isinstance(shape, _Box):
        faint = f' fill-opacity="{shape.opacity:.3g}"' if shape.opacity < 1 else ""
        return (
            f'<rect x="{_short(shape.x)}" y="{_short(shape.y)}" '
            f'width="{_short(shape.width)}" height="{_short(shape.height)}" '
            f'fill="{shape.colour}"{faint}/>'
        )
    if isinstance(shape, _Line):
        points = " ".join(f"{_short(x)},{_short(y)}" for x, y in shape.points)
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_short(shape.width)}"/>'
        )
    return (
        f'<text x="{_short(shape.x)}" y="{_short(shape.y + shape.size * _CAP / 2)}" '
        f'font-size="{_short(shape.size)}" text-anchor="{shape.anchor}" '
        f'fill="{shape.colour}">{escape(shape.text)}</text>'
    )


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _as_png(drawing: Drawing, *, scale: int = 2) -> bytes:
    """Return a drawing as an image of `scale` times its size."""
    from PIL import Image, ImageDraw

    size = (drawing.width * scale, drawing.height * scale)
    image = Image.new("RGB", size, "#ffffff")
    pen = ImageDraw.Draw(image, "RGBA")
    for shape in drawing.shapes:
        _paint(pen, shape, scale)
    # The default method finds better colours for photographs, and takes eight times as long.
    few = image.quantize(256, Image.Quantize.FASTOCTREE)
    palette = few.getpalette() or []
    few.putpalette([255 if part >= _ALMOST_WHITE else part for part in palette])
    out = io.BytesIO()
    few.save(out, "PNG")
    return out.getvalue()


def _paint(pen: Any, shape: _Box | _Line | _Text, scale: int) -> None:
    if isinstance(shape, _Box):
        x, y = shape.x * scale, shape.y * scale
        right = max(x, x + shape.width * scale - 1)
        bottom = max(y, y + shape.height * scale - 1)
        pen.rectangle((x, y, right, bottom), _rgba(shape.colour, shape.opacity))
    elif isinstance(shape, _Line):
        points = [(x * scale, y * scale) for x, y in shape.points]
        pen.line(points, shape.colour, max(1, round(shape.width * scale)))
    else:
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[shape.anchor]
        place = (shape.x * scale, shape.y * scale)
        font = _font(round(shape.size * scale))
        pen.text(place, shape.text, shape.colour, font=font, anchor=anchor)


def _rgba(colour: str, opacity: float) -> tuple[int, int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue, round(255 * opacity)


@cache
def _font(size: int) -> object:
    from PIL import ImageFont

    return ImageFont.load_default(size)


_MOST = 5
_LARGE = 2**20


def overview_of(run: RunTables, card: CardData) -> Overview:
    """Return the overview of a run."""
    executions = executions_of(run)
    if not len(executions):
        return Overview()
    tasks = executions.group_by("key", maintain_order=True).agg(
        pl.col("seconds").max(), pl.col("nbytes").max(), pl.len()
    )
    computed = ~pl.col("key").is_in(list(cached_keys_of(run) | not_run_keys_of(run)))
    timed = tasks.filter(pl.col("seconds").is_not_null() & computed)
    large = tasks.filter(pl.col("nbytes") >= _LARGE)
    return Overview(
        slowest=_costs(timed.top_k(_MOST, by="seconds")),
        largest=_costs(large.top_k(_MOST, by="nbytes")),
        picture=picture_png(run, card, scale=1),
    )


def _costs(tasks: pl.DataFrame) -> tuple[TaskCost, ...]:
    return tuple(
        TaskCost(
            key=each["key"],
            seconds=float(each["seconds"] or 0.0),
            nbytes=None if each["nbytes"] is None else int(each["nbytes"]),
            executions=int(each["len"]),
        )
        for each in tasks.iter_rows(named=True)
    )
