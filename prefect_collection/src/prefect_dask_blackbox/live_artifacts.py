"""Updates a flow run's page while it runs: its card, Dask's warnings, its stalls.

A thread of its own speaks to Prefect, at intervals that grow with the run; the flow never
waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from dask_blackbox.card import RunCard
from dask_blackbox.guard import guard
from dask_blackbox.protocol.messages import LogLine, Progress
from prefect.client.schemas.actions import LogCreate

from prefect_dask_blackbox.events import STALL_OVER, STALLED, emit
from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.page import Ended, live_line, live_page
from prefect_dask_blackbox.settings import DaskBlackboxSettings
from prefect_dask_blackbox.stalls import later, stall_kind, stall_text, stalled_keys
from prefect_dask_blackbox.submitted_tasks import keys_in, with_names

if TYPE_CHECKING:
    from dask_blackbox.events import Stall
    from dask_blackbox.finding import CurrentState

    from prefect_dask_blackbox.artifacts import FlowRunPage
    from prefect_dask_blackbox.lost_tasks import LostTasks
    from prefect_dask_blackbox.submitted_tasks import Ledger, SubmittedTask

__all__ = ["Live", "Waiting", "ended_by_task", "until_next", "without_usual_stall"]

_INTERVAL = 5.0
"""Seconds between two checks; a stall, or its end, is shown at once."""
_SHARE, _LONGEST = 0.05, 60.0
"""Between two updates of the card: this share of the run's time so far, and at most these
seconds.  So a run of ten hours updates its card about 650 times, not 7,200."""
_MOST_SAMPLES = 240
_WAITING_LINES = 500
_LOGGER = "dask"
_ENDING = 5.0


_PATIENCE = 60.0
"""Seconds without a finished task after which the recording is asked what the run waits for."""
_MOST_TASKS = 20_000
"""Dask tasks of a run of which the recording is read in this process, which is the flow's: of
larger runs, that takes long and much memory."""
_AGAIN = 5.0
"""How many times as long as nothing has finished until it is asked again."""
_REST, _COST = 5.0, 50.0
"""How many times as long as the answer took it is not asked, and how many times as long as the
processor time that it cost, if that is more."""
_STORED = 10.0
"""Seconds after which a new report of a stall is in the store."""


class Waiting:
    """What a run waits for, by its recording: read while nothing finishes, and seldom.

    The scheduler reports a stall at growing intervals; each report is a reason to read.

    Args:
        read: Reads it.
    """

    def __init__(self, read: Callable[[], CurrentState | None]) -> None:
        self._read, self._state = read, cast("CurrentState | None", None)
        self._finished, self._since, self._due = -1, time.monotonic(), 0.0
        self._stall: Stall | None = None
        self._rests_until = 0.0

    def state(self, progress: Progress) -> CurrentState | None:
        """Return what the run is doing, if no task has finished for a minute."""
        now = time.monotonic()
        if progress.finished != self._finished:
            self._finished, self._since, self._due = progress.finished, now, 0.0
            self._state = self._stall = None
            return None
        if progress.stall is not None and progress.stall != self._stall:
            self._stall = progress.stall
            self._due = max(self._rests_until, now + _STORED)
        if progress.submitted > _MOST_TASKS:
            self._state = None
        elif now - self._since >= _PATIENCE and now >= self._due:
            cpu = time.thread_time()
            with guard("what the running flow waits for"):
                self._state = _with_moment(self._read())
            cost, read = time.thread_time() - cpu, time.monotonic()
            # On a busy machine, or from a slow store, what costs little takes long.
            self._rests_until = read + max(_COST * cost, _REST * (read - now))
            self._due = max(self._rests_until, read + _AGAIN * (now - self._since))
        return self._state


def _with_moment(state: CurrentState | None) -> CurrentState | None:
    """Return what a run is doing with the time of day, as it is shown for minutes."""
    import msgspec

    if state is None:
        return None
    read_at = f"{datetime.now(UTC):%H:%M:%S} UTC"
    return msgspec.structs.replace(state, text=f"{state.text} (at {read_at})")


class Live(threading.Thread):
    """Shows the progress of a flow run until it is asked to stop.

    Args:
        flow_run_id: Of the flow run.
        page: Its page.
        ledger: What it submitted.
        lost_tasks: Tells Prefect of lost tasks.
        card: Returns what is known of the run so far.
        dashboard: Returns the address of Dask's dashboard, if there is one.
        read_names: Asks Prefect for the names of tasks that only it knows.
        begun: Shows the first card.
        state: Reads from the recording what the run is doing; it may take seconds.
    """

    def __init__(
        self,
        flow_run_id: UUID,
        *,
        page: FlowRunPage,
        ledger: Ledger,
        lost_tasks: LostTasks,
        card: Callable[[], RunCard],
        dashboard: Callable[[], str | None],
        read_names: Callable[[Iterable[SubmittedTask]], None],
        begun: Callable[[], None],
        state: Callable[[], CurrentState | None],
    ) -> None:
        super().__init__(name="dask-blackbox-prefect", daemon=True)
        # Prefect's settings belong to a context, which new threads do not have.
        self._context = copy_context()
        self._flow_run_id, self._page, self._ledger = flow_run_id, page, ledger
        self._lost_tasks, self._card, self._dashboard = lost_tasks, card, dashboard
        self._read_names, self._show_running = read_names, begun
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._lines: deque[LogLine] = deque(maxlen=_WAITING_LINES)
        self._stalls = 0
        self._stalled: str | None = None
        self._stopped = threading.Event()
        self._memory: list[float] = []
        self._every, self._count = 1, 0
        self._due = 0.0
        self._shown_stall: tuple[bool, object] = (False, False)
        self._stall_seen: tuple[Stall, float] | None = None
        self._long_task = DaskBlackboxSettings().long_task
        self._waiting = Waiting(state)
        self.lines_sent = 0
        """How many lines were put into the flow run's log."""

    def update(self, progress: Progress) -> None:
        """Take a report of the recorder; never blocks."""
        self._progress = progress
        self._lines.extend(progress.lines)
        self._count += 1
        if self._count % self._every:
            return
        self._memory.append(progress.memory)
        if len(self._memory) >= _MOST_SAMPLES:  # then with half as many, for ever
            self._memory, self._every = self._memory[1::2], self._every * 2

    def run(self) -> None:
        self._context.run(self._show_until_stopped)

    def _show_until_stopped(self) -> None:
        with guard("the card of the running flow"):
            self._show_running()
        while not self._stopped.wait(_INTERVAL):
            with guard("showing the progress of the flow run"):
                self._look()

    def finish(self) -> None:
        """Stop, and write the last reported lines into the log."""
        self._stopped.set()
        if self.is_alive():
            self.join(_ENDING)
        with guard("the last lines of Dask's log"):
            self._log()
        with guard("the end of a stall"):
            self._end_stall("The run has ended.")

    def _look(self) -> None:
        progress = self._progress
        self._log()
        self._lost_tasks.report(early=True)
        if progress is None:
            return
        state = self._waiting.state(progress)
        progress = self._with_stall_until_now(progress)
        progress = without_usual_stall(progress, self._long_task, state)
        self._note_stall(progress)
        now = time.monotonic()
        stalled = (progress.stall is not None, state is not None and state.text)
        if now < self._due and stalled == self._shown_stall:
            return
        seconds = now - self._began
        self._due = now + until_next(seconds)
        tasks = ended_by_task(self._ledger)
        data = live_page(
            self._linked(),
            progress,
            tasks=tasks,
            names=self._ledger.names,
            seconds=seconds,
            memory=self._memory,
            before=self._page.before,
            state=state,
        )
        text = live_line(progress, tasks=tasks, names=self._ledger.names, state=state)
        self._page.show_live(self._card(), data, text)
        self._shown_stall = stalled

    def _linked(self) -> RunCard:
        import msgspec

        card: RunCard = self._card()
        address = self._dashboard()
        links = {**card.links, **({"dashboard": address} if address else {})}
        return msgspec.structs.replace(card, links=links)

    def _with_stall_until_now(self, progress: Progress) -> Progress:
        """Return progress whose stall lasts until now: it is reported when it begins."""
        import msgspec

        stall, now = progress.stall, time.monotonic()
        if stall is None:
            self._stall_seen = None
            return progress
        if self._stall_seen is None or self._stall_seen[0] != stall:
            self._stall_seen = (stall, now)
        longer = later(stall, now - self._stall_seen[1])
        return msgspec.structs.replace(progress, stall=longer)

    def _note_stall(self, progress: Progress) -> None:
        stall = progress.stall
        kind = None if stall is None else stall_kind(stall)
        if kind == self._stalled:
            return
        self._end_stall("Tasks finish again, or wait for something else.")
        if kind is not None and stall is not None:
            self._stalls += 1
            self._read_task_names(stalled_keys(stall))
            text = stall_text(stall, self._ledger.names)
            labels = {"dask.workers": str(progress.workers)}
            self._emit_stall(STALLED, kind, text, labels)
        self._stalled = kind

    def _end_stall(self, text: str) -> None:
        """Emit the end of the stall that was reported last, unless that was done."""
        kind, self._stalled = self._stalled, None
        if kind is not None:
            self._emit_stall(STALL_OVER, kind, text)

    def _emit_stall(
        self, event: str, kind: str, text: str, labels: dict[str, str] | None = None
    ) -> None:
        emit(
            event,
            self._card(),
            self._flow_run_id,
            labels={
                "dask.stall": kind,
                "dask.stall_number": str(self._stalls),
                **(labels or {}),
            },
            payload={"headline": text},
            mark=str(self._stalls),
            follows=STALLED if event == STALL_OVER else None,
        )

    def _read_task_names(self, keys: Iterable[str]) -> None:
        wanted = set(keys)
        if wanted:
            self._read_names(each for each in self._ledger if each.key in wanted)

    def _log(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if not lines:
            return
        self._read_task_names(
            key for line in lines for key in (*line.keys, *keys_in(line.text))
        )
        died = Counter(key for line in lines if line.died for key in line.keys)
        for entry in self._ledger:
            entry.deaths += died[entry.key]
        runs = {entry.key: entry.task_run_id for entry in self._ledger}
        names = self._ledger.names
        with prefect_client() as client:
            client.create_logs(list(_as_logs(lines, self._flow_run_id, runs, names)))
        self.lines_sent += len(lines)


def without_usual_stall(
    progress: Progress, long_task: float, state: CurrentState | None
) -> Progress:
    """Return progress without a stall of running tasks that is none as far as is known.

    Args:
        long_task: Seconds that it has to last.
        state: What the recording shows; earlier runs may say that the task is usually as long.
    """
    import msgspec

    stall = progress.stall
    if stall is None or stall_kind(stall) != "running":
        return progress
    usual_until = None if state is None else state.usual_until
    if stall.lasted >= long_task and (
        usual_until is None or time.time() >= usual_until
    ):
        return progress
    return msgspec.structs.replace(progress, stall=None)


def until_next(seconds: float) -> float:
    """Return after how many seconds the card of a run is updated again.

    Args:
        seconds: For how long it has been running.
    """
    return min(_LONGEST, _SHARE * seconds)


def ended_by_task(ledger: Iterable[SubmittedTask]) -> dict[str, Ended]:
    """Return how far the task runs of each task are, by its name, in order."""
    counts: dict[str, list[int]] = {}
    for entry in ledger:
        count = counts.setdefault(entry.task.name, [0, 0, 0, 0])
        released = entry.status == "cancelled" and not entry.lost
        count[0] += 1
        count[1] += entry.status != "pending" and not released
        count[2] += entry.lost
        count[3] += released
    return {
        name: Ended(submitted=submitted, ended=ended, lost=lost, released=released)
        for name, (submitted, ended, lost, released) in counts.items()
    }


def _as_logs(
    lines: Iterable[LogLine],
    flow_run_id: UUID,
    runs: dict[str, UUID],
    names: dict[str, str],
) -> Iterator[LogCreate]:
    for line in lines:
        found = [key for key in (line.keys or keys_in(line.text)) if key in runs]
        # A line about several tasks belongs to the flow run.
        own = found[0] if found and (line.keys or len(set(found)) == 1) else None
        yield LogCreate(
            name=_LOGGER,
            level=max(line.level, logging.WARNING),
            message=outgoing(with_names(f"{line.source}: {line.text}", names)),
            timestamp=cast("Any", datetime.fromtimestamp(line.at, UTC)),
            flow_run_id=flow_run_id,
            task_run_id=None if own is None else runs[own],
        )
