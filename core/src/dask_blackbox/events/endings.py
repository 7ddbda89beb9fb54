"""Events about how the driver's work ended, and about what its script did to its cluster."""

from __future__ import annotations

from typing import ClassVar

from dask_blackbox.events.base import Event, Part, UserCodeEvent
from dask_blackbox.events.driver import DriverRaised, SchedulerFile


class DriverCallFailed(UserCodeEvent, frozen=True, kw_only=True):
    """A call to Dask raised an exception in the driver.

    Attributes:
        pid: Process id of the driver.
        call: Name of the call.
        exception: Qualified name of the exception's class.
        bases: Qualified names of the bases of that class, the nearest first.
        message: Its text, redacted and cut.
        key: Of the task that it came from, where that is known.
        identity: Distinguishes the exception object from others of the process that exist.
        id: Of this error; no other of the run has it.
        main: Whether it was raised in the main thread.
        traceback: Its end, of a graph that could not be sent; else empty.
        address: Of the scheduler that a client was still trying to reach.
        scheduler_file: Where such a client looked for the address, if it was given a file.
        found: If a module was missing on a worker: where the driver has it, as in
            `driver-exception`; absent if none was missing.
    """

    kind: ClassVar[str] = "driver-call-failed"

    pid: int | None = None
    call: str = ""
    exception: str = ""
    bases: tuple[str, ...] = ()
    message: str = ""
    key: str | None = None
    identity: str | None = None
    id: str = ""
    main: bool | None = None
    traceback: str = ""
    address: str | None = None
    scheduler_file: SchedulerFile | None = None
    found: dict[str, str] | None = None


class DriverErrorLogged(UserCodeEvent, frozen=True, kw_only=True):
    """The driver's own code logged an exception that it had handled, and that no call to Dask raised.

    Attributes:
        pid: Process id of the driver.
        exception: Qualified name of the exception's class.
        bases: Qualified names of the bases of that class, the nearest first.
        message: Its text, redacted and cut.
        traceback: Its end.
        identity: Distinguishes the exception object from others of the process that exist.
        id: Of this error; no other of the run has it.
    """

    kind: ClassVar[str] = "driver-error-logged"

    pid: int | None = None
    exception: str = ""
    bases: tuple[str, ...] = ()
    message: str = ""
    traceback: str = ""
    identity: str | None = None
    id: str = ""


class DriverClosing(Event, frozen=True, kw_only=True):
    """The driver closes a client or a cluster.

    Attributes:
        pid: Process id of the driver.
        what: The call: `Client.close`, `LocalCluster.close`, `Client.shutdown`.
        handling: Identity of the exception that was being handled; null: none was.
        exiting: Identities of the exceptions for which `SystemExit` was raised, where that was
            being handled; the first one last.
        ends_workers_of: Address of the scheduler whose workers this ends, empty: not known; null:
            it ends none.
        file: File of the user's line; null: Dask itself did it at the end of the process.
        line: That line.
        function: Function of that line.
    """

    kind: ClassVar[str] = "driver-closing"

    pid: int | None = None
    what: str = ""
    handling: str | None = None
    exiting: tuple[str, ...] = ()
    ends_workers_of: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None


class WorkersEndedByCluster(Event, frozen=True, kw_only=True):
    """A cluster object of the driver is about to end workers: `scale`, `adapt` or `close`.

    Or the scheduler heard that a cluster object in any process is, or that a gateway is about
    to stop a cluster that was idle.

    Attributes:
        pid: Process id of the driver; None: the scheduler heard it.
        cluster: Class of the cluster object, or `dask-gateway`; empty: the scheduler does not
            know which cluster object asks.
        scheduler: Address of its scheduler.
        workers: Their names, as the cluster object calls them; a unit of several workers
            (a job of a queue) has one.
        more: How many names were left out.
    """

    kind: ClassVar[str] = "workers-ended-by-cluster"

    pid: int | None = None
    cluster: str = ""
    scheduler: str | None = None
    workers: tuple[str, ...] = ()
    more: int = 0


class DriverRestart(UserCodeEvent, frozen=True, kw_only=True):
    """The driver's own code called `client.restart`, which cancels all futures.

    Attributes:
        pid: Process id of the driver.
        file: File of the user's line.
        line: That line.
        function: Function of that line.
    """

    kind: ClassVar[str] = "driver-restart"

    pid: int | None = None


class DriverCancel(UserCodeEvent, frozen=True, kw_only=True):
    """The driver's own code called `client.cancel`, or `cancel` of a future.

    Calls of asynchronous clients are not seen.

    Attributes:
        pid: Process id of the driver.
        futures: How many futures or collections it was given.
        reason: The reason that it gave, which Dask adds to its message; null: none.
    """

    kind: ClassVar[str] = "driver-cancel"

    pid: int | None = None
    futures: int = 0
    reason: str | None = None


class DriverSkipped(UserCodeEvent, frozen=True, kw_only=True):
    """The driver's own code gathered results without those that failed (`errors="skip"`).

    Attributes:
        pid: Process id of the driver.
        futures: How many futures it was given.
        skipped: How many of them had no result.
        keys: Their keys, ten at most.
    """

    kind: ClassVar[str] = "driver-skipped"

    pid: int | None = None
    futures: int = 0
    skipped: int = 0
    keys: tuple[str, ...] = ()


class ClientDisconnected(Event, frozen=True, kw_only=True):
    """A client of the driver lost the connection to its scheduler without closing it.

    Dask cancels its futures then, and raises that only where their results are read.

    Attributes:
        pid: Process id of the driver.
        scheduler: The scheduler's address.
        futures: How many futures the client held.
        pending: How many of them had neither finished nor failed.
    """

    kind: ClassVar[str] = "client-disconnected"

    pid: int | None = None
    scheduler: str = ""
    futures: int = 0
    pending: int = 0


class DriverSignalled(UserCodeEvent, frozen=True, kw_only=True):
    """The driver's own code sent a signal to a process.

    Attributes:
        pid: Process id of the driver.
        target: Process id, or process group, that got the signal.
        group: Whether it was sent to a process group.
        signal: Its name.
        scheduler: The address of a scheduler that it was started with, if it is a `dask worker`.
        handling: Identity of the exception that was being handled; null: none was.
        received: Id of the newest error of a call to Dask that a function on the stack had
            received; null: none had.
    """

    kind: ClassVar[str] = "driver-signalled"

    pid: int | None = None
    target: int | None = None
    group: bool = False
    signal: str = ""
    scheduler: str | None = None
    handling: str | None = None
    received: str | None = None


class TaskSignalled(UserCodeEvent, frozen=True, kw_only=True):
    """Code in a worker's process sent a signal to a process that it had not started itself.

    The subject is the key of the task, or the worker's address where a thread of no task sent it.

    Attributes:
        pid: Process id of the worker.
        target: Process id, or process group, that got the signal.
        group: Whether it was sent to a process group.
        signal: Its name.
    """

    kind: ClassVar[str] = "task-signalled"

    pid: int | None = None
    target: int | None = None
    group: bool = False
    signal: str = ""


class ProgramFailed(UserCodeEvent, frozen=True, kw_only=True):
    """A program that the user's own code had started exited with an error.

    The subject is `driver`, or the key of the task that started it.

    Attributes:
        pid: Process id of the driver, or of the worker.
        program_pid: Process id of the program; null: that of a shell (`os.system`).
        command: Its command, redacted and cut.
        code: Its exit code; negative: the number of the signal that ended it.
        started: When it was started, epoch seconds.
        error: The last line of its standard error, where the user's code read it.
    """

    kind: ClassVar[str] = "program-failed"

    pid: int | None = None
    program_pid: int | None = None
    command: str = ""
    code: int | None = None
    started: float | None = None
    error: str = ""


class DirectoryChange(Part, frozen=True, kw_only=True):
    """What changed the working directory of a process last.

    Attributes:
        before: The directory when recording began in this process.
        now: The directory now; null: it has been removed.
        exists: The missing file is there, relative to `before`.
        at: When, epoch seconds.
        subject: `driver`, or the key of the task whose code did it.
        file: File of the user's line.
        line: That line.
        function: Function of that line.
    """

    before: str = ""
    now: str | None = None
    exists: bool = False
    at: float = 0.0
    subject: str = ""
    file: str | None = None
    line: int | None = None
    function: str | None = None


class MissingFile(Event, frozen=True, kw_only=True):
    """Where a file should have been that an exception reports as missing.

    The subject is `driver`, or the key of the task that did not find it.  All fields are
    as its process saw them right after the exception; of a worker, 50 at most.

    Attributes:
        pid: Process id of the driver; null: of a worker.
        path: The file, absolute.
        relative: It was named relative to the working directory.
        exists: It was there when this was looked at.
        folder: The nearest folder above it that exists.
        changed: When an entry of that folder was made, removed or renamed last, epoch
            seconds by the clock of the file system.
        entries: How many entries the folder has, up to 1,000.
        moved: What had changed the working directory, where the path is relative.
        with_driver: The file that the path means in the driver's working directory; null: there
            is none, or the worker does not see it.
    """

    kind: ClassVar[str] = "missing-file"

    pid: int | None = None
    path: str = ""
    relative: bool = False
    exists: bool = False
    folder: str = ""
    changed: float | None = None
    entries: int | None = None
    moved: DirectoryChange | None = None
    with_driver: str | None = None


class FileRemoved(UserCodeEvent, frozen=True, kw_only=True):
    """The user's own code removed or renamed a file.

    The subject is `driver`, of which only what an exception names is recorded, or the key
    of a task: of a worker's tasks the first 100 removals, the newest 100, and those that an
    exception on this worker names.

    Attributes:
        pid: Process id of the driver; null: of a worker.
        path: The file or folder.
        action: `removed` or `renamed`.
    """

    kind: ClassVar[str] = "file-removed"

    pid: int | None = None
    path: str = ""
    action: str = "removed"


class DriverGotSignal(Event, frozen=True, kw_only=True):
    """`dask blackbox run` got a signal that ends the command, and passed it on.

    Attributes:
        signal: Its name.
    """

    kind: ClassVar[str] = "driver-got-signal"

    signal: str = ""


class DriverExit(UserCodeEvent, frozen=True, kw_only=True):
    """The driver called `sys.exit`, or raised `SystemExit` through a `with` of Dask's, and failed.

    Attributes:
        pid: Process id of the driver.
        code: The exit code.
        call: What ended it: `sys.exit`, or `os._exit`, which runs nothing else.
        handling: Identity of the exception that was being handled; null: none was.
        related_errors: Ids of errors that the driver had received and handled, and that led to
            this exit: its code shows that.
        missed_results: Ids of those that kept it from setting what it then used.
        unrelated_errors: Ids of those that nothing in the code ties to it.
    """

    kind: ClassVar[str] = "driver-exit"

    pid: int | None = None
    code: int | None = None
    call: str = "sys.exit"
    handling: str | None = None
    related_errors: tuple[str, ...] = ()
    missed_results: tuple[str, ...] = ()
    unrelated_errors: tuple[str, ...] = ()


class PossibleExit(UserCodeEvent, frozen=True, kw_only=True):
    """A line of the driver's code that may have ended it by raising `SystemExit`.

    No hook of Python's reports such an exception.

    Attributes:
        pid: Process id of the driver.
        code: The exit code that the line gives; null: any other.
        related_errors: As of `DriverExit`, if the driver ended there.
        missed_results: As of `DriverExit`, if the driver ended there.
        unrelated_errors: As of `DriverExit`, if the driver ended there.
    """

    kind: ClassVar[str] = "possible-exit"

    pid: int | None = None
    code: int | None = None
    related_errors: tuple[str, ...] = ()
    missed_results: tuple[str, ...] = ()
    unrelated_errors: tuple[str, ...] = ()


class TestFailed(DriverRaised, frozen=True, kw_only=True):
    """A test that `pytest` or `unittest` runs in the driver failed.

    Attributes:
        exception: Qualified name of the exception's class.
        bases: Qualified names of the bases of its class, the nearest first.
        message: Its text.
        traceback: As Python prints it, chained causes included.
        chain: Class names from the outermost to the root cause.
        chain_ids: Distinguish the exception objects of the chain from others of the process.
        handled: Class and message of what was being handled when it was raised `from None`.
        file: File of the user's own innermost frame.
        line: Line in that file.
        function: Function of that frame.
        key: Key of the task that it came from.
        plugin: Class of the plugin that the driver was registering when it was raised.
        found: Where the driver itself has a module that was missing.
        cleanup: Whether a `finally:` raised it, while another exception was on its way.
        related_errors: Ids of errors that had been handled and led to it, as the code shows.
        missed_results: Ids of those that kept it from setting what it then used.
        unrelated_errors: Ids of those that nothing in the code ties to it.
        pid: Process id of the driver.
        parents: Ids of the command's Python processes that it descends from.
        test: Id of the test.
        when: `setup`, `call`, `teardown` or `collect`.
    """

    kind: ClassVar[str] = "test-failed"

    test: str = ""
    when: str = ""


class CommandStarted(Event, frozen=True, kw_only=True):
    """`dask blackbox run` started its command.

    Attributes:
        pid: Process id of the command.
        argv: The command.
    """

    kind: ClassVar[str] = "command-started"

    pid: int | None = None
    argv: tuple[str, ...] = ()


class CommandNotStarted(Event, frozen=True, kw_only=True):
    """`dask blackbox run` could not start its command.

    Attributes:
        argv: The command.
        exit_code: 127: not found; 126: not executable.
        error: The system's message.
    """

    kind: ClassVar[str] = "command-not-started"

    argv: tuple[str, ...] = ()
    exit_code: int | None = None
    error: str = ""


class HostStopped(Event, frozen=True, kw_only=True):
    """A host or a person ended the run before its work was done.

    Attributes:
        by: Who ended it: `airflow`, `prefect`, `person`.
        reason: Why, a word of `manifest.StopReason`.
        detail: The host's own words.
        limit: Seconds that the run was allowed to take, where that is why.
        setting: The host's name of that limit.
    """

    kind: ClassVar[str] = "host-stopped"

    by: str = ""
    reason: str = ""
    detail: str = ""
    limit: float | None = None
    setting: str = ""


class PartFailed(Event, frozen=True, kw_only=True):
    """A part of the work that is recorded as a run of its own failed, and this run with it.

    Attributes:
        what: What the host calls such a part: `subflow`.
        name: Its name.
        title: Title of its verdict.
        cause: What its verdict says.
        remedy: What its verdict says to do.
        rule: Slug of its verdict.
        confidence: Of its verdict.
        retry_advice: Of its verdict.
        retry_confidence: Of its verdict.
        url: Of its page.
    """

    kind: ClassVar[str] = "part-failed"

    what: str = ""
    name: str = ""
    title: str = ""
    cause: str = ""
    remedy: str = ""
    rule: str = ""
    confidence: str = "low"
    retry_advice: str = "unknown"
    retry_confidence: str = "low"
    url: str = ""


class TaskNamed(Event, frozen=True, kw_only=True):
    """The host's name of a task; its key is the subject.

    Attributes:
        name: What the host calls it.
        id: Which of the host's tasks it is.
        url: Of its page.
    """

    kind: ClassVar[str] = "task-named"

    name: str = ""
    id: str = ""
    url: str = ""


class TaskTimedOut(Event, frozen=True, kw_only=True):
    """The host ended one of its tasks at that task's own time limit; its key is the subject.

    Attributes:
        limit: Seconds that the task was allowed to take.
        setting: The host's name of that limit.
        retries: As of `TaskRetries`, in recordings that have none of these.
    """

    kind: ClassVar[str] = "task-timed-out"

    limit: float | None = None
    setting: str = ""
    retries: int | None = None


class TaskRetries(Event, frozen=True, kw_only=True):
    """The host had retried one of its tasks before it failed; its key is the subject.

    Attributes:
        retries: How often, within one execution by Dask.
    """

    kind: ClassVar[str] = "task-retries"

    retries: int | None = None


class ProcessAncestors(Event, frozen=True, kw_only=True):
    """Which processes a worker descends from; its address is the subject.

    Attributes:
        pid: Process id of the worker.
        ancestors: Process ids with their start times, the parent first.
        boot: Names the running kernel and the space of process ids.
        machine: Host name of its machine.
        gpu: Name of its GPU, the first of those that it may use; empty: NVML knows none.
        gpu_memory: Bytes of that GPU.
        lifetime: Seconds after its start at which it leaves (`--lifetime`); null: never.
        units: Environment variables in which cluster managers name the unit (job) that a
            process runs in: `{"SLURM_JOB_ID": "12"}`.
        limits: What limits its memory, in bytes: `host`, `cgroup`, `ulimit -v`, `ulimit -d`, as
            far as there is such a limit; empty: not recorded.
        begun: How many tasks it had begun when its recording began, those of earlier runs
            included.
    """

    kind: ClassVar[str] = "process-ancestors"

    pid: int | None = None
    ancestors: tuple[tuple[int, str | None], ...] = ()
    boot: str | None = None
    machine: str = ""
    gpu: str = ""
    gpu_memory: int | None = None
    lifetime: float | None = None
    units: dict[str, str] = {}
    limits: dict[str, int] = {}
    begun: int | None = None
