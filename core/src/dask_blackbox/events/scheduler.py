"""Events about the scheduler, its measurements, and the recording itself."""

from __future__ import annotations

from typing import ClassVar

from dask_blackbox.events.base import Event, Part


class SchedulerInfo(Event, frozen=True, kw_only=True):
    """The scheduler; its address is the subject.

    Attributes:
        pid: Process id.
        ancestors: Process ids of its ancestors with their start times, the parent first.
        boot: Names the running kernel and the space of process ids.
        host: Host name.
        dask: Version of dask.
        distributed: Version of distributed.
        python: Version of Python.
        packages: Versions of the packages that Dask compares; null: not installed.
        config: The Dask configuration, redacted.
        dashboard: URL of the dashboard.
    """

    kind: ClassVar[str] = "scheduler-info"

    pid: int | None = None
    ancestors: tuple[tuple[int, str | None], ...] = ()
    boot: str | None = None
    host: str | None = None
    dask: str | None = None
    distributed: str | None = None
    python: str | None = None
    packages: dict[str, object] = {}
    config: dict[str, object] = {}
    dashboard: str | None = None


class SchedulerClosing(Event, frozen=True, kw_only=True):
    """The scheduler announced that it closes.

    Attributes:
        reason: `idle-timeout-exceeded`, `signal-15`, `terminate` if a client asked, …
        by: Address of the one who asked.
        scheduler: Its address.
    """

    kind: ClassVar[str] = "scheduler-closing"

    reason: str = ""
    by: str = ""
    scheduler: str | None = None


class SchedulerLost(Event, frozen=True, kw_only=True):
    """The recorder lost the scheduler permanently.

    Attributes:
        address: Its address.
        error: The error of the last attempt to reach it.
    """

    kind: ClassVar[str] = "scheduler-lost"

    address: str | None = None
    error: str | None = None


class SchedulerUnresponsive(Event, frozen=True, kw_only=True):
    """The scheduler has not answered the recorder for ten seconds; it may answer again.

    Attributes:
        error: The error of the last request.
    """

    kind: ClassVar[str] = "scheduler-unresponsive"

    error: str | None = None


class SchedulerResponded(Event, frozen=True, kw_only=True):
    """The scheduler answers the recorder again.

    Attributes:
        lasted: Seconds without an answer.
    """

    kind: ClassVar[str] = "scheduler-responded"

    lasted: float = 0.0


class RecordingStarted(Event, frozen=True, kw_only=True):
    """The scheduler plugin started to record; the client is the subject."""

    kind: ClassVar[str] = "recording-started"


class RecorderRestarted(Event, frozen=True, kw_only=True):
    """The recorder's process ended, and the driver started another one.

    Attributes:
        times: How often so far.
        why: What was wrong with one that the driver ended; empty: it ended by itself.
    """

    kind: ClassVar[str] = "recorder-restarted"

    times: int = 0
    why: str = ""


class LinesLeftOut(Event, frozen=True, kw_only=True):
    """Lines of other clients' tasks were left out; their process is the subject.

    Attributes:
        pid: Process id.
        numbers: Their numbers (`seq` of the table `logs`) as ranges, first and last.
    """

    kind: ClassVar[str] = "lines-left-out"

    pid: int | None = None
    numbers: tuple[tuple[int, int], ...] = ()


class DataLeftOut(Event, frozen=True, kw_only=True):
    """Classes of data are not recorded, because a setting says so.

    Attributes:
        classes: `log lines`, `arguments`, `source paths`.
    """

    kind: ClassVar[str] = "data-left-out"

    classes: tuple[str, ...] = ()


class CaptureFailed(Event, frozen=True, kw_only=True):
    """Code of dask-blackbox failed while it recorded.

    Attributes:
        doing: What it did.
        error: The exception.
    """

    kind: ClassVar[str] = "capture-failed"

    doing: str | None = None
    error: str | None = None


class BundleAnnounced(Event, frozen=True, kw_only=True):
    """A worker keeps a failed task with its inputs for replay; the task's key is the subject.

    Attributes:
        number: Number of the bundle on that worker.
        prefix: Prefix of the task.
        worker: Address of the worker.
        op: The handler at which the recorder fetches it.
    """

    kind: ClassVar[str] = "bundle-announced"

    number: int | None = None
    prefix: str | None = None
    worker: str | None = None
    op: str | None = None


class LeftOut(Part, frozen=True, kw_only=True):
    """An input that a bundle does not hold.

    Attributes:
        name: Key of the input.
        input: Its position among the inputs.
        nbytes: Its size.
        type: Its class.
        why: Why it was left out.
    """

    name: str | None = None
    input: int | None = None
    nbytes: int | None = None
    type: str | None = None
    why: str | None = None


class BundleStored(Event, frozen=True, kw_only=True):
    """A failed task with its inputs is stored for replay; the task's key is the subject.

    Attributes:
        number: Number of the file.
        prefix: Prefix of the task.
        worker: Address of the worker that it failed on.
        function: The task's function.
        inputs: Number of inputs.
        left_out: Inputs that it does not hold, and why.
        redacted: What was redacted in it.
        size: Bytes.
        sha256: Of the file.
        instead_of: Number of the bundle that it replaced.
    """

    kind: ClassVar[str] = "bundle-stored"

    number: int | None = None
    prefix: str | None = None
    worker: str | None = None
    function: str | None = None
    inputs: int = 0
    left_out: tuple[LeftOut, ...] = ()
    redacted: tuple[str, ...] = ()
    size: int = 0
    sha256: str | None = None
    instead_of: int | None = None


class BundleLost(Event, frozen=True, kw_only=True):
    """A failed task that a worker kept could not be stored; its key is the subject.

    Attributes:
        prefix: Prefix of the task.
        worker: Address of the worker.
        error: Why.
    """

    kind: ClassVar[str] = "bundle-lost"

    prefix: str | None = None
    worker: str | None = None
    error: str | None = None


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
        threads: Whose threads: `compute` (tasks), `workers` or `scheduler` (their event loops).
        prefix: Of tasks of this prefix only; empty: of all.
    """

    kind: ClassVar[str] = "profile"

    start: float | None = None
    stop: float | None = None
    asked: int = 0
    answered: int = 0
    tree: dict[str, object] = {}
    left_out_below: int | None = None
    threads: str = "compute"
    prefix: str = ""
