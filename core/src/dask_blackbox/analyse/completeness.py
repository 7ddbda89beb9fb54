"""What a recording lacks, by source, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.facts.worker_exit_sources import worker_exits_of
from dask_blackbox.analyse.run_state import recorded_until, silent_for, state_of
from dask_blackbox.analyse.task_bundles import lost_bundles
from dask_blackbox.events import (
    CaptureFailed,
    DataLeftOut,
    LinesLeftOut,
    NannyLost,
    NannyResponded,
    ProcessAncestors,
    WorkerExitReport,
    WorkerUnresponsive,
    WrapperLost,
)
from dask_blackbox.formatting import counted, duration, ended, short
from dask_blackbox.manifest import SPOOL, Completeness, Ending
from dask_blackbox.run_tables import RunTables, epoch

_BEHIND = 30.0
_SILENT = 15.0
"""Seconds without a heartbeat, of which a running recorder writes one every five."""
_SOURCES = 20
_READ_NO_LINES = ("itself", "the nanny's log")  # of those who report an exit
_DRIVER = "driver"  # the source of the driver's lines
_LINES = "log"  # the kind of rows that hold log lines


def missing_from(run: RunTables) -> dict[str, list[str]]:
    """Return what the recording lacks: sentences by source; empty if it is complete."""
    missing: dict[str, list[str]] = {}
    for source, sentence in (
        *_missing_from_ending(run),
        *_unreported_end(run),
        *(
            ("store", f"{name} {_damage(short(why, 160))}")
            for name, why in run.damaged.items()
            if run.ending is None or name not in run.ending.lost_segments
        ),
        *_given_up(run),
        *_begun_before(run),
        *_wrapper_lost(run),
        *_lost_lines(run),
        *_unread_last_lines(run),
        *lost_bundles(run),
        *_left_out(run),
    ):
        missing.setdefault(source, []).append(sentence)
    return missing


BY_SETTING = "settings"
"""The source of what is missing because the user wants it so."""


def _left_out(run: RunTables) -> Iterator[tuple[str, str]]:
    for each in dict.fromkeys(c for e in run.of(DataLeftOut) for c in e.classes):
        yield BY_SETTING, f"{each} were left out, by `blackbox.capture.leave-out`"


def _damage(why: str) -> str:
    return why[3:] if why.startswith("it is missing") else f"is damaged: {why}"


def _without_an_end(run: RunTables) -> Iterator[tuple[str, str]]:
    silent = max(silent_for(run), 0.0)
    ago = f"last heartbeat was {duration(silent)} ago"
    if state_of(run) == "running":
        if silent > _SILENT:
            yield "recorder", f"has not reported the end of the run; its {ago}"
        return
    reached = duration(recorded_until(run) - run.manifest.started)
    yield (
        "recorder",
        (
            "no process was left to report how the run ended; the recording ends "
            f"{reached} after the start, and the {ago}"
        ),
    )


def _missing_from_ending(run: RunTables) -> Iterator[tuple[str, str]]:
    ending = run.ending
    if ending is None:
        yield from _without_an_end(run)
        return
    if ending.state == "lost":
        yield (
            "recorder",
            (
                "no process was left to report how the run ended; the recording was "
                "finalised later"
            ),
        )
    for source, account in ending.sources.items():
        if account.error:
            if source == SPOOL:
                what = "could not keep everything"
            else:
                what = "recorded only in part" if account.batches else "not recorded"
            yield source, f"{what} ({short(account.error, 200)})"
        lost = sum(last - first + 1 for first, last in account.gaps)
        if lost:
            yield source, f"{counted(lost, 'batch', 'batches')} never arrived"
        for kind, number in account.dropped.items():
            # Lines are reported with the gaps in their numbers.
            if number and kind != _LINES:
                yield source, f"{counted(number, f'{kind} row')} dropped"
    for segment, why in ending.lost_segments.items():
        yield "store", f"{segment} could not be read: {short(why, 120)}"


def _unreported_end(run: RunTables) -> Iterator[tuple[str, str]]:
    frames = (run.events, run.tasks, run.logs, run.metrics)
    if run.ending is not None and not run.ending.sources and not any(map(len, frames)):
        yield "recorder", "no data arrived from the cluster or the driver"


def _given_up(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield what capture itself had to give up, each kind once."""
    reported = dict.fromkeys(
        (
            fact.subject or "capture",
            f"{fact.doing or 'capture'} failed: {short(str(fact.error), 160)}",
        )
        for fact in run.of(CaptureFailed)
    )
    yield from list(reported)[:20]


def _begun_before(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield workers on which tasks of the run began before they were recorded.

    On a busy host, the run is not kept waiting until a worker has our plugin.
    """
    late = {each.subject: each for each in run.of(ProcessAncestors) if each.begun}
    if not late:
        return
    own = run.tasks.select("worker", at=epoch("start")).drop_nulls()
    for address, each in late.items():
        before = own.filter((pl.col("worker") == address) & (pl.col("at") < each.at))
        if number := min(len(before), each.begun or 0):
            yield (
                address,
                (
                    f"{counted(number, 'task')} began there before it was recorded: what "
                    "they printed, and what they did beside Dask, is not recorded"
                ),
            )


def _wrapper_lost(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield what nobody was left to report: the process that had started the command."""
    for each in run.of(WrapperLost):
        how = "" if each.exit_code is None else f" ({ended(each.exit_code)})"
        unknown = run.ending is not None and run.ending.exit_code is None
        yield (
            "driver",
            f"process {each.pid}, which had started the command, ended{how}; process "
            f"{each.command} continued. What it wrote to standard error later is not "
            "recorded" + (", and its exit code is unknown" if unknown else ""),
        )


def _lost_lines(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield how many log lines never came, each line counted once.

    Processes number their lines without gaps, so that gaps show what is missing
    between two lines of one process; what a worker said before its first line here is
    nobody's loss: it may have been said to an earlier recording.  Who drops lines counts
    them as well: that includes what no gap shows, the last lines of a process, but also
    lines that were found elsewhere later.
    """
    gaps = run.once(_gaps_in_logs)
    missing = int(gaps["lost"].sum())
    dropped = _dropped_lines(run.ending)
    at_most = sum(dropped.values())
    if at_most > missing > 0:
        at_least = counted(missing, "log line")
        yield "logs", f"at least {at_least} lost, at most {at_most:,}"
        return
    if not missing:
        for source, number in dropped.items():
            yield source, f"at most {counted(number, 'log line')} lost"
        return
    for source, lost in gaps.head(_SOURCES).iter_rows():
        yield source, f"{counted(lost, 'log line')} lost"
    others = gaps.slice(_SOURCES)
    if len(others):
        lost = counted(int(others["lost"].sum()), "log line")
        yield (
            "logs",
            f"{lost} of {counted(len(others), 'other process', 'other processes')} lost",
        )


def _unread_last_lines(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield the workers whose last lines could not be read, which no gap shows."""
    read = {
        each.pid for each in run.of(WorkerExitReport) if each.by not in _READ_NO_LINES
    }
    unread: list[tuple[NannyLost | NannyResponded, str]]
    unread = [(each, "was lost with it") for each in run.of(NannyLost)]
    answered = run.of(NannyResponded)
    unread += [(each, "did not report its exit") for each in answered]
    # What one wrote last that was asked to end, and had nothing to do, is about that.
    exits = worker_exits_of(run) if unread else ()
    read |= {each.pid for each in exits if each.ordered_by and not each.running_on}
    for event, why in unread:
        if event.pid not in read:
            yield (
                event.subject or "a worker",
                f"its last log lines may be missing: its nanny {why}",
            )
    yield from _unread_of_the_silent(run)


def _unread_of_the_silent(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield the workers that were alive but had sent nothing for a while at the end."""
    last = {event.pid: event for event in run.of(WorkerUnresponsive)}
    for event in last.values():
        if event.lines_read or _sent_lines_after(run, event):
            continue
        yield (
            event.subject or "a worker",
            (
                "its last log lines may be missing: it had been silent for "
                f"{duration(event.silent_for or 0.0)}"
            ),
        )


def _sent_lines_after(run: RunTables, event: WorkerUnresponsive) -> bool:
    lines = run.logs.filter(pl.col("source") == event.subject)
    moment = lines["at"].dt.epoch("us").max()
    return isinstance(moment, int) and moment / 1e6 > (event.at or 0.0)


def _dropped_lines(ending: Ending | None) -> dict[str, int]:
    sources = {} if ending is None else ending.sources
    dropped = {name: each.dropped.get(_LINES, 0) for name, each in sources.items()}
    return {name: number for name, number in dropped.items() if number}


def _gaps_in_logs(run: RunTables) -> pl.DataFrame:
    """Return the sources of which lines are missing, and how many, the most first."""
    lines = run.logs.filter(pl.col("seq").is_not_null()).group_by(
        "source", "pid", maintain_order=True
    )
    counted_lines = lines.agg(
        first=pl.col("seq").min(),
        last=pl.col("seq").max(),
        lost=pl.col("seq").max() - pl.col("seq").min() + 1 - pl.col("seq").n_unique(),
    )
    driver = pl.col("source") == _DRIVER  # numbers its lines again for each recording
    before_first = pl.when(driver).then(pl.col("first") - 1).otherwise(0)
    counted_lines = counted_lines.with_columns(lost=pl.col("lost") + before_first)
    if others := _numbers_of_others(run):
        lost = [
            each["lost"]
            - _within(
                others.get((each["source"], each["pid"]), []),
                each["first"],
                each["last"],
            )
            for each in counted_lines.iter_rows(named=True)
        ]
        counted_lines = counted_lines.with_columns(lost=pl.Series(lost, dtype=pl.Int64))
    by_source = counted_lines.group_by("source", maintain_order=True).agg(
        pl.col("lost").clip(0).sum()
    )
    return by_source.filter(pl.col("lost") > 0).sort("lost", "source", descending=True)


def _numbers_of_others(run: RunTables) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Return the numbers of lines that were left out, by process, as ranges apart."""
    noted: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for event in run.of(LinesLeftOut):
        if event.subject and event.pid is not None:
            noted.setdefault((event.subject, event.pid), []).extend(event.numbers)
    return {process: _without_overlaps(numbers) for process, numbers in noted.items()}


def _without_overlaps(numbers: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges without their overlaps: a worker's last lines may come twice."""
    apart: list[tuple[int, int]] = []
    for first, last in sorted(numbers):
        begin = max(first, apart[-1][1] + 1) if apart else first
        if begin <= last:
            apart.append((begin, last))
    return apart


def _within(numbers: list[tuple[int, int]], first: int, last: int) -> int:
    """Return how many numbers of ranges lie between two others."""
    return sum(max(0, min(b, last) - max(a, first) + 1) for a, b in numbers)


def completeness_of(
    run: RunTables,
    *,
    recorded: bool = True,
    spooled: bool = False,
    reason: str | None = None,
) -> Completeness:
    """Return the card's account of its recording.

    Args:
        recorded: Whether it is in the store.
        spooled: Whether it is in this machine's spool, if not.
        reason: Why not, if not.
    """
    missing = missing_from(run)
    account: Completeness = {
        "recorded": recorded,
        "kept": "store" if recorded else "spool" if spooled else "none",
        "complete": recorded and not missing.keys() - {BY_SETTING},
    }
    if reason is not None:
        account["reason"] = reason
    if run.ending is not None and run.ending.store_behind > _BEHIND:
        # Not missing, because it has arrived by now; but a reader in the meantime did not see it.
        account["behind"] = round(run.ending.store_behind, 1)
    if run.damaged:
        account["damaged"] = {n: short(why, 160) for n, why in run.damaged.items()}
    if missing:
        account["missing"] = missing
    return account
