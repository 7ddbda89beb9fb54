"""Events that measure: loads of processes, totals, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from dask_blackbox.events.base import Event


class ProcessLoad(Event, frozen=True, kw_only=True):
    """The load of a worker's process, every ten seconds; its address is the subject.

    Attributes:
        seconds: What the numbers cover.
        cpu: CPU seconds of the process.
        children: CPU seconds of programs that it started and that ended.
        gc: Seconds of full garbage collections.
        host_busy: CPU seconds of the whole host.
        host_stolen: CPU seconds that the hypervisor took from the host.
        woken: How often a thread woke up that sleeps 100 ms at a time.
        late: How often it woke up 4 ms late or more.
        waited: Seconds that it was late in sum, which is how long it waited for the GIL.
        peak_memory: Bytes, of ten samples a second.
        cores: Cores that the process may use.
        native_threads: Threads that libraries may start for a task (`OMP_NUM_THREADS`).
        host_memory: Bytes of the host.
    """

    kind: ClassVar[str] = "process-load"

    seconds: float = 0.0
    cpu: float | None = None
    children: float | None = None
    gc: float | None = None
    host_busy: float | None = None
    host_stolen: float | None = None
    woken: int = 0
    late: int = 0
    waited: float = 0.0
    peak_memory: int | None = None
    cores: int | float | None = None
    native_threads: int | None = None
    host_memory: int | None = None


class ResultCached(Event, frozen=True, kw_only=True):
    """A task's host had its result in a cache, and nobody computed it; its key is the subject.

    To Dask it was executed like any other.
    """

    kind: ClassVar[str] = "result-cached"


class ResultSize(Event, frozen=True, kw_only=True):
    """How large a result is that its host wraps; the task's key is the subject.

    Dask takes the wrapper (a state of Prefect's) for some hundred bytes.  Results of less
    than 64 KiB are not reported.  The table `tasks` has this size in the place of Dask's.

    Attributes:
        nbytes: Its size, as Dask would count it without the wrapper.
        unmeasured: Results before it whose size is not known: too many finished at once.
    """

    kind: ClassVar[str] = "result-size"

    nbytes: int = 0
    unmeasured: int = 0


class SchedulerLoad(Event, frozen=True, kw_only=True):
    """What the scheduler has done since its start.

    Attributes:
        transitions: Transitions of tasks.
        update_graph: Seconds spent on taking graphs.
        longest_tick: The longest pause of its event loop, in seconds.
        steal_requests: Requests to steal a task.
        steal_cost: Seconds that these were expected to cost.
        plugins: Classes of scheduler plugins that are neither Dask's nor ours.
        stolen: Requests that were granted since the recording started.
        steal_refused: Requests that came too late since the recording started.
        bandwidth: `[to, from, bytes per second]` of results that went between workers.
        bandwidth_types: The same by the results' types.
        bandwidth_mean: The same of all.
    """

    kind: ClassVar[str] = "scheduler-load"

    transitions: int | None = None
    update_graph: float | None = None
    longest_tick: float | None = None
    steal_requests: int | None = None
    steal_cost: float | int | None = None
    plugins: tuple[str, ...] = ()
    stolen: int | None = None
    steal_refused: int | None = None
    bandwidth: tuple[tuple[str, str, float], ...] = ()
    bandwidth_types: dict[str, float] = {}
    bandwidth_mean: float | None = None


class FineMetrics(Event, frozen=True, kw_only=True):
    """Dask's fine performance metrics, summed since the scheduler's start.

    Attributes:
        totals: `[context, span or prefix, activity, unit, value]`; some have fewer names.
    """

    kind: ClassVar[str] = "fine-metrics"

    totals: tuple[tuple[str | float | int | None, ...], ...] = ()


class Profile(Event, frozen=True, kw_only=True):
    """The statistical profile of the workers' threads during a while.

    Attributes:
        start: Epoch seconds.
        stop: Epoch seconds.
        asked: Number of workers that were asked.
        answered: Number of workers that answered with samples.
        tree: The profile, as Dask merges it: `count`, `children`, `description`, …
        left_out_below: Frames with fewer samples than that are left out.
        of: Whose threads: `compute` (tasks), `workers` or `scheduler` (their event loops).
        prefix: Of tasks of this prefix only; empty: of all.
    """

    kind: ClassVar[str] = "profile"
    stored_as: ClassVar[Mapping[str, str]] = {"answered": "told"}

    start: float | None = None
    stop: float | None = None
    asked: int = 0
    answered: int = 0
    tree: dict[str, object] = {}
    left_out_below: int | None = None
    of: str = "compute"
    prefix: str = ""
