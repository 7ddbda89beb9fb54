"""Where the thread-seconds of the cluster went: parts that add up to all of them."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.core_seconds import Loads
from dask_blackbox.analyse.facts.critical_path import Chain, last_inputs_of
from dask_blackbox.analyse.facts.executions import counts_of, executions_of
from dask_blackbox.run_tables import RunTables

_LEAST_SHOWN = 0.001


class Part(NamedTuple):
    """A part of the whole: its name, thread-seconds, share, and where the bar has it.

    Attributes:
        tone: The class that has its colour.
        name: What the threads did or waited for.
        seconds: Thread-seconds.
        share: Of all.
        before: The share of all parts before it.
    """

    tone: str
    name: str
    seconds: float
    share: float
    before: float


class Bounds(NamedTuple):
    """How long the work took from its first task to its last, and would take at least.

    No run can be faster than these bounds, and most cannot be as fast.

    Attributes:
        took: Seconds from the first work to the end of the last task.
        threads: How many threads there were then, on average.
        least: Seconds that it takes with all of these threads busy all the time.
        longest: Seconds of the longest execution.
        chain: The longest chain of executions that waited for each other: no number of
            threads makes it shorter.  None where it was not recorded.
        more: The same with more threads: how many times as many, and seconds.
    """

    took: float
    threads: float
    least: float
    longest: float
    chain: Chain | None
    more: list[tuple[int, float]]


class TimeBar(NamedTuple):
    """All parts, what they add up to, and how long what was done takes at least."""

    parts: list[Part]
    capacity: float
    bounds: Bounds | None = None


def time_bar_of(run: RunTables) -> TimeBar | None:
    """Return where the time of the run's threads went; None where there were none."""
    return run.once(_time_bar)


def _time_bar(run: RunTables) -> TimeBar | None:
    loads = Loads(run)
    capacity = loads.all_capacity
    if capacity <= 0:
        return None
    busy = min(counts_of(run).seconds, capacity)
    overhead, lack = loads.total("overhead"), loads.total("lack")
    data = min(overhead, loads.total("transfer"))
    disk = min(overhead - data, loads.total("disk"))
    paused = sum(loads.threads.between(a, b) for a, b in loads.pauses)
    idle = [
        ("data", "waiting for data from other workers", data),
        ("disk", "reading back from disk", disk),
        ("scheduling", "waiting for the scheduler", overhead - data - disk),
        ("few", "fewer tasks than threads", lack),
        ("driver", "no work submitted by the driver", paused),
    ]
    # Samples are a second apart: reasons may add up to a little more than there was.
    left, explained = capacity - busy, sum(seconds for *_, seconds in idle)
    fitting = min(1.0, left / explained) if explained > 0 else 0.0
    parts = [("busy", "executing tasks", busy)]
    parts += [(tone, name, seconds * fitting) for tone, name, seconds in idle]
    parts.append(
        ("unknown", "idle for an unknown reason", max(0.0, left - explained * fitting))
    )
    return TimeBar(_placed(parts, capacity), capacity, _bounds(run, loads, busy))


def _bounds(run: RunTables, loads: Loads, busy: float) -> Bounds | None:
    took = loads.end - loads.begin
    if took <= 0 or busy <= 0:
        return None
    threads = loads.capacity / took
    longest = float(executions_of(run)["seconds"].max() or 0.0)  # type: ignore[arg-type]
    chain = last_inputs_of(run).longest
    if threads <= 0:
        return None
    one_by_one = max(longest, chain.seconds if chain else 0.0)

    def at_least(times: int) -> float:
        return min(max(busy / (threads * times), one_by_one), took)

    more = [(times, at_least(times)) for times in (2, 4)]
    return Bounds(took, threads, at_least(1), longest, chain, more)


def _placed(parts: list[tuple[str, str, float]], capacity: float) -> list[Part]:
    placed: list[Part] = []
    before = 0.0
    for tone, name, seconds in parts:
        share = seconds / capacity
        if share >= _LEAST_SHOWN:
            placed.append(Part(tone, name, seconds, share, before))
        before += share
    return placed
