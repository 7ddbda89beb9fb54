"""What driver and recorder say to each other: JSON lines over pipes and a local socket.

The parent (who started the recorder) talks over the recorder's standard input and output;
its end of file says that the parent is gone.  Other processes of the same command talk over a
Unix socket.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Self

import msgspec

from dask_blackbox.card_data import Overview, TraceSpan
from dask_blackbox.events import Stall
from dask_blackbox.manifest import DriverException, Ending, Manifest, Stopped

LEFT = "left"
"""State of an end that only the recording can judge: its client has left the scheduler."""

REACHED, RELAY = "reached", "relay"
"""What a recorder reports of a scheduler: it has connected, or only the driver can."""

ALIVE = "alive"
"""What a recorder reports every second, so that one that no longer works is noticed."""

LONGEST_LINE = 64 * 2**20
"""Bytes of a line; who says a longer one is hung up on, so a batch must never come near."""


class Limits(msgspec.Struct, kw_only=True, frozen=True):
    """What a process may use for one recording; 0: no limit.

    Attributes:
        cpu: Seconds of CPU time.
        memory: Bytes of address space beyond what it has at the beginning.
        time: Seconds.
    """

    cpu: float = 0.0
    memory: int = 0
    time: float = 0.0


class Notify(msgspec.Struct, kw_only=True, frozen=True):
    """Who receives the notice that a run has ended; never written to the spool.

    Attributes:
        urls: Webhooks, and addresses of apprise; they hold credentials.
        when: News that is sent: `failed`, `recovered`, `worse`.
        secret: Signs what webhooks get, if there is one.
    """

    urls: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    secret: str | None = None


class Otlp(msgspec.Struct, kw_only=True, frozen=True):
    """Where a run's trace, metrics and card are sent at its end, by OpenTelemetry's protocol.

    Attributes:
        endpoint: URL of a collector; None: that of OpenTelemetry's own variables.
        traceparent: The caller's span, as W3C writes it; empty: there is none.
    """

    endpoint: str | None = None
    traceparent: str = ""


class OpenLineage(msgspec.Struct, kw_only=True, frozen=True):
    """Where the events of a run are sent at its end, as OpenLineage has them.

    Attributes:
        url: Of the service; None: that of the variables and files of OpenLineage's client.
        namespace: Of the job.
        parent: The run that this one is a part of, as `namespace/job/run id`; empty: none is known.
    """

    url: str | None = None
    namespace: str = "dask"
    parent: str = ""


class HostLineage(msgspec.Struct, kw_only=True, frozen=True):
    """A run of the host's own, whose events OpenLineage has from the host itself.

    Its process sends them, and nobody adds to them what Dask did when that was killed.

    Attributes:
        settings: Of OpenLineage's client; None: those of its variables and files.
        namespace: Of the job.
        job: Its name there.
        run_id: Of the run.
        report: Where a person reads what happened.
    """

    settings: dict[str, object] | None = None
    namespace: str
    job: str
    run_id: str
    report: str = ""


class Config(msgspec.Struct, kw_only=True, frozen=True):
    """The first line of standard input: what to record, and where to.

    Attributes:
        manifest: Who this is.
        store_settings: What `open_store` needs; may hold credentials, so it is never
            written to the spool.
        spool: Folder of this recording on the local disk.
        spool_limit: Bytes that all that waits beside it may take.
        socket: Path of the Unix socket for other processes of the command.
        parent: Process id of the parent.
        parent_handle: A file descriptor of its process (pidfd), where the system has them.
        interval: Seconds between two pulls.
        profile_interval: Seconds between two pulls of the statistical profile.
        redact: More patterns to blank out.
        leave_out: Classes of data that are not recorded, of `manifest.LEAVABLE`.
        secrets: Values to blank out wherever they occur; never written to the spool.
        progress_interval: Seconds between two reports of progress to the driver; 0: none.
        host_environment: What the host's client needs to know if the recorder is the last
            one left, as environment variables; never written to the spool.
        link_expires: Seconds for which links open.
        viewer: Address of the viewer in which links open instead, or null.
        performance_report: Seconds that a run takes at least whose performance report is
            made at its end.
        bundles: How many failed tasks to keep with their inputs; 0: none at all.
        bundle_limit: Bytes that each of them may have.
        muted: Slugs of rules that are not asked.
        thresholds: Numbers of rules that the user changed, by `<slug>.<name>`.
        rules_problem: What is wrong with the settings of the rules, or null.
        overview: Whether the host's page shows more than the card.
        limits: What the process that finalises may use.
        ask_managers: Whether cluster managers are asked what became of workers.
        notify: Who receives the notice that the run has ended.
        otlp: Where its trace is sent; None: nowhere.
        openlineage: Where its lineage is sent; None: nowhere.
        host_lineage: The host's own run there, which gets what it lacks when the driver is
            stopped or killed; never written to the spool.
    """

    manifest: Manifest
    store_settings: dict[str, object] = {}
    spool: str
    spool_limit: int = 2 * 2**30
    socket: str = ""
    parent: int = 0
    parent_handle: int | None = None
    interval: float = 0.5
    profile_interval: float = 10.0
    redact: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    host_environment: dict[str, str] = {}
    progress_interval: float = 0.0
    link_expires: float = 86_400.0
    viewer: str | None = None
    performance_report: float = 0.0
    bundles: int = 0
    bundle_limit: int = 64 * 2**20
    muted: tuple[str, ...] = ()
    thresholds: dict[str, float] = {}
    rules_problem: str | None = None
    overview: bool = False
    limits: Limits = Limits()
    ask_managers: bool = True
    notify: Notify = Notify()
    otlp: Otlp | None = None
    openlineage: OpenLineage | None = None
    host_lineage: HostLineage | None = None


class Attach(msgspec.Struct, kw_only=True, frozen=True, tag="attach", tag_field="op"):
    """A scheduler to pull from.

    Attributes:
        address: Of the scheduler, as it says itself.
        seen_as: Its address as the driver knows it: through a forwarded port or a proxy it
            is another, and the one that works from the driver's machine.
        tap: Name of the scheduler plugin and its handlers.
        security: Fields of `distributed.Security` that are set.
        pid: Of the driver that asks.
        owned: Id of the scheduler, where the driver has started its cluster and closes it;
            empty: the cluster belongs to another process, or is meant to continue.
        by_task: Whether a task has made the client, in the process of a worker.
        relays: Whether the sender can relay the rows if the recorder cannot connect.
    """

    address: str
    seen_as: str = ""
    tap: str
    security: dict[str, object] = {}
    pid: int
    owned: str = ""
    by_task: bool = False
    relays: bool = False


class OwnedScheduler(
    msgspec.Struct, kw_only=True, frozen=True, tag="owned", tag_field="op"
):
    """The scheduler of a cluster that the driver has just started, and is to close.

    Said before a client connects to it: until it is attached, nothing else says that it is
    there.

    Attributes:
        address: Of the scheduler.
        scheduler: Its id.
        security: Fields of `distributed.Security` that are set.
    """

    address: str
    scheduler: str
    security: dict[str, object] = {}


class Rows(msgspec.Struct, kw_only=True, frozen=True, tag="rows", tag_field="op"):
    """Rows of a driver, or of a scheduler to which only the driver can connect.

    Attributes:
        buffer: Of the scheduler's, which buffer they are from: a later one numbers its
            batches from 1 again, and two drivers may pull from the same one.
    """

    source: str
    seq: int
    at: float
    rows: dict[str, list[list[object]]]
    dropped: dict[str, int] = {}
    buffer: str = ""


class Drain(msgspec.Struct, kw_only=True, frozen=True, tag="drain", tag_field="op"):
    """A scheduler is about to go, or its run to end: pull what it still has, then answer.

    Attributes:
        address: Of the scheduler.
        awaited: Whether the sender waits for the answer. If not, none is sent: the answers
            carry no number, and a later order could take this one's for its own.
    """

    address: str
    awaited: bool = True


class Mask(msgspec.Struct, kw_only=True, frozen=True, tag="mask", tag_field="op"):
    """Secrets that became known while the run continued, to blank out from now on."""

    values: tuple[str, ...]


class MasksSent(
    msgspec.Struct, kw_only=True, frozen=True, tag="masks-sent", tag_field="op"
):
    """All values that this process had masked when it was asked have been sent.

    Attributes:
        number: Of the question.
    """

    number: int


class Left(msgspec.Struct, kw_only=True, frozen=True, tag="left", tag_field="op"):
    """A process of the command is about to exit by itself.

    Attributes:
        pid: Of it.
    """

    pid: int


class End(msgspec.Struct, kw_only=True, frozen=True, tag="end", tag_field="op"):
    """The run has ended.

    Attributes:
        state: How.
        lasted: Seconds since its start, as the recorder or, without one, the driver knows.
        exit_code: Of the command, where there was one.
        exception: What ended the driver's work, where something did.
        stopped: Who ended the run from outside, where a host or a person did.
    """

    state: str
    lasted: float | None = None
    exit_code: int | None = None
    exception: DriverException | None = None
    stopped: Stopped | None = None

    @classmethod
    def of(cls, ending: Ending) -> Self:
        """Return the end that the completeness record of a recording reports."""
        return cls(
            state=ending.state,
            lasted=ending.lasted,
            exit_code=ending.exit_code,
            exception=ending.exception,
            stopped=ending.stopped,
        )


def end_row(end: End) -> list[object]:
    """Return the row of a segment that records how the run ended."""
    reported = {
        name: value for name, value in msgspec.to_builtins(end).items() if name != "op"
    }
    return [time.time(), "run-ended", "driver", json.dumps(reported)]


Order = Attach | OwnedScheduler | Rows | Drain | Mask | MasksSent | Left | End


class LogLine(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line that a host shows in its own log.

    Attributes:
        at: Epoch seconds.
        level: As in `logging`.
        source: Role and address of who wrote it.
        text: The line, redacted and cut.
        keys: Of the tasks that it belongs to.
        died: A worker died while it executed these.
    """

    at: float
    level: int
    source: str
    text: str
    keys: tuple[str, ...] = ()
    died: bool = False


class Progress(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How a run gets on.

    Attributes:
        at: Epoch seconds.
        submitted: Tasks that were submitted so far.
        finished: Tasks that have finished so far, each counted once.
        failed: Executions that failed, or were lost with their worker.
        rate: Executions that finished a second, lately.
        workers: How many there are.
        memory: Bytes that they use together.
        memory_limit: Bytes that they may use together.
        stall: The stall that lasts, or null.
        lines: Lines of scheduler, nannies and dead workers that are worth a look.
    """

    at: float
    submitted: int = 0
    finished: int = 0
    failed: int = 0
    rate: float = 0.0
    workers: int = 0
    memory: float = 0.0
    memory_limit: float = 0.0
    stall: Stall | None = None
    lines: tuple[LogLine, ...] = ()


class Reply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A message of the recorder.

    Attributes:
        what: `store` (checked: `error` says why not), `drained`, `reached` or `relay` (of a scheduler: see `address`), `progress` (while the run
            continues, where it is wanted), `spooled` (rows of the driver are on the disk), `alive` (every second),
            `masks` (have all masked values been sent? answered by `MasksSent`), `left` (the run has ended, and its clusters may close), `card` (as known before everything is uploaded) or `final`.
        error: What is wrong, for people.
        kind: The class of the error, by name.
        links: URLs by name.
        attempt: With `store`: the attempt that was free; 0: not known.
        card: The card as JSON.
        progress: What has happened since the last one.
        spooled: Up to which batch those of a source are on the disk, by source.
        number: With `masks`: of the question.
        address: With `reached` and `relay`: of the scheduler.
        overview: What the host's page shows beside the card, with `final`, where wanted.
        news: What is new about the job with this run, with `final`: a word of `Notify.when`.
        trace: The spans of the run, with `final`, where they are sent.
    """

    what: str
    error: str | None = None
    kind: str | None = None
    links: dict[str, str] = {}
    attempt: int = 0
    card: msgspec.Raw = msgspec.Raw(b"null")
    progress: Progress | None = None
    spooled: dict[str, int] = {}
    number: int = 0
    address: str = ""
    overview: Overview | None = None
    news: str = ""
    trace: tuple[TraceSpan, ...] = ()


Answer = Callable[[Reply], None]
"""Takes what the recorder says to one of the processes that talk to it."""


class Parcel(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line to a process that makes many recordings.

    Attributes:
        run: Id of the recording that it is for.
        config: Opens the recording.
        order: For the recording, as its own line.
    """

    run: str
    config: Config | None = None
    order: msgspec.Raw = msgspec.Raw(b"null")


class ReplyOf(msgspec.Struct, kw_only=True, frozen=True):
    """A message of one of many recordings."""

    run: str
    reply: Reply


_encoder = msgspec.json.Encoder(enc_hook=str)
decode_config = msgspec.json.Decoder(Config).decode
"""Return the first line of the recorder's standard input as a `Config`."""
decode_order: Callable[[bytes], Order] = msgspec.json.Decoder(Order).decode
"""Return a line of a driver; raise `msgspec.MsgspecError` if it is none, as all of these do."""
decode_reply = msgspec.json.Decoder(Reply).decode
"""Return a line of the recorder."""
decode_parcel = msgspec.json.Decoder(Parcel).decode
"""Return a line to a process that makes many recordings."""
decode_reply_of = msgspec.json.Decoder(ReplyOf).decode
"""Return a line of a process that makes many recordings."""


def encode(message: msgspec.Struct) -> bytes:
    """Return a message as one line."""
    return _encoder.encode(message) + b"\n"
