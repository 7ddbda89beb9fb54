"""The one card of a flow run, as Markdown: pure functions of what is known.

Its links stand at its top, for a page shows the beginning; Prefect's names and links of
the affected task runs follow the verdict.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview, TaskCost, not_stored
from dask_blackbox.finding import CurrentState
from dask_blackbox.formatting import as_code, capital, plain
from dask_blackbox.patterns import bounded
from dask_blackbox.protocol.messages import Progress
from dask_blackbox.report import escaped, inline, markdown_parts

from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.stalls import stall_text
from prefect_dask_blackbox.submitted_tasks import shown_name, with_names

__all__ = [
    "Ended",
    "TaskLine",
    "attempt_line",
    "card_page",
    "ended_text",
    "linked_code",
    "live_line",
    "live_page",
    "table_cell",
    "with_task_names",
]

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
_NOTHING_SUBMITTED = "this flow run has submitted no tasks so far"
_BAR, _COURSE = 30, 40
"""Characters of the bar of what is done, and of the course of memory."""
_HEIGHTS = "▁▂▃▄▅▆▇█"
_HASH = bounded(r"-([0-9a-f]{8})[0-9a-f]{24}")
_OPENS = bounded(r"https?://[^\s<>]+")
_ESCAPED_BRACKET = bounded(r"\\([\[\]])")


@dataclass(frozen=True, kw_only=True)
class TaskLine:
    """A task run that failed, was lost or never ran.

    Attributes:
        name: Its name in Prefect.
        url: Of its page.
        state: What became of it.
        parameters: What it was called with, in short.
        why: Why, in a few words.
        earlier: What its attempts before the last one failed with.
        assets: The addresses of the assets that it did not materialize, by their keys.
    """

    name: str
    url: str = ""
    state: str = ""
    parameters: str = ""
    why: str = ""
    earlier: tuple[str, ...] = ()
    assets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean what users named: a page obeys bidirectional and control characters.

        Before it is Markdown, and cut: half a secret is not found.
        """
        for name in ("name", "parameters", "why"):
            object.__setattr__(self, name, plain(outgoing(getattr(self, name))))
        earlier = tuple(plain(outgoing(each)) for each in self.earlier)
        object.__setattr__(self, "earlier", earlier)
        assets = {plain(outgoing(key)): url for key, url in self.assets.items()}
        object.__setattr__(self, "assets", assets)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How far the task runs of one task are.

    Attributes:
        submitted: How many the flow has submitted.
        ended: How many of them have ended, lost ones included.
        lost: How many were lost.
        released: How many will never end, because the flow cancelled them or holds no
            future of theirs.
    """

    submitted: int = 0
    ended: int = 0
    lost: int = 0
    released: int = 0


def card_page(
    card: RunCard,
    tasks: Sequence[TaskLine] = (),
    *,
    attempts: tuple[int, int] | None = None,
    logs: int = 0,
    names: Mapping[str, str] | None = None,
    overview: Overview | None = None,
    runs: Mapping[str, TaskLine] | None = None,
    before: Sequence[str] = (),
    not_retried: str = "",
    rerun: str = "",
    ignored: str = "",
) -> str:
    """Return the card of a flow run that has ended.

    Args:
        card: The card.
        tasks: The affected task runs.
        attempts: Which attempt of how many, where Prefect retries the flow.
        logs: How many lines were put into the flow run's log.
        names: Prefect's names of tasks, by key.
        overview: The extremes of the run and its picture.
        runs: The task runs that it names, by key.
        before: A line of each earlier attempt.
        not_retried: Why no retry follows though there are some; empty: there is no reason.
        rerun: What a retry would execute again; empty: that is not known.
        ignored: Where `allow_failure` had no effect, as Markdown; empty: nowhere.
    """
    shown_names = {key: shown_name(name) for key, name in (names or {}).items()}
    bare = with_task_names(msgspec.structs.replace(card, links={}), names or {})
    tasks = [replace(each, why=with_names(each.why, shown_names)) for each in tasks]
    card_parts = markdown_parts(bare)
    parts = [card_parts.head, _links(card.links), _failed_subflow(card)]
    if attempts is not None and attempts[1] > 1:
        text = f"Attempt {attempts[0]} of {attempts[1]} of this flow run."
        if not_retried:
            text += f" No retry follows, {escaped(not_retried)}."
        parts.append(text)
    parts += before
    # Who asks why, asks what has changed next; what proves it can wait.
    parts += [card_parts.unrecorded, card_parts.verdict, card_parts.changes]
    parts += [_affected_task_runs(tasks), ignored, rerun]
    parts += [card_parts.evidence, _in_the_log(logs)]
    parts.append(card_parts.findings)
    first = _cut(_joined(parts))
    # Not cut: a picture is text without words.
    shown = [] if overview is None else _overview(overview, runs or {})
    after = _joined([card_parts.numbers, card_parts.missing, _place(card.links)])
    room = max(0, _LONGEST - len(first))
    return _joined([first, *shown, after[:room]]) + "\n"


def _in_the_log(logs: int) -> str:
    if not logs:
        return ""
    lines = "1 line" if logs == 1 else f"{logs} lines"
    return (
        f"In the log of this flow run: {lines} of Dask's scheduler, nannies and dead "
        "workers."
    )


def with_task_names(card: RunCard, names: Mapping[str, str]) -> RunCard:
    """Return a card with names in the place of keys, before its text is escaped.

    A name that came into Markdown later would be markup, where its users wrote some.
    """
    if not names:
        return card
    shown = {key: shown_name(name) for key, name in names.items()}

    def named(value: Any) -> Any:
        if isinstance(value, str):
            return with_names(value, shown)
        if isinstance(value, dict):
            return {name: named(each) for name, each in value.items()}
        many = isinstance(value, (list, tuple))
        return [named(each) for each in value] if many else value

    return msgspec.convert(named(msgspec.to_builtins(card)), RunCard)


def attempt_line(number: int, facts: Mapping[str, object], url: str) -> str:
    """Return the line about an earlier attempt, on the cards of those after it.

    Args:
        number: Which one it was, from 1.
        facts: What was noted with its card.
        url: Of its card's page.
    """
    name = f"Attempt {number}"
    title = f"[{name}](<{url}>)" if _OPENS.fullmatch(url) else name
    if facts.get("state") == "running":
        return f"{title} has no verdict: its process ended before there was one."
    return f"{title}: {inline(str(facts.get('headline') or 'no headline'))}"


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _overview(overview: Overview, runs: Mapping[str, TaskLine]) -> list[str]:
    """Return the parts that show the extremes of a run, and its picture."""
    parts = []
    if overview.slowest:
        head = ("Task", "Took", "Executions", "Parameters")
        rows = [
            (
                _linked(run),
                _seconds_text(each),
                f"{each.executions:,}",
                _parameters(run),
            )
            for each, run in _known(overview.slowest, runs)
        ]
        parts += ["### Slowest tasks", _aligned(head, rows)]
    if overview.largest:
        head = ("Task", "Result", "Took", "Parameters")
        rows = [
            (
                _linked(run),
                _size(each.nbytes or 0),
                _seconds_text(each),
                _parameters(run),
            )
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
        # A whole hash hides what tells the keys of a collection apart: their last parts.
        key = _HASH.sub(r"-\1", each.key)
        yield each, runs.get(each.key) or TaskLine(name=key)


def _seconds_text(cost: TaskCost) -> str:
    if cost.seconds < 0.001:  # noqa: PLR2004 - a millisecond: less says nothing
        return "< 1 ms"
    if cost.seconds < 1:
        return f"{cost.seconds:.2g} s"
    if cost.seconds < 10:  # noqa: PLR2004 - then tenths say nothing
        return f"{cost.seconds:.1f} s"
    return _duration(cost.seconds)


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose two columns in the middle are numbers, the last one if needed."""
    width = len(head) if any(cells[-1] for cells in rows) else len(head) - 1
    lines = [head, ("---", "--:", "--:", "---"), *map(_with_units, rows)]
    return "\n".join(f"| {' | '.join(cells[:width])} |" for cells in lines)


def _with_units(cells: Sequence[str]) -> list[str]:
    """Keep numbers on the line of their units, however narrow a column is."""
    name, *numbers, last = cells
    return [name, *(each.replace(" ", "\N{NO-BREAK SPACE}") for each in numbers), last]


def live_page(
    card: RunCard,
    progress: Progress | None,
    *,
    tasks: Mapping[str, Ended],
    names: Mapping[str, str],
    seconds: float,
    memory: Sequence[float] = (),
    before: Sequence[str] = (),
    state: CurrentState | None = None,
) -> str:
    """Return the card of a flow run that goes on.

    Args:
        card: What is known so far.
        progress: How Dask gets on, by the recorder; None: nothing was heard yet.
        tasks: The task runs that the flow has submitted, by the name of their task.
        names: Prefect's names of tasks, by key.
        seconds: Since it began.
        memory: Bytes that the workers have used together, at even intervals since then.
        before: A line of each earlier attempt.
        state: What it is doing, by its recording, if nothing has finished for long.
    """
    parts = [f"## ▶ Running for {_duration(seconds)}", _links(card.links)]
    if (unrecorded := not_stored(card)) is not None:
        parts.append(f"⚠ **{escaped(capital(unrecorded))}**")
    if progress is not None and progress.stall is not None:
        parts.append(f"⚠ **{escaped(stall_text(progress.stall, names))}**")
    if state is not None:
        doing = with_task_names(msgspec.structs.replace(card, now=state), names)
        parts.append(markdown_parts(doing).verdict)
    parts += [_bar(tasks, progress), _progress(progress, memory), _by_task(tasks)]
    parts += [*before, _place(card.links)]
    return _joined(parts) + "\n"


def live_line(
    progress: Progress,
    *,
    tasks: Mapping[str, Ended],
    names: Mapping[str, str],
    state: CurrentState | None,
) -> str:
    """Return the line below the title of such a card, which is all that lists show of it.

    What the run waits for comes first, for lists cut the rest.

    Args:
        progress: How Dask gets on.
        tasks: See `live_page`, as `names` and `state`.
    """
    ended = ended_text(tasks, progress)
    if state is not None and state.waits:
        return f"{with_names(state.text, names)}; {ended}"
    if progress.stall is not None:
        return f"{stall_text(progress.stall, names)} Running: {ended}"
    return f"Running: {ended}"


def _bar(tasks: Mapping[str, Ended], progress: Progress | None) -> str:
    done, of, _ = _counts(tasks, progress)
    if not of:
        return f"{capital(_NOTHING_SUBMITTED)}."
    rate = 0.0 if progress is None or progress.stall is not None else progress.rate
    bar = "█" * int(_BAR * done / of)
    text = f"`{bar:░<{_BAR}}` {done / of:.0%}: {ended_text(tasks, progress)}"
    if rate and done < of:
        text += (
            f"; at this rate, the rest of them takes {_duration((of - done) / rate)}"
        )
    return text


def ended_text(tasks: Mapping[str, Ended], progress: Progress | None) -> str:
    """Return in words how much of what was submitted has ended.

    Args:
        tasks: The task runs that the flow has submitted, by the name of their task.
        progress: How Dask gets on.
    """
    done, of, kind = _counts(tasks, progress)
    if not of:
        return _NOTHING_SUBMITTED
    return f"{done:,} of {of:,} submitted {kind} have ended"


def _counts(
    tasks: Mapping[str, Ended], progress: Progress | None
) -> tuple[int, int, str]:
    """Return how many have ended of how many: of task runs, else of Dask tasks."""
    done = sum(each.ended for each in tasks.values())
    of = sum(each.submitted - each.released for each in tasks.values())
    kind = "task runs"
    if not of and progress is not None:
        done, of, kind = progress.finished, progress.submitted, "Dask tasks"
    return min(done, of), of, kind


def _progress(progress: Progress | None, memory: Sequence[float]) -> str:
    if progress is None or not (progress.submitted or progress.workers):
        return ""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    rate = f", {progress.rate:.2g} a second" if progress.rate else ""
    rows = [("Dask tasks", f"{progress.finished:,} done{failed}{rate}")]
    rows.append(("Workers", f"{progress.workers:,}"))
    if progress.memory:
        used, limit = progress.memory, progress.memory_limit
        share = f" of {_size(limit)} ({used / limit:.0%})" if limit else ""
        rows.append(("Memory", f"{_size(used)}{share}"))
        if len(memory) > 1:
            course = f"`{_bars_of(memory, limit)}` most: {_size(max(memory))}"
            rows.append(("Memory so far", course))
    lines = ["| Measure | Value |", "| --- | --- |"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in rows])


def _bars_of(values: Sequence[float], most: float) -> str:
    """Return a line of bars, as many as have room: the highest value of each stretch."""
    step = -(-len(values) // _COURSE)
    high = [max(values[i : i + step]) for i in range(0, len(values), step)]
    most = max(most, *high) or 1.0
    last = len(_HEIGHTS) - 1
    return "".join(_HEIGHTS[min(last, int(each / most * (last + 1)))] for each in high)


def _by_task(tasks: Mapping[str, Ended]) -> str:
    if not tasks:
        return ""
    columns = {
        "Task": [escaped(name) for name in tasks],
        "Ended": [f"{each.ended:,}" for each in tasks.values()],
        "Submitted": [f"{each.submitted:,}" for each in tasks.values()],
        "Lost": [f"{each.lost:,}" for each in tasks.values()],
        "Released": [f"{each.released:,}" for each in tasks.values()],
    }
    for name in ("Lost", "Released"):
        if not any(each != "0" for each in columns[name]):
            del columns[name]
    marks = ["---", *["--:"] * (len(columns) - 1)]
    rows = [columns, marks, *list(zip(*columns.values(), strict=True))[:_MOST_LINES]]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    if len(tasks) > _MOST_LINES:
        lines += ["", f"+{len(tasks) - _MOST_LINES} more"]
    return "\n".join(lines)


def _links(links: Mapping[str, str]) -> str:
    found = {title: links.get(name, "") for name, title in _LINKS.items()}
    return " · ".join(
        f"[{title}](<{address}>)"
        for title, address in found.items()
        if _OPENS.fullmatch(address)
    )


def _place(links: Mapping[str, str]) -> str:
    """Return where the recording is, for commands: a browser opens no s3:// and no folder."""
    address = links.get("recording", "")
    if not address or _OPENS.fullmatch(address):
        return ""
    text = f"Recording: `{address.replace('`', '')}`"
    report = links.get("report", "").replace("`", "")
    if report.startswith("file:"):
        text += (
            f"\n\nReport: `{report}`, in a browser on a machine that has this folder; with "
            "the setting `blackbox.viewer`, cards have links"
        )
    return text


def _failed_subflow(card: RunCard) -> str:
    """Return a link to the page of the subflow whose failure the card is about."""
    if card.verdict is None or card.verdict.rule != "part-failed":
        return ""
    seen = (each.see or "" for each in card.verdict.evidence)
    address = next((each for each in seen if _OPENS.fullmatch(each)), "")
    return f"[The failed subflow's page](<{address}>)" if address else ""


def _affected_task_runs(tasks: Sequence[TaskLine]) -> str:
    """Return the affected task runs, as a list: cells of v1's tables do not wrap."""
    if not tasks:
        return ""
    lines = ["### Affected task runs", ""]
    for task in tasks[:_MOST_LINES]:
        given = " ".join(task.parameters.split()).replace("`", "'")
        text = f"- {_linked(task)} {task.state}: {_why(task)}"
        text += f" · `{given}`" if given else ""
        if task.assets:
            noun = "asset" if len(task.assets) == 1 else "assets"
            keys = [linked_code(key, url) for key, url in task.assets.items()]
            text += f" · {noun} not materialized: {', '.join(keys)}"
        lines.append(text)
    if len(tasks) > _MOST_LINES:
        lines += ["", f"+{len(tasks) - _MOST_LINES} more"]
    return "\n".join(lines)


def _why(task: TaskLine) -> str:
    """Return why a task run was hit, with each of its attempts if it had several."""
    if not task.earlier:
        return escaped(task.why)
    if set(task.earlier) == {task.why}:
        return f"{escaped(task.why)}, in each of {len(task.earlier) + 1} attempts"
    each = [
        f"attempt {number}: {escaped(text)}"
        for number, text in enumerate(task.earlier, 1)
    ]
    return "; ".join([*each, f"last attempt: {escaped(task.why)}"])


def _linked(task: TaskLine) -> str:
    """Return the name of a task run, with a link to its page.

    Prefect's v1 UI shows the text of a link as it is written, brackets excepted: a name
    that needs other escapes is beside its link.
    """
    name = shown_name(task.name)
    text = escaped(name)
    if not _OPENS.fullmatch(task.url):
        return text
    if _ESCAPED_BRACKET.sub(r"\1", text) == name:
        return f"[{text}](<{task.url}>)"
    return f"{text} ([open](<{task.url}>))"


def linked_code(name: str, url: str) -> str:
    """Return a name as code, with a link beside it if a browser opens its address.

    Prefect's v1 UI shows the text of a link as it is written.
    """
    code = as_code(name)
    return f"{code} ([open](<{url}>))" if _OPENS.fullmatch(url) else code


def _parameters(task: TaskLine) -> str:
    code = table_cell(task.parameters).replace("`", "'")
    return f"`{code}`" if code else ""


def table_cell(text: str) -> str:
    """Return text that stays within its cell, and within its code span."""
    return " ".join(text.split()).replace("|", "\\|")


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
