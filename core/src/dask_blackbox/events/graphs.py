"""Events about graphs, clients, and tasks that do not run."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from dask_blackbox.events.base import Event, Part
from dask_blackbox.events.workers import ProcessState


class NewTasks(msgspec.Struct, frozen=True, array_like=True):
    """Tasks of a prefix that no earlier graph had.

    Attributes:
        tasks: How many.
        roots: How many of them have no inputs.
    """

    tasks: int
    roots: int


class GraphUpdated(Event, frozen=True, kw_only=True):
    """A client submitted a graph; the client is the subject.

    Attributes:
        graph: Number of the graph, from 1.
        tasks: Tasks in it.
        wanted: Keys whose results the client asked for.
        all_tasks: Tasks that the scheduler knows, those of other graphs included.
        edges: Inputs of all its tasks, counted.
        prefixes: Number of tasks by prefix.
        new: By prefix, `[tasks, roots]` that no earlier graph had, and how many of those
            have no inputs.
        annotations: By annotation (`resources`, `retries`, `workers`), its value by key.
        code: By prefix, hash of the functions that its tasks run; each hash once.
        functions: By prefix, the user's own functions in it, as `module:name`.
        libraries: By prefix, the top-level modules of other functions in it.
        code_without_values: By prefix, hash of its functions without the values that they were given.
        values: By prefix, the values that its functions were given (closures, defaults,
            globals), by `module:function:name`: a number, or a digest of another value.
        empty_inputs: Prefixes that are named after reading and hold an empty table instead.
        inputs: By prefix, the other prefixes that its tasks take results of.
    """

    kind: ClassVar[str] = "graph-updated"

    graph: int | None = None
    tasks: int = 0
    wanted: int = 0
    all_tasks: int = 0
    edges: int | None = None
    prefixes: dict[str, int] = {}
    new: dict[str, NewTasks] = {}
    annotations: dict[str, object] = {}
    code: dict[str, str] = {}
    functions: dict[str, tuple[str, ...]] = {}
    libraries: dict[str, tuple[str, ...]] = {}
    code_without_values: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    empty_inputs: tuple[str, ...] = ()
    inputs: dict[str, tuple[str, ...]] = {}


class GraphFailed(Event, frozen=True, kw_only=True):
    """The scheduler could not take a graph; the client is the subject.

    Attributes:
        status: `error` or `cancelled`.
        scheduler: Address of that scheduler.
        keys: Keys whose results the client asked for, 1,000 at most; only where the
            subject is `scheduler`: Dask logs each of them under both.
        wanted: How many these are.
    """

    kind: ClassVar[str] = "graph-failed"

    status: str | None = None
    scheduler: str | None = None
    keys: tuple[str, ...] = ()
    wanted: int = 0


class ClientAdded(Event, frozen=True, kw_only=True):
    """A client connected to the scheduler; its id is the subject."""

    kind: ClassVar[str] = "client-added"


class ClientRemoved(Event, frozen=True, kw_only=True):
    """A client left the scheduler; its id is the subject."""

    kind: ClassVar[str] = "client-removed"


class ClusterRestarted(Event, frozen=True, kw_only=True):
    """`client.restart()` was called."""

    kind: ClassVar[str] = "cluster-restarted"


class P2PMessage(Event, frozen=True, kw_only=True):
    """Dask's peer-to-peer shuffle logged a message.

    Attributes:
        message: Its fields (`action`, `shuffle`, `stimulus`) as text.
    """

    kind: ClassVar[str] = "p2p"

    message: dict[str, str] = {}


class UserEvent(Event, frozen=True, kw_only=True):
    """The user's code called `log_event`.

    On a shared scheduler, they are recorded only while no other client's task runs.

    Attributes:
        topic: The topic.
        message: What was logged; cut if it is long.
    """

    kind: ClassVar[str] = "user-event"

    topic: str | None = None
    message: object = None


class FailedTaskFiles(Event, frozen=True, kw_only=True):
    """The files and URLs that a failed task was given; the task's key is the subject.

    Paths and URLs come from the arguments in the graph, without user information and
    query, five of each at most, for 20 tasks of a prefix and 200 of a recording.

    Attributes:
        reads: What it was given to read.
        writes: What it was given to write.
        inputs: What the tasks read on whose results it worked, if it reads nothing itself
            and they read five files at most.
    """

    kind: ClassVar[str] = "task-files"

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


class DataNamed(Event, frozen=True, kw_only=True):
    """A graph that the driver sent names data that no earlier one had named.

    They are the paths and URLs that Dask's own calls were given (`read_parquet`, `to_zarr`),
    without user information and query, 200 of a recording to read and 200 to write.

    Attributes:
        pid: Process id of the driver.
        reads: What it reads: a file, a folder, or a pattern of names.
        writes: What it writes.
        more: Not all of the graph was looked at.
    """

    kind: ClassVar[str] = "data-named"

    pid: int | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    more: bool = False


class ProcessingTask(Part, frozen=True, kw_only=True):
    """A task that is assigned to a worker.

    Attributes:
        key: The task.
        prefix: Its prefix.
        worker: Address of the worker.
        executing_for: Seconds that it has been executing, as of the last heartbeat; null:
            it has not started.
    """

    key: str = ""
    prefix: str | None = None
    worker: str | None = None
    executing_for: float | None = None


class RestrictedTask(Part, frozen=True, kw_only=True):
    """A task that is restricted to certain workers.

    Attributes:
        key: The task.
        hosts: Hosts that it may run on.
        workers: Workers that it may run on.
        resources: Resources that it needs.
        loose: Whether other workers will do (`allow_other_workers`).
    """

    key: str = ""
    hosts: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    resources: dict[str, float | int] = {}
    loose: bool = False


class Dependency(msgspec.Struct, frozen=True, array_like=True):
    """An input that a task waits for.

    Attributes:
        key: The task that makes it.
        state: State of that task.
    """

    key: str
    state: str


class WaitingTask(Part, frozen=True, kw_only=True):
    """A task that waits for others.

    Attributes:
        key: The task.
        waits_for: `[key, state]` of some of its inputs.
    """

    key: str = ""
    waits_for: tuple[Dependency, ...] = ()


class TaskOnWorker(Part, frozen=True, kw_only=True):
    """A task as its worker sees it.

    Attributes:
        state: Its state on the worker (`executing`, `waiting`, `ready`, …).
        waits_for: `[key, state]` of some of the inputs that it waits for.
    """

    state: str | None = None
    waits_for: tuple[Dependency, ...] = ()


class WorkerAnswer(Part, frozen=True, kw_only=True):
    """What a worker answered during a stall.

    Attributes:
        stacks: Frames of what it executes, by key; the innermost frame is last.
        tasks: Its tasks, by key; null: it was closing.
        failed: Why it did not answer.
        process: State of its process, if it did not, and had sent no heartbeat for a while; null:
            its nanny did not answer either, or it has none.
    """

    stacks: dict[str, tuple[str, ...]] = {}
    tasks: dict[str, TaskOnWorker] | None = {}
    failed: str | None = None
    process: ProcessState | None = None


class Stall(Event, frozen=True, kw_only=True):
    """Tasks are pending, and none has finished for a while.

    Attributes:
        lasted: Seconds so far.
        workers: Number of workers.
        statuses: Number of workers by status.
        paused: Addresses of paused workers.
        states: Number of wanted tasks by state.
        queued: Tasks in the scheduler's queue.
        processing: Some tasks that are assigned to workers.
        unrunnable: Some tasks that no worker may run; without workers, queued ones, too.
        waiting: Some tasks that wait for others.
        taken: Some locks and semaphores of the scheduler without a free lease, and how many
            leases they have.
        answers: What busy workers answered, by address: stacks and states.
    """

    kind: ClassVar[str] = "stall"

    lasted: float = 0.0
    workers: int = 0
    statuses: dict[str, int] = {}
    paused: tuple[str, ...] = ()
    states: dict[str, int] = {}
    queued: int = 0
    processing: tuple[ProcessingTask, ...] = ()
    unrunnable: tuple[RestrictedTask, ...] = ()
    waiting: tuple[WaitingTask, ...] = ()
    taken: dict[str, int] = {}
    answers: dict[str, WorkerAnswer] = {}


class StallOver(Event, frozen=True, kw_only=True):
    """A task finished after a stall.

    Attributes:
        lasted: Seconds.
    """

    kind: ClassVar[str] = "stall-over"

    lasted: float = 0.0


class StallCancelledTasks(Event, frozen=True, kw_only=True):
    """A client's tasks were cancelled after `blackbox.stall.end-run` without progress.

    Attributes:
        lasted: Seconds without progress.
        keys: How many tasks.
    """

    kind: ClassVar[str] = "stall-cancelled-tasks"

    lasted: float = 0.0
    keys: int = 0


class TasksUnrunnable(Event, frozen=True, kw_only=True):
    """Tasks require what no worker has; other tasks may still run.

    Attributes:
        lasted: Seconds so far.
        tasks: Some of them, and what they ask for.
        number: How many.
    """

    kind: ClassVar[str] = "tasks-unrunnable"

    lasted: float = 0.0
    tasks: tuple[RestrictedTask, ...] = ()
    number: int = 0


class TasksRunnable(Event, frozen=True, kw_only=True):
    """Every task has a worker again that it may run on."""

    kind: ClassVar[str] = "tasks-runnable"


class Span(Event, frozen=True, kw_only=True):
    """A span of the user's (`distributed.span`), without those within it; its id is the subject.

    Recorded each time that it has changed.

    Attributes:
        name: Its name, the outermost word first.
        parent: Id of the span that it is in.
        enqueued: Epoch seconds at which its first graph came.
        start: Of its first task.
        stop: Of its last task so far.
        done: Whether all its tasks are done.
        states: Number of tasks by state.
        nbytes: Bytes of its results.
        durations: Seconds by action.
        groups: Some of its task groups.
        all_groups: How many there are.
        metrics: Totals of its own: `[context, prefix, activity, unit, value]`.
    """

    kind: ClassVar[str] = "span"

    name: tuple[str, ...] = ()
    parent: str | None = None
    enqueued: float | None = None
    start: float | None = None
    stop: float | None = None
    done: bool = False
    states: dict[str, int] = {}
    nbytes: int = 0
    durations: dict[str, float] = {}
    groups: tuple[str, ...] = ()
    all_groups: int = 0
    metrics: tuple[tuple[str | float | int | None, ...], ...] = ()
