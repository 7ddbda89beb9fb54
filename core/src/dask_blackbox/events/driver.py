"""Events about the driver's process."""

from __future__ import annotations

from typing import ClassVar

from dask_blackbox.events.base import Event, Part, UserCodeEvent


class GitCommit(Part, frozen=True, kw_only=True):
    """The commit that is checked out in the folder of the driver's code.

    Attributes:
        commit: Its hash.
        committed: When, in ISO 8601.
    """

    commit: str | None = None
    committed: str | None = None


class FunctionCode(Part, frozen=True, kw_only=True):
    """A function of the user's.

    Attributes:
        name: Qualified name.
        module: Module.
        file: Source file.
        line: First line.
        hash: Of what it does.
    """

    name: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None
    hash: str | None = None


class ClusterKind(Part, frozen=True, kw_only=True):
    """The cluster object of a client.

    Attributes:
        kind: Its class.
        image: Its container image.
        scheduler: Address of its scheduler, if the driver has to close it.
        owned: Id of that scheduler; empty: another process closes the cluster.
        gateway: Address of the dask-gateway's API that it belongs to; empty: to none.
        name: What its manager calls it: the gateway's name, Coiled's or Databricks' id, YARN's
            application id, the name or id that dask-cloudprovider gave it.
        page: Address of its page at its manager; empty: not known.
        units: Ids of the units (jobs of a queue, instances of a cloud) that it had requested, by
            its own names.
        folder: Where the manager writes the logs of these, if the cluster object says it.
    """

    kind: str | None = None
    image: str | None = None
    scheduler: str = ""
    owned: str = ""
    gateway: str = ""
    name: str = ""
    page: str = ""
    units: dict[str, str] = {}
    folder: str | None = None


class DriverAttached(Event, frozen=True, kw_only=True):
    """The driver's process and, in an event of its own, each client that it connected.

    Attributes:
        pid: Process id.
        ancestors: Process ids of its ancestors with their start times, the parent first.
        boot: Names the running kernel and the space of process ids.
        argv: Its command.
        cwd: Working directory.
        machine: Host name.
        python: Version of Python.
        packages: Version by name of all that is installed; null: not installed.
        config: The Dask configuration, redacted.
        code_folder: The folder of its own code.
        git: Commit of its code, of recordings before `driver-code` had it.
        callable: The function that the run is.
        parameters: What the orchestrator passed.
        client: Id of a client that it connected.
        cluster: The cluster object of that client.
        image: Environment variables that name a container image, a release or a commit.
        unguarded: File and line of the main module at which it does its work whenever it
            is imported: without `if __name__ == "__main__":`.
    """

    kind: ClassVar[str] = "driver-attached"

    pid: int | None = None
    ancestors: tuple[tuple[int, str | None], ...] = ()
    boot: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    machine: str | None = None
    python: str | None = None
    packages: dict[str, object] = {}
    config: dict[str, object] = {}
    code_folder: str | None = None
    git: GitCommit | None = None
    callable: FunctionCode | None = None
    parameters: dict[str, object] | None = None
    client: str | None = None
    cluster: ClusterKind | None = None
    image: dict[str, str] = {}
    unguarded: str | None = None


class GatewayCluster(Event, frozen=True, kw_only=True):
    """The state of a cluster as its dask-gateway knows it: when a client joins and leaves.

    The subject is the address of its scheduler.

    Attributes:
        name: The gateway's name of it.
        state: `PENDING`, `RUNNING`, `STOPPING`, `STOPPED` or `FAILED`; empty: not known.
        error: Why the gateway did not say it.
    """

    kind: ClassVar[str] = "gateway-cluster"

    name: str = ""
    state: str = ""
    error: str = ""


class Machine(Part, frozen=True, kw_only=True):
    """The machine that the driver runs on.

    Attributes:
        system: Operating system and version.
        machine: Architecture.
        cores: Number of cores.
        memory: As text (`15.6 GiB`).
    """

    system: str | None = None
    machine: str | None = None
    cores: int | None = None
    memory: str | None = None


class DriverCode(Event, frozen=True, kw_only=True):
    """The user's own code that the driver has loaded; several events add up.

    Attributes:
        modules: Hash of what it does, by module.
        parts: By `module:name`, file, line and hash of a function, a class or a constant.
        sources: By `module:name`, the text of a function or a constant, where
            `blackbox.capture.source` asks for it.
        environment: Environment variables that this code names: numbers as they are, of
            anything else a digest.
        machine: The machine that it runs on.
        git: Commit of its files.
        dirty: Whether files differ from the git commit; null: unknown.
        late: Not all modules were hashed by the end of the run, so that its code cannot be
            compared.
    """

    kind: ClassVar[str] = "driver-code"

    modules: dict[str, str] = {}
    parts: dict[str, str] = {}
    sources: dict[str, str] = {}
    environment: dict[str, str] = {}
    machine: Machine | None = None
    git: GitCommit | None = None
    dirty: bool | None = None
    late: bool = False


class WorkerCode(Event, frozen=True, kw_only=True):
    """The user's own modules that the traceback of a failed task names, as its worker has them.

    The subject is the key of the task; of a worker, the first five failures are looked at.
    Two other workers are asked for the same modules.

    Attributes:
        worker: Address of the worker; null in older recordings: the one on which the task
            failed.
        modules: Hash of what it does, by module; comparable with that of `DriverCode`.
        files: The file of each.
        defining: Those of them that define the class or function which the exception names.
    """

    kind: ClassVar[str] = "worker-code"

    worker: str | None = None
    modules: dict[str, str] = {}
    files: dict[str, str] = {}
    defining: tuple[str, ...] = ()


class StateChange(Part, frozen=True, kw_only=True):
    """What belongs to a whole process, and is different since its recording began.

    Attributes:
        name: `default timeout of sockets`, `recursion limit`, `locale`, `time zone`,
            `warnings raised as errors`, `RLIMIT_AS` and its like, or
            `environment variable NAME`.
        before: Its value then; of environment variables, only whether it was set.
        now: Its value now, likewise.
    """

    name: str = ""
    before: str = ""
    now: str = ""


class ProcessChanged(Event, frozen=True, kw_only=True):
    """The state of a worker's process was another one than at its start when a task failed.

    The subject is the key of the task; of a worker, the first five failures are looked at.

    Attributes:
        changes: What was different, whatever changed it.
    """

    kind: ClassVar[str] = "process-changed"

    changes: tuple[StateChange, ...] = ()


class DriverForked(UserCodeEvent, frozen=True, kw_only=True):
    """The driver forked a process while it had a client.

    The child has the client's object, but not the thread of its event loop: whatever it asks of
    that client never returns.

    Attributes:
        pid: Process id of the driver.
    """

    kind: ClassVar[str] = "driver-forked"

    pid: int | None = None


class KeyReused(Event, frozen=True, kw_only=True):
    """The driver gave the key of a result that it still held to a different task.

    `Client.submit` and `Client.map` return the first result then; of a delayed function that
    was called with `dask_key_name=`, the scheduler ignores the second task.  Only tasks whose
    functions, or short arguments, differ are reported.

    Attributes:
        pid: Process id of the driver.
        key: The key.
        task: Name of the function that was not called.
        file: File of the user's line that passed the key.
        line: That line.
        function: Function of that line.
        delayed: Whether it is a delayed function, whose graph may be sent later, or never.
    """

    kind: ClassVar[str] = "key-reused"

    pid: int | None = None
    key: str = ""
    task: str = ""
    file: str | None = None
    line: int | None = None
    function: str | None = None
    delayed: bool = False


class CallsMerged(Event, frozen=True, kw_only=True):
    """The driver called a function that draws random numbers again with equal arguments.

    `Client.submit` and `Client.map` make equal calls one task while its future is held, unless
    they are given `pure=False`.  Of a function, the first, second, fourth, … such call is
    reported.

    Attributes:
        pid: Process id of the driver.
        key: The key of the task.
        task: Name of the function.
        draws: The names in it that show that it draws random numbers.
        calls: How many calls of it were no tasks of their own so far.
        file: File of the user's line that called it.
        line: That line.
        function: Function of that line.
    """

    kind: ClassVar[str] = "calls-merged"

    pid: int | None = None
    key: str = ""
    task: str = ""
    draws: tuple[str, ...] = ()
    calls: int = 0
    file: str | None = None
    line: int | None = None
    function: str | None = None


class DriverWarning(Event, frozen=True, kw_only=True):
    """Python's `warnings` showed a warning in the driver.

    Attributes:
        category: Its class.
        message: Its text.
        filename: Where.
        lineno: Which line.
    """

    kind: ClassVar[str] = "driver-warning"

    category: str | None = None
    message: str | None = None
    filename: str | None = None
    lineno: int | None = None


class SchedulerFile(Part, frozen=True, kw_only=True):
    """The file in which a client looks for the address of its scheduler.

    Attributes:
        path: Of the file, absolute.
        written: When it was written last, epoch seconds; absent: it did not exist.
    """

    path: str = ""
    written: float | None = None


class ClientConnecting(Part, frozen=True, kw_only=True):
    """A client that has not reached a scheduler yet.

    Attributes:
        address: Of the scheduler.
        lasted: Seconds so far.
        scheduler_file: Where it looks for the address, if it was given a file.
    """

    address: str | None = None
    lasted: float = 0.0
    scheduler_file: SchedulerFile | None = None


class DriverBlocked(Event, frozen=True, kw_only=True):
    """The driver has been at one line of the user's code for `stall.after` or longer.

    Attributes:
        lasted: Seconds so far.
        cpu: Seconds on a core meanwhile; null where the system does not measure it (macOS).
        stack: Frames as Python prints them; the innermost is last.
        connecting: Clients that have not reached a scheduler yet.
        other_ended: Whether it is the main thread, which is looked at since the thread that
            drove the run has ended.
    """

    kind: ClassVar[str] = "driver-blocked"

    lasted: float = 0.0
    cpu: float | None = None
    stack: tuple[str, ...] = ()
    connecting: tuple[ClientConnecting, ...] = ()
    other_ended: bool = False


class DriverUnblocked(Event, frozen=True, kw_only=True):
    """The driver has left the line at which it was blocked.

    Attributes:
        lasted: Seconds.
    """

    kind: ClassVar[str] = "driver-unblocked"

    lasted: float = 0.0


class DriverRaised(UserCodeEvent, frozen=True, kw_only=True):
    """An exception ends the driver's process.

    Attributes:
        exception: Qualified name of its class.
        bases: What that derives from, up to `BaseException`.
        message: Its text.
        traceback: As Python prints it, chained causes included.
        chain: Class names from the outermost to the root cause.
        chain_ids: Distinguish the exception objects of the chain from others of the process.
        handled: Class and message of what was being handled when it was raised `from None`.
        key: Key of the task that it came from.
        plugin: Class of the plugin that the driver was registering.
        found: Where the driver itself has a module that was missing: `module`, `file`,
            `package`, `version`.
        cleanup: Whether a `finally:` raised it, while another exception was on its way.
        related_errors: Ids of errors that had been handled and led to it, as the code shows.
        missed_results: Ids of those that kept it from setting what it then used.
        unrelated_errors: Ids of those that nothing in the code ties to it.
        pid: Id of the process, under `dask blackbox run`.
        parents: Ids of the command's Python processes that it descends from.
    """

    kind: ClassVar[str] = "driver-exception"

    exception: str | None = None
    bases: tuple[str, ...] = ()
    message: str | None = None
    traceback: str | None = None
    chain: tuple[str, ...] = ()
    chain_ids: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    key: str | None = None
    plugin: str | None = None
    found: dict[str, str] = {}
    cleanup: bool = False
    related_errors: tuple[str, ...] = ()
    missed_results: tuple[str, ...] = ()
    unrelated_errors: tuple[str, ...] = ()
    pid: int | None = None
    parents: tuple[int, ...] = ()


class DriverLoad(Event, frozen=True, kw_only=True):
    """What the driver's main thread did since it was attached (Linux only).

    Attributes:
        pid: Process id.
        seconds: Since it was attached.
        cpu: Seconds on a core.
        delayed: Seconds that it waited for a core that others had.
    """

    kind: ClassVar[str] = "driver-load"

    pid: int | None = None
    seconds: float = 0.0
    cpu: float = 0.0
    delayed: float = 0.0


class HostOverloaded(Event, frozen=True, kw_only=True):
    """The host of the driver had no core left, swapped, or only waited for its disk (Linux only).

    One for each five seconds or so of that; the moment is their end.

    Attributes:
        seconds: What the numbers cover.
        cores: That the host has.
        busy: CPU seconds of the whole host.
        stolen: CPU seconds that its hypervisor took.
        own: CPU seconds of the run's processes on it; null: not known.
        swapped: Bytes that it moved to and from its swap.
        disk_waits: Seconds in which all that was to run waited for a disk.
    """

    kind: ClassVar[str] = "host-overloaded"

    seconds: float = 0.0
    cores: int = 1
    busy: float | None = None
    stolen: float | None = None
    own: float | None = None
    swapped: float | None = None
    disk_waits: float | None = None


class DriverEnded(Event, frozen=True, kw_only=True):
    """A signal ended the recorded command.

    Attributes:
        state: State of the run.
        exit_code: As the shell has it, or negative: minus the signal.
        signal: Number of the signal.
        oom_kills: How often the kernel killed for memory during the run, where it ran.
    """

    kind: ClassVar[str] = "driver-ended"

    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    oom_kills: int | None = None


class RunEnded(Event, frozen=True, kw_only=True):
    """The run ended; repeats `complete.json` for readers who find that damaged.

    Attributes:
        state: State of the run.
        lasted: Seconds since its start by a monotonic clock, as in `complete.json`.
        exit_code: Of the command, where there was one.
        exception: What ended the driver's work, as in `complete.json`.
        stopped: Who ended the run from outside, as in `complete.json`.
    """

    kind: ClassVar[str] = "run-ended"

    state: str | None = None
    lasted: float | None = None
    exit_code: int | None = None
    exception: dict[str, object] | None = None
    stopped: dict[str, object] | None = None


class ClusterOrphaned(Event, frozen=True, kw_only=True):
    """A cluster that the driver had started still answered when the driver was gone.

    Attributes:
        scheduler: Id of its scheduler; the subject is its address.
        closed: Whether the recorder could close it.
        error: Why not.
        run: The run whose driver had started it, as `JOB/RUN/ATTEMPT`; empty: this one.
    """

    kind: ClassVar[str] = "cluster-orphaned"

    scheduler: str = ""
    closed: bool = False
    error: str = ""
    run: str = ""


class WrapperLost(Event, frozen=True, kw_only=True):
    """The process of `dask blackbox run` ended before its command, which continued.

    Attributes:
        pid: Process id.
        how: How the recorder noticed.
        exit_code: Negative: minus the signal; null: unknown.
        oom_kills: How often the kernel killed for memory during the run, where it ran.
        command: Process id of the command, or of its process that owns the client.
    """

    kind: ClassVar[str] = "wrapper-lost"

    pid: int | None = None
    how: str | None = None
    exit_code: int | None = None
    oom_kills: int | None = None
    command: int | None = None


class DriverLost(Event, frozen=True, kw_only=True):
    """The driver's process ended without reporting to the recorder.

    Attributes:
        pid: Process id.
        how: How the recorder noticed.
        exit_code: Negative: minus the signal; null: unknown.
        oom_kills: How often the kernel killed for memory during the run, where it ran.
    """

    kind: ClassVar[str] = "driver-lost"

    pid: int | None = None
    how: str | None = None
    exit_code: int | None = None
    oom_kills: int | None = None
