"""Events about worker processes, their load, and their nannies."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from dask_blackbox.events.base import Event, Part, UserCodeEvent


class WorkerStarting(Event, frozen=True, kw_only=True):
    """A nanny's worker has not started yet, after 10 s or more; the nanny is the subject.

    Attributes:
        pid: Process id of the worker.
        lasted: Seconds since its nanny began to start it.
        kernel: The function of Linux in which its main thread sleeps; empty: it runs, or Linux
            does not tell; null: not known.
        files: Five files that it has open, without programs and devices.
    """

    kind: ClassVar[str] = "worker-starting"

    pid: int | None = None
    lasted: float = 0.0
    kernel: str | None = None
    files: tuple[str, ...] = ()


class WorkerAdded(Event, frozen=True, kw_only=True):
    """A worker joined the cluster; its address is the subject.

    Attributes:
        name: Name of the worker.
        host: Host name or IP address.
        pid: Process id.
        nanny: Address of its nanny; null without one.
        nthreads: Threads that run tasks.
        memory_limit: Bytes; 0: no limit.
        resources: Abstract resources (`GPU`) and their amounts.
        local_directory: Where it spills to.
        python: Version of Python.
        packages: Versions of the packages that Dask compares; null: not installed.
        scheduler: Address of its scheduler.
    """

    kind: ClassVar[str] = "worker-added"

    name: str | None = None
    host: str | None = None
    pid: int | None = None
    nanny: str | None = None
    nthreads: int | None = None
    memory_limit: int | None = None
    resources: dict[str, float | int] | None = None
    local_directory: str | None = None
    python: str | None = None
    packages: dict[str, object] = {}
    scheduler: str | None = None


class WorkerRemoved(Event, frozen=True, kw_only=True):
    """The scheduler removed a worker.

    Attributes:
        stimulus_id: What made the scheduler remove it.
        expected: Whether the scheduler expected it to leave.
        processing: Keys of the tasks that were assigned to it (1,000 at most).
        lost_computed: Results that only it held and that must be computed again.
        lost_scattered: Keys of scattered data that only it held: lost permanently.
    """

    kind: ClassVar[str] = "worker-removed"

    stimulus_id: str | None = None
    expected: bool | None = None
    processing: tuple[str, ...] = ()
    lost_computed: int = 0
    lost_scattered: tuple[str, ...] = ()


class ExecutingTask(Part, frozen=True, kw_only=True):
    """A task that was executing.

    Attributes:
        key: The task.
        start: Epoch seconds at which it started.
        thread: Identifier of its thread, as in `stack`; null: not sampled.
        native: Identifier that the operating system has for that thread.
        cpu: CPU seconds that its thread has used for it; null: not sampled.
    """

    key: str = ""
    start: float | None = None
    thread: int | None = None
    native: int | None = None
    cpu: float | None = None


class MemorySample(msgspec.Struct, frozen=True, array_like=True):
    """The memory of a process at a moment.

    Attributes:
        at: Epoch seconds.
        rss: Bytes.
    """

    at: float
    rss: int


class ProcessState(Part, frozen=True, kw_only=True):
    """The process of a worker that does not answer, as its nanny sees it.

    Attributes:
        state: `alive`, `stopped` (SIGSTOP), `traced`, `in the kernel`; empty: it had ended.
        watched: Seconds for which it was watched; null: it was not.
        cpu: CPU seconds that the process used in that time; null: unknown.
        busy_thread: Native id of the thread that used most of it, if that computed for most of
            the time.
        executing: The tasks that it was executing.
        native: Frames of the thread that had Python's lock or computed, native ones included,
            the innermost first; empty: py-spy was not asked, or failed.
        native_failed: Why it failed; empty: it did not.
    """

    state: str = ""
    watched: float | None = None
    cpu: float | None = None
    busy_thread: int | None = None
    executing: tuple[ExecutingTask, ...] = ()
    native: tuple[str, ...] = ()
    native_failed: str = ""

    @property
    def is_stopped(self) -> bool:
        """Whether a signal or a debugger has stopped it."""
        return self.state in {"stopped", "traced"}


class WorkerExitReport(Event, frozen=True, kw_only=True):
    """How a worker's process ended, as its nanny and its ring buffer report it.

    Attributes:
        pid: Its process; null: there was nothing left to read.
        worker: Its address; null: see `pid`.
        exit_code: Of the process; negative: minus the signal; null: unknown.
        signal: Name of the signal that ended it.
        by: Who reports it, if not its nanny: `watcher`, `recorder`, `itself`, `the nanny's log`.
        alive: State of the process, if it had not exited: `alive`, `stopped`, … or true.
        asked_to_close: Whether its nanny had been asked to close or kill it.
        close_reason: The reason that was given for that.
        when_killed: In what state it was when its nanny killed it; null: it was not killed.
        executing: The tasks that it was executing.
        stack: Its Python stacks, written at a fault, a SIGTERM, `os._exit` or before its nanny
            killed it.
        memory: The last samples of its memory.
        oom_kills: How often the kernel killed a process of its cgroup for memory meanwhile.
        host_oom_kills: How often it killed any process of its host for that; null: it does not
            count.
        cgroup_limit: Bytes that its cgroup may use, if the kernel killed there.
        nanny: Address of its nanny.
        lines_overwritten: Log lines of its ring buffer that newer ones have replaced.
        observed_at: Epoch seconds at which its exit was observed (the event may be later).
    """

    kind: ClassVar[str] = "worker-exit-report"

    pid: int | None = None
    worker: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    by: str | None = None
    alive: str | bool | None = None
    asked_to_close: bool | None = None
    close_reason: str | None = None
    when_killed: ProcessState | None = None
    executing: tuple[ExecutingTask, ...] = ()
    stack: str = ""
    memory: tuple[MemorySample, ...] = ()
    oom_kills: int | None = None
    host_oom_kills: int | None = None
    cgroup_limit: int | None = None
    nanny: str | None = None
    lines_overwritten: int = 0
    observed_at: float | None = None


class ProcessPaused(Event, frozen=True, kw_only=True):
    """A process was stopped and continued, or the recorder itself did not run for a while.

    The moment is the end of the pause; the subject is a worker's address, `driver` or `recorder`.

    Attributes:
        pid: Process id; null: the recorder's own.
        seconds: How long it was paused.
    """

    kind: ClassVar[str] = "process-paused"

    pid: int | None = None
    seconds: float = 0.0


class NannyLost(Event, frozen=True, kw_only=True):
    """A worker's nanny disappeared together with the worker.

    Attributes:
        nanny: Address of the nanny.
        pid: Process id of the worker.
        error: The error of connecting to the nanny.
    """

    kind: ClassVar[str] = "nanny-lost"

    nanny: str | None = None
    pid: int | None = None
    error: str | None = None


class NannyResponded(Event, frozen=True, kw_only=True):
    """The nanny of a removed worker runs, but reports nothing of the worker's exit.

    Attributes:
        nanny: Address of the nanny.
        pid: Process id of the worker.
    """

    kind: ClassVar[str] = "nanny-responded"

    nanny: str | None = None
    pid: int | None = None


class WorkerUnresponsive(Event, frozen=True, kw_only=True):
    """A worker had not sent anything for a while when the last rows were pulled.

    Attributes:
        pid: Process id of the worker.
        silent_for: Seconds since its last message.
        lines_read: Whether the recorder has read its last log lines on the same host.
    """

    kind: ClassVar[str] = "worker-unresponsive"

    pid: int | None = None
    silent_for: float | None = None
    lines_read: bool = False


class WorkerClosing(Event, frozen=True, kw_only=True):
    """A worker announced that it closes.

    Attributes:
        reason: The reason that it gave.
    """

    kind: ClassVar[str] = "worker-closing"

    reason: str | None = None


class WorkerStatusChanged(Event, frozen=True, kw_only=True):
    """A worker changed its status.

    Attributes:
        before: `running`, `paused`, `closing_gracefully`, …
        after: The new one.
    """

    kind: ClassVar[str] = "worker-status"

    before: str | None = None
    after: str | None = None


class WorkerRestartedForMemory(Event, frozen=True, kw_only=True):
    """A nanny restarted its worker at `memory.terminate`.

    Attributes:
        pid: Process id of the worker.
        rss: Bytes that it used.
    """

    kind: ClassVar[str] = "worker-restarted-for-memory"

    pid: int | None = None
    rss: int | None = None


class WorkerInternalError(Event, frozen=True, kw_only=True):
    """A worker closed because of an error inside Dask's own worker code.

    Attributes:
        message: What Dask logged.
    """

    kind: ClassVar[str] = "worker-failed-hard"

    message: object = None


class WorkerHeartbeatTimedOut(Event, frozen=True, kw_only=True):
    """The scheduler gave a worker up: it sent no heartbeat for `worker-ttl`.

    Attributes:
        ttl: Seconds.
    """

    kind: ClassVar[str] = "worker-ttl"

    ttl: float | None = None


class WorkersRetired(Event, frozen=True, kw_only=True):
    """The scheduler retired workers (scaling down, `client.retire_workers`).

    Attributes:
        workers: Their addresses.
    """

    kind: ClassVar[str] = "workers-retired"

    workers: tuple[str, ...] = ()


class ActorLost(Event, frozen=True, kw_only=True):
    """The worker that held an actor left; the actor's key is the subject.

    Attributes:
        worker: Address of the worker.
    """

    kind: ClassVar[str] = "actor-lost"

    worker: str | None = None


class ActorMethod(UserCodeEvent, frozen=True, kw_only=True):
    """A method of an actor ran for a long time; the address of its worker is the subject.

    Reported after 5 s, each time its duration has doubled, and when it has returned; at most
    100 times per worker.  Coroutines are not reported.

    Attributes:
        method: Name of the actor's class, or of its key, and of the method.
        since: When it was seen first.
        returned: It no longer runs.
        calls_actor: It was waiting for a method of an actor.
        file: File of the user's own line that it was at.
        line: Number of that line.
        function: Function of that line.
    """

    kind: ClassVar[str] = "actor-method"

    method: str = ""
    since: float = 0.0
    returned: bool = False
    calls_actor: bool = False


class InstalledPackages(Event, frozen=True, kw_only=True):
    """All packages that are installed where a scheduler or a worker runs.

    A worker of each of the first hosts is asked; equal answers are recorded once.

    Attributes:
        role: `scheduler` or `worker`.
        packages: Version by name.
        image: Environment variables that name a container image, a release or a commit.
        config: Settings of a worker that differ from the scheduler's; null: not set there.
    """

    kind: ClassVar[str] = "packages"

    role: str | None = None
    packages: dict[str, str | None] = {}
    image: dict[str, str] = {}
    config: dict[str, object] = {}


class ProcessLoad(Event, frozen=True, kw_only=True):
    """The load of a worker's process, every ten seconds; its address is the subject.

    Attributes:
        seconds: What the numbers cover.
        cpu: CPU seconds of the process.
        children: CPU seconds of programs that it started and that ended.
        gc: Seconds of full garbage collections.
        host_busy: CPU seconds of the whole host.
        host_stolen: CPU seconds that the hypervisor took from the host.
        host_swapped: Bytes that the host moved to and from its swap.
        wakeups: How often a thread woke up that sleeps 100 ms at a time.
        late_wakeups: How often it woke up 4 ms late or more.
        late_seconds: Seconds that it was late in sum, which is how long it waited for the GIL.
        peak_memory: Bytes, of ten samples a second.
        cores: Cores that the process may use.
        native_threads: Threads that libraries may start for a task (`OMP_NUM_THREADS`).
        host_memory: Bytes of the host.
        disk_free: Bytes that the disk of its local directory has left, once it has spilled.
    """

    kind: ClassVar[str] = "process-load"

    seconds: float = 0.0
    cpu: float | None = None
    children: float | None = None
    gc: float | None = None
    host_busy: float | None = None
    host_stolen: float | None = None
    host_swapped: float | None = None
    wakeups: int = 0
    late_wakeups: int = 0
    late_seconds: float = 0.0
    peak_memory: int | None = None
    cores: int | float | None = None
    native_threads: int | None = None
    host_memory: int | None = None
    disk_free: int | None = None


class OpenedByFailedTask(Event, frozen=True, kw_only=True):
    """The files that a task which failed had opened to read; its key is the subject.

    Attributes:
        files: Their paths, what it opened last first, five at most.
    """

    kind: ClassVar[str] = "task-opened-files"

    files: tuple[str, ...] = ()


class FilesRead(Event, frozen=True, kw_only=True):
    """The files that tasks of one prefix opened to read on a worker since its last report.

    The key of the task that opened the largest is the subject.  Only what Python's `open`
    and fsspec open is seen, not what libraries open by themselves (Arrow, HDF5); modules and
    the system's own files are left out.

    Attributes:
        worker: Its address.
        prefix: The prefix.
        files: Size in bytes of each file that such a task on this worker opened first, by a
            digest of its path; 300 of a worker at most.
        more: How often others were opened.
        more_bytes: Their sizes in sum, a file that was opened again included.
        largest: Path of the largest.
        missed: Files that were not counted, of any prefix.
    """

    kind: ClassVar[str] = "files-read"

    worker: str | None = None
    prefix: str = ""
    files: dict[str, int] = {}
    more: int = 0
    more_bytes: int = 0
    largest: str = ""
    missed: int = 0


class ResultCached(Event, frozen=True, kw_only=True):
    """A task's result came from its host's cache; its key is the subject.

    To Dask it was executed like any other.
    """

    kind: ClassVar[str] = "result-cached"


class TaskNotRun(Event, frozen=True, kw_only=True):
    """A task's host did not run its function, because its inputs had failed; its key is the subject.

    To Dask it was executed like any other, and finished.
    """

    kind: ClassVar[str] = "task-not-run"


class TaskFailedForHost(Event, frozen=True, kw_only=True):
    """A task's function raised, which its host returned as a state; its key is the subject.

    To Dask it was executed like any other, and finished.
    """

    kind: ClassVar[str] = "task-failed"


class ResultSize(Event, frozen=True, kw_only=True):
    """How large a result is that its host wraps; the task's key is the subject.

    Dask takes the wrapper (a state of Prefect's) for some hundred bytes.  Results of less
    than 64 KiB are not reported.  The table `tasks` has this size instead of Dask's.

    Attributes:
        nbytes: Its size, as Dask would count it without the wrapper.
        unmeasured: Results before it whose size is not known: too many finished at once.
    """

    kind: ClassVar[str] = "result-size"

    nbytes: int = 0
    unmeasured: int = 0
