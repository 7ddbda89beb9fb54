"""The small JSON documents of a recording: how it began, how far it is, how it ended."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, TypedDict

import msgspec

from dask_blackbox.decoding import checked

FORMAT = 1
"""Version of everything a recording consists of (docs/format.md)."""

SPOOL = "spool"
LOG_LINES, ARGUMENTS, SOURCE_PATHS = "log lines", "arguments", "source paths"
LEAVABLE = (LOG_LINES, ARGUMENTS, SOURCE_PATHS)
"""Classes of data that a recording can be without (`blackbox.capture.leave-out`)."""
"""The source under which a recorder accounts for what its own disk did not hold."""

_SEAL = b',\n  "crc": "00000000"\n}'
_DIGITS = slice(len(_SEAL) - 11, len(_SEAL) - 3)
_ALIKE = 10  # of the 15 other bytes: enough to know a seal that is damaged itself
_ALIKE_IN_PARTS = 13


def own_version(name: str = "dask-blackbox") -> str:
    """Return our version; "" if the package has no metadata (files without an installation)."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def since_boot() -> float:
    """Return seconds since this machine's boot, by a monotonic clock.

    Suspended time counts, as it does for people, where the system measures it.
    """
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


HostFact = str | int | float | bool | list[object] | dict[str, object] | None
"""A value that identifies a run to its host: a JSON value, usually a text or a number."""


def host_facts(facts: Mapping[str, object]) -> dict[str, HostFact]:
    """Return facts as they can be stored: a value that is no JSON value as its text."""
    return {
        name: value
        if value is None or isinstance(value, str | int | float | list | dict)
        else str(value)
        for name, value in facts.items()
    }


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """`run.json`: job, run and attempt; written before the run's first task.

    Attributes:
        format: Version of the format.
        recording: Unique id of this recording.
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of that run, from 1.
        started: Epoch seconds.
        since_boot: The same moment in seconds since the machine's boot, by a clock that nobody
            sets; null: not known.
        host: What started the run (`kind`: airflow, prefect, github, shell, …; `url` of its
            page; whatever else identifies it there).
        machine: Host name that the driver ran on.
        blackbox: Version of dask-blackbox.
    """

    format: int = FORMAT
    recording: str
    job: str
    run_id: str
    attempt: int = 1
    started: float
    since_boot: float | None = None
    host: dict[str, HostFact] = {}
    machine: str = ""
    blackbox: str = ""

    @property
    def host_kind(self) -> str:
        """What started the run, `host["kind"]`; empty: not known."""
        return str(self.host.get("kind") or "")


def lasted(manifest: Manifest) -> float | None:
    """Return for how many seconds a run of this machine has lasted; None: not known."""
    if manifest.since_boot is None:
        return None
    return max(since_boot() - manifest.since_boot, 0.0)


class Progress(msgspec.Struct, kw_only=True, frozen=True):
    """How far a run has come, in a few numbers.

    Attributes:
        submitted: Tasks of all graphs so far; fewer than `done` where graphs came before
            the recording.
        done: Tasks that finished, each counted once.
        failed: Executions that failed, or were lost with their worker.
        rate: Tasks per second, over the last 30 s, or since the first one had finished.
        workers: Workers in the cluster.
        threads: Their threads.
        executing: Tasks that are being executed.
        lost_workers: Workers that left without being asked to.
        memory: Bytes that the workers' processes use.
        memory_limit: Bytes that they may use; 0: one of them has no limit.
    """

    submitted: int = 0
    done: int = 0
    failed: int = 0
    rate: float = 0.0
    workers: int = 0
    threads: int = 0
    executing: int = 0
    lost_workers: int = 0
    memory: int = 0
    memory_limit: int = 0

    @property
    def total(self) -> int:
        """Tasks of all graphs; 0: not known, as some came before the recording began."""
        return self.submitted if self.submitted >= self.done else 0


STALE = 60.0
"""Seconds without a heartbeat after which a recorder counts as gone."""


class Heartbeat(msgspec.Struct, kw_only=True, frozen=True):
    """`heartbeat.json`: the recorder lives; written again every few seconds.

    Attributes:
        at: When it was written, epoch seconds.
        segments: How many segments the store has.
        progress: How far the run has come; null if it was not counted.
        lasted: Seconds since the run's start, by a monotonic clock; null: not known.
    """

    at: float
    segments: int = 0
    progress: Progress | None = None
    lasted: float | None = None


class DriverException(msgspec.Struct, kw_only=True, frozen=True):
    """The exception that ended the driver's work.

    Attributes:
        exception: Qualified name of its class.
        message: Its text.
        traceback: As Python prints it, chained causes included.
        chain: Qualified class names from the outermost to the root cause.
        chain_ids: Distinguish the exception objects of the chain, in that order, from others of the
            driver's process (`driver-call-failed` events carry the same).
        bases: Qualified names of the bases of its class, the nearest first.
        handled: Class and message of what was being handled when it was raised `from None`.
        file: File of the user's own innermost frame, if there is one.
        line: Line in that file.
        function: Function of that frame.
        key: The Dask key that it came from, if it came from a task.
        plugin: Class of the plugin that the driver was registering when it was raised.
        found: If a module was missing, or lacked something: where the driver itself has it (`module`, `file`;
            `package` and `version` if it is installed); empty if it has not. If Dask could
            not name a task by its inputs: what pickle says of them (`refusal`), or what reading
            them again raises (`unread`). If another
            process listened at an address (`*`: all of the host): which (`address`).
        cleanup: Whether it was raised in a `finally:`, or by the end of a `with` that does not
            raise it on purpose, while another exception was on its way.
        related_errors: Ids of errors that the driver had handled and that led to it, as its code
            shows (`driver-call-failed` events have the same).
        missed_results: Ids of those that kept it from setting what it then used.
        unrelated_errors: Ids of those that nothing in the code ties to it.
    """

    exception: str
    message: str
    traceback: str = ""
    chain: tuple[str, ...] = ()
    chain_ids: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    function: str | None = None
    key: str | None = None
    plugin: str | None = None
    found: dict[str, str] = {}
    cleanup: bool = False
    related_errors: tuple[str, ...] = ()
    missed_results: tuple[str, ...] = ()
    unrelated_errors: tuple[str, ...] = ()


StopReason = Literal[
    "marked-failed",
    "marked-success",
    "cleared",
    "run-timeout",
    "task-timeout",
    "cancelled",
    "suspended",
    "evicted",
    "supervisor-lost",
    "other",
]
"""Why a host ends a run: a person marked its task failed or succeeded, or cleared it; the whole
DAG run or flow run, or this task, reached its time limit; a person cancelled it; its code or
a person suspended it, to be resumed later by a new attempt; its process or pod was asked to end
(SIGTERM); the host's process that supervised it is gone, so that it could report nothing."""


BY_A_PERSON = ("marked-failed", "marked-success", "cleared", "cancelled", "suspended")
"""Reasons that are a decision of a person, or of the run's own code: no failure of the job."""

STOP_WORDS: Mapping[str, str] = {
    "marked-failed": "marked failed",
    "marked-success": "marked success",
    "cleared": "cleared",
    "cancelled": "cancelled",
    "evicted": "SIGTERM",
    "supervisor-lost": "its supervisor process is gone",
    "other": "",
}
"""What people are shown of a reason, in brackets; empty: nothing is known."""

TIME_LIMITS = ("run-timeout", "task-timeout")
"""Reasons that are limits of the host: the run takes longer than it may."""


class Stopped(msgspec.Struct, kw_only=True, frozen=True):
    """That a host or a person ended the run before its work was done.

    Attributes:
        by: Who ended it: `airflow`, `prefect`, `person`, …
        reason: Why, a word of `StopReason`.
        detail: The host's own words.
        limit: Seconds that the run was allowed to take, where that is why.
        setting: The host's name of that limit (`execution_timeout`).
        at: When the host said so, epoch seconds.
    """

    by: str
    reason: str = "other"
    detail: str = ""
    limit: float | None = None
    setting: str = ""
    at: float | None = None


class SourceAccount(msgspec.Struct, kw_only=True, frozen=True):
    """What came from one source, and what did not.

    Attributes:
        batches: How many batches came.
        first: Sequence number of the first.
        last: Sequence number of the last.
        gaps: Ranges (from, to) of batches that never came.
        dropped: Rows that the source had to drop, by kind.
        error: Why the source could not be recorded, if it could not.
    """

    batches: int = 0
    first: int | None = None
    last: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    dropped: dict[str, int] = {}
    error: str | None = None


Kept = Literal["store", "spool", "none"]
"""Where a recording is: in its store; only in the spool of the machine that ran it, from which
`dask blackbox sync` uploads it; nowhere."""


class Completeness(TypedDict, total=False):
    """The completeness of a recording, for its card; keys without a value are left out.

    Attributes:
        recorded: The recording is in the store.
        kept: Where it is.
        complete: It is, and nothing is missing.
        reason: Why it is not in the store.
        behind: Seconds by which the store was behind at the worst, if they were many.
        missing: What it lacks: sentences by source.
        damaged: What of it is damaged, and how, by name.
    """

    recorded: bool
    kept: Kept
    complete: bool
    reason: str
    behind: float
    missing: dict[str, list[str]]
    damaged: dict[str, str]


class Ending(msgspec.Struct, kw_only=True, frozen=True):
    """`complete.json`: how it ended, and the completeness record.

    Attributes:
        format: Version of the format.
        state: A word of `RunState`.
        ended: Epoch seconds.
        lasted: Seconds since the run's start by a monotonic clock; null: not known.
        exit_code: Of the command, where there was one.
        exception: What ended the driver's work, where something did.
        stopped: Who ended the run from outside, where a host or a person did.
        sources: Completeness by source (`scheduler <address>`, `driver <pid>`,
            `spool` where rows had to be dropped).
        rows: Rows in each table.
        segments: Names of the segments and their checksums (CRC-32, hexadecimal).
        lost_segments: Segments that could not be read back, with why.
        blobs: Names of all other blobs and their checksums, likewise.
        store_behind: Seconds by which the store was behind at the worst.
    """

    format: int = FORMAT
    state: str
    ended: float
    lasted: float | None = None
    exit_code: int | None = None
    exception: DriverException | None = None
    stopped: Stopped | None = None
    sources: dict[str, SourceAccount] = {}
    rows: dict[str, int] = {}
    segments: dict[str, str] = {}
    lost_segments: dict[str, str] = {}
    blobs: dict[str, str] = {}
    store_behind: float = 0.0


# Made at import: see docs/decisions/0014-decoders-at-import.md.
decode_manifest = checked(msgspec.json.Decoder(Manifest).decode)
"""Return `run.json` as a `Manifest`."""
decode_ending = checked(msgspec.json.Decoder(Ending).decode)
"""Return `complete.json` as an `Ending`."""
decode_heartbeat = checked(msgspec.json.Decoder(Heartbeat).decode)
"""Return `heartbeat.json` as a `Heartbeat`."""
decode_exception = checked(msgspec.json.Decoder(DriverException).decode)
"""Return the particulars of a `driver-exception` event as a `DriverException`."""
decode_stopped = checked(msgspec.json.Decoder(Stopped).decode)
"""Return the particulars of a `host-stopped` event as a `Stopped`."""


def sealed(document: msgspec.Struct) -> bytes:
    """Return a document as JSON that ends with its own checksum.

    That is `crc`, the CRC-32 of all bytes with eight zeros in its place.
    """
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    whole = text.removesuffix(b"\n}") + _SEAL
    return whole[:-11] + b"%08x" % zlib.crc32(whole) + whole[-3:]


def seal_is_whole(text: bytes) -> bool:
    """Return whether a document is as it was written; one without a seal is accepted."""
    end, one_short = text[-len(_SEAL) :], text[1 - len(_SEAL) :]
    # Where a byte of the seal is gone, the bytes before it have moved.
    if _alike(end) < _ALIKE and _alike(end) + _alike(one_short) < _ALIKE_IN_PARTS:
        return True
    whole = text[: -len(_SEAL)] + _SEAL
    return end == _SEAL[:-11] + b"%08x" % zlib.crc32(whole) + _SEAL[-3:]


def _alike(end: bytes) -> int:
    """Return how many bytes are those of a seal, its checksum left out."""
    pairs = enumerate(zip(end, _SEAL, strict=False))
    digits = range(*_DIGITS.indices(len(_SEAL)))
    return sum(a == b for at, (a, b) in pairs if at not in digits)
