"""The one card of a flow run, as Markdown: pure functions of what is known.

Its links stand at its top, for a page shows the beginning; Prefect's names and links of
the task runs that were hit follow the verdict.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from dask_blackbox.attach import RunCard
from dask_blackbox.overview import Overview, TaskCost
from dask_blackbox.protocol.messages import Progress
from dask_blackbox.report import markdown

from prefect_dask_blackbox.stalls import stall_words
from prefect_dask_blackbox.submitted import with_names

__all__ = ["TaskLine", "card_page", "live_page", "table_cell"]

_LONGEST = 90_000
"""Characters; lists of artifacts carry their data."""
_MOST_LINES = 20
_LARGEST_PICTURE = 45_000
"""Bytes; Base64 makes a third more of them."""
_LINKS = {
    "report": "Report",
    "performance_report": "Dask's performance report",
    "dashboard": "Dask dashboard",
    "recording": "Recording",
}
_LONGEST_KEY = 60
_OPENS = re.compile(r"https?://[^\s<>]+")


@dataclass(frozen=True, kw_only=True)
class TaskLine:
    """A task run that was hit.

    Attributes:
        name: Its name in Prefect.
        url: Of its page.
        state: What became of it.
        parameters: What it was called with, in short.
        why: Why, in a few words.
    """

    name: str
    url: str = ""
    state: str = ""
    parameters: str = ""
    why: str = ""


def card_page(
    card: RunCard,
    tasks: Sequence[TaskLine] = (),
    *,
    attempts: tuple[int, int] | None = None,
    logs: int = 0,
    names: Mapping[str, str] | None = None,
    overview: Overview | None = None,
    runs: Mapping[str, TaskLine] | None = None,
) -> str:
    """Return the card of a flow run that has ended.

    Args:
        card: The card.
        tasks: The task runs that were hit.
        attempts: Which attempt of how many, where Prefect retries the flow.
        logs: How many lines were put into the flow run's log.
        names: Prefect's names of tasks, by key.
        overview: The extremes of the run and its picture.
        runs: The task runs that it names, by key.
    """
    bare = msgspec.structs.replace(card, links={})
    head, _, rest = markdown(bare).partition("\n\n")
    parts = [head, _links(card.links)]
    if attempts is not None and attempts[1] > 1:
        parts.append(f"Attempt {attempts[0]} of {attempts[1]} of this flow run.")
    # The second line says what Prefect's page says already.
    _, _, rest = rest.partition("\n\n")
    if logs:
        parts.append(
            f"{logs} lines of Dask's scheduler, nannies and dead workers are in the log "
            "of this flow run."
        )
    verdict, mark, more = rest.partition("\n### In numbers")
    parts += [verdict.strip(), _table(tasks)]
    before = _cut(with_names(_joined(parts), names or {}))
    # Not cut, and not searched for names: a picture is text without words.
    shown = [] if overview is None else _overview(overview, runs or {})
    after = with_names(f"{mark}{more}".strip(), names or {})
    room = max(0, _LONGEST - len(before))
    return _joined([before, *shown, after[:room]]) + "\n"


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _overview(overview: Overview, runs: Mapping[str, TaskLine]) -> list[str]:
    """Return the parts that show the extremes of a run, and its picture."""
    parts = []
    if overview.slowest:
        head = ("Task", "Took", "Executions", "Parameters")
        rows = [
            (_linked(run), _took(each), f"{each.executions:,}", _parameters(run))
            for each, run in _known(overview.slowest, runs)
        ]
        parts += ["### Slowest tasks", _aligned(head, rows)]
    if overview.largest:
        head = ("Task", "Result", "Took", "Parameters")
        rows = [
            (_linked(run), _size(each.nbytes or 0), _took(each), _parameters(run))
            for each, run in _known(overview.largest, runs)
        ]
        parts += ["### Largest results", _aligned(head, rows)]
    if 0 < len(overview.picture) <= _LARGEST_PICTURE:
        image = base64.b64encode(overview.picture).decode()
        parts.append(f"![Timeline of the run](data:image/png;base64,{image})")
    return parts


def _known(
    costs: Sequence[TaskCost], runs: Mapping[str, TaskLine]
) -> Iterator[tuple[TaskCost, TaskLine]]:
    for each in costs:
        yield each, runs.get(each.key) or TaskLine(name=each.key[:_LONGEST_KEY])


def _took(cost: TaskCost) -> str:
    if cost.seconds < 1:
        return f"{cost.seconds:.2g} s"
    if cost.seconds < 10:  # noqa: PLR2004 - then tenths say nothing
        return f"{cost.seconds:.1f} s"
    return _duration(cost.seconds)


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose two columns in the middle are numbers."""
    lines = [head, ("---", "--:", "--:", "---"), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def live_page(
    card: RunCard,
    progress: Progress | None,
    *,
    submitted: int,
    done: int,
    names: Mapping[str, str],
    seconds: float,
) -> str:
    """Return the card of a flow run that goes on.

    Args:
        card: What is known so far.
        progress: How Dask gets on, by the recorder; None: nothing was heard yet.
        submitted: Task runs that the flow has submitted.
        done: How many of them have ended.
        names: Prefect's names of tasks, by key.
        seconds: Since it began.
    """
    parts = [f"## ▶ Running for {_duration(seconds)}", _links(card.links)]
    if not card.completeness.get("recorded", True):
        reason = card.completeness.get("reason", "the reason is unknown")
        parts.append(f"> **Not recorded: {_plain(str(reason))}**")
    if progress is not None:
        if progress.stall is not None:
            parts.append(f"> **{_plain(stall_words(progress.stall, names))}**")
        parts.append(_progress(progress, submitted, done))
    return "\n\n".join(part for part in parts if part) + "\n"


def _progress(progress: Progress, submitted: int, done: int) -> str:
    rows = []
    if submitted:
        rows.append(("Task runs", f"{done:,} of {submitted:,} have ended"))
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    rate = f", {progress.rate:.2g} a second" if progress.rate else ""
    rows.append(("Dask tasks", f"{progress.finished:,} done{failed}{rate}"))
    rows.append(("Workers", f"{progress.workers:,}"))
    if progress.memory:
        limit = f" of {_size(progress.memory_limit)}" if progress.memory_limit else ""
        rows.append(("Memory", f"{_size(progress.memory)}{limit}"))
    lines = ["| Measure | Value |", "| --- | --- |"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in rows])


def _links(links: Mapping[str, str]) -> str:
    said = []
    for name, title in _LINKS.items():
        address = links.get(name, "")
        if _OPENS.fullmatch(address):
            said.append(f"[{title}](<{address}>)")
        elif address and name == "recording":
            # A browser opens neither s3:// nor a folder from Prefect's page.
            said.append(f"{title}: `{address.replace('`', '')}`")
    return " · ".join(said)


def _table(tasks: Sequence[TaskLine]) -> str:
    if not tasks:
        return ""
    lines = [
        "### Task runs that were hit",
        "",
        "| Task run | State | Parameters | Why |",
        "| --- | --- | --- | --- |",
    ]
    for task in tasks[:_MOST_LINES]:
        cells = (_linked(task), task.state, _parameters(task), _plain(task.why))
        lines.append(f"| {' | '.join(cells)} |")
    if len(tasks) > _MOST_LINES:
        lines += ["", f"+{len(tasks) - _MOST_LINES} more"]
    return "\n".join(lines)


def _linked(task: TaskLine) -> str:
    name = _plain(task.name)
    return f"[{name}](<{task.url}>)" if _OPENS.fullmatch(task.url) else name


def _parameters(task: TaskLine) -> str:
    code = table_cell(task.parameters).replace("`", "'")
    return f"`{code}`" if code else ""


def table_cell(text: str) -> str:
    """Return text that stays within its cell, and within its code span."""
    return " ".join(text.split()).replace("|", "\\|")


_MARKUP = re.compile(r"([\\`*\[\]|~$<>&_#])")


def _plain(text: str) -> str:
    """Return text on one line that renders as itself."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _duration(seconds: float) -> str:
    if seconds < 100:  # noqa: PLR2004 - then minutes say more
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"  # noqa: PLR2004


def _size(value: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - the step of these units
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def _cut(data: str) -> str:
    if len(data) <= _LONGEST:
        return data
    return data[:_LONGEST] + "\n\n… the rest is in the report.\n"
