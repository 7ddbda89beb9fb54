"""Start the recorder (`python -m dask_blackbox.recorder`), and start another one if it dies.

The scheduler still holds unacknowledged rows for the next one.  What kills recorders
may go on doing so (a memory limit, a clean-up job), so that each of them comes after a
longer pause; when the last one has died, that is said, and the driver leaves in the spool
how the run ended.

For `dask blackbox run` the recorder is a fork of that process instead of a new interpreter:
`dask` has imported distributed by then, which the recorder needs, too, and which takes a third
of a second.  Nothing of the user's is in that process: the command is another one.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from dask_blackbox.capture.nanny.worker_watcher import handle_of
from dask_blackbox.driver.relay import Relays, event_row
from dask_blackbox.errors import RecorderError
from dask_blackbox.guard import guard
from dask_blackbox.manifest import lasted
from dask_blackbox.private_files import FILE, make_private_folder
from dask_blackbox.protocol.connection import Link, is_recorder_asked_for
from dask_blackbox.protocol.detached_process import (
    DetachedProcess,
    unrecorded_environment,
)
from dask_blackbox.protocol.liveness import LifeWatch, Watched, is_stopped
from dask_blackbox.protocol.messages import (
    Attach,
    Config,
    Drain,
    End,
    OwnedScheduler,
    Progress,
    Reply,
    Rows,
    encode,
)
from dask_blackbox.recorder.spool_folder import note_end
from dask_blackbox.settings import setting_seconds

if TYPE_CHECKING:
    from distributed import Client


logger = logging.getLogger("dask_blackbox")

_DETACHING = 2.0
"""Seconds that the driver waits at most until the recorder is no child of it any more."""


def start_recorder(
    config: Config,
    on_lost: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
    on_reach: Callable[[Reply], None] = lambda _reply: None,
    *,
    waits: bool = True,
    forks: bool = False,
) -> Link:
    """Start a recorder process, which outlives this one.

    Args:
        config: What to record, and where to.
        on_lost: Called, once and from a thread, when it ends without being asked to.
        on_progress: Takes each report of progress, in a thread; must not block.
        on_reach: Takes what it reports of whether it reaches a scheduler, likewise.
        waits: Return when it is no child of this process any more: the user's code, which
            may wait for its children, continues in this process.
        forks: The recorder may be a fork of this process, as nothing of the user's is in it.

    Raises:
        RecorderError: if no process can be started.
    """
    handle = handle_of(os.getpid())
    handles = () if handle is None else (handle,)
    parent = str(os.getpid())  # for people, who see no parent
    # Each of its threads would get a heap of its own, 3 MB of it half empty.
    environment = {"MALLOC_ARENA_MAX": "1", **unrecorded_environment()}
    try:
        with _errors(Path(config.spool)) as errors:
            process = DetachedProcess(
                # -P: a module of the user's folder must not shadow one of ours.
                [sys.executable, "-P", "-m", "dask_blackbox.recorder", parent],
                errors=errors,
                environment=environment,
                # Made now: this process may have ended before the recorder can open one.
                handles=handles,
                instead=_fork(parent, environment, handles) if forks else None,
            )
    except OSError as error:
        raise RecorderError(
            f"the recorder process could not be started: {error}"
        ) from error
    finally:
        if handle is not None:
            os.close(handle)
    try:
        process.stdin.write(
            encode(msgspec.structs.replace(config, parent_handle=handle))
        )
        process.stdin.flush()
    except OSError as error:
        raise RecorderError(f"the recorder exited immediately: {error}") from error
    link = Link(
        process.stdin,
        process.stdout,
        process,
        on_lost=on_lost,
        on_progress=on_progress,
        on_reach=on_reach,
    )
    try:
        if waits:
            process.wait_until_detached(_DETACHING)
    except BaseException:  # of a signal's handler
        link.kill()
        raise
    return link


def _fork(
    parent: str, environment: Mapping[str, str], handles: tuple[int, ...]
) -> Callable[[], None] | None:
    """Return what makes a fork of this process a recorder; None if it cannot be one."""
    if not may_fork():
        return None
    return partial(become_recorder, parent, environment, frozenset(handles))


@contextlib.contextmanager
def _errors(spool: Path) -> Iterator[IO[bytes]]:
    """Open the file for what a recorder writes to stderr before it can log."""
    path = spool / "recorder.err"
    try:
        make_private_folder(spool)
        path.touch(mode=FILE)
    except OSError as error:
        # It still records, as long as the store takes everything.
        logger.warning("the spool cannot be used: %s", error)
        path = Path(os.devnull)
    with path.open("ab") as file:
        yield file


_PAUSES = (0.0, 3.0, 15.0, 60.0)  # seconds before each recorder that takes over
_TAKE_OVER_TIMEOUT = 3.0
_LOOK_INTERVAL = 0.05
_UNHEARD = 10.0
"""Seconds without a message after which a recorder that gives no card is not left running."""


class RecorderSupervisor:
    """The recorder of one recording, whichever process it is at the moment.

    Args:
        config: What to record, and where to.
        on_progress: Takes each report of progress, in a thread; must not block.
        waits: Wait until it is no child of this process any more.
        forks: The first recorder may be a fork of this process.

    Raises:
        RecorderError: if no process can be started.
    """

    def __init__(
        self,
        config: Config,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
        *,
        waits: bool = True,
        forks: bool = False,
    ) -> None:
        self._config, self._on_progress = config, on_progress
        self._orders: list[Attach | OwnedScheduler] = []
        self._losses = 0
        self._done = self._awaited = False
        self._end: End | None = None
        self._silence = ""  # what was wrong with a recorder that was ended for it
        self._needed = threading.Event()  # ends the pause before another recorder
        self._recovering = threading.Lock()  # one that starts may die meanwhile
        self.reason: str | None = None
        """Why there is no recorder any more, for people."""
        self.relays = Relays(
            self._forward,
            lambda *event: self.row("event", event_row(*event)),
            self.failed,
            self.mask,
        )
        self._link = start_recorder(
            config,
            self._lost,
            on_progress,
            self.relays.note_reply,
            waits=waits,
            forks=forks,
        )
        self._watch = LifeWatch(
            self._watched,
            self._is_awaited,
            setting_seconds("recorder.silent-after"),
            self._before_kill,
        )
        self._watch.start()

    # What the driver says

    def row(self, kind: str, row: list[object]) -> None:
        """Send an event; never blocks."""
        self._link.row(kind, row)

    def event(self, kind: str, detail: dict[str, Any], at: float | None = None) -> None:
        """Send an event about the driver; never blocks.

        Args:
            at: When, epoch seconds; None: now.
        """
        from dask_blackbox.capture.driver.driver import as_json

        text = as_json(detail)
        self.row("event", [time.time() if at is None else at, kind, "driver", text])

    def mask(self, values: tuple[str, ...]) -> None:
        """Add values to mask from now on, wherever they occur; never blocks."""
        config = self._config  # of a recorder that takes over, too
        secrets = tuple(dict.fromkeys((*config.secrets, *values)))
        self._config = msgspec.structs.replace(config, secrets=secrets)
        self._link.mask(values)

    def drain(self, address: str, timeout: float) -> None:
        """Let the recorder pull a closing scheduler once more, and wait for that."""
        self._awaited = True
        self._drain(address, time.monotonic() + timeout)
        self._awaited = False

    def _drain(self, address: str, deadline: float) -> None:
        while True:
            link = self._link
            link.forget("drained")
            link.order(Drain(address=address))
            drained = link.wait_for("drained", deadline - time.monotonic())
            if drained is not None or not link.closed:
                return
            # Not after the pause: what the scheduler holds goes with it.
            self._needed.set()
            if not self._another_took_over(link, deadline):
                return

    def ending(self) -> None:
        """Let the recorder pull what there is and load what the end needs; does not wait."""
        for order in self._orders:
            if isinstance(order, Attach):
                self._link.order(Drain(address=order.address, awaited=False))

    def wait_until_left(self, timeout: float) -> None:
        """Wait until the recorder, which has the run's end, no longer needs the clusters."""
        deadline = time.monotonic() + timeout
        while True:
            link = self._link
            left = link.wait_for("left", deadline - time.monotonic())
            if left is not None or not link.closed:
                return
            if self._done or not self._another_took_over(link, deadline):
                return

    def failed(self, doing: str, error: BaseException) -> None:
        """Report a failure of our own code in the driver, for the card."""
        self.event("capture-failed", {"doing": doing, "error": repr(error)})

    def attach(
        self,
        order: Attach | OwnedScheduler,
        client: Client | str | None,
        cluster: dict[str, object] | None = None,
    ) -> None:
        """Let this recorder, and one that takes over, pull from a scheduler, or own it.

        Args:
            order: How to reach it; one that is owned is closed if the driver is killed.
            client: Through which the driver uses it, and relays its rows if the recorder
                cannot connect; None: none has connected yet.
            cluster: Of what kind the cluster is.
        """
        self._orders.append(order)
        named = getattr(client, "id", client)
        if isinstance(order, Attach) and order.relays:
            self.relays.add(order, cast("Client", client))
        self._link.order(order)
        self.event(
            "driver-attached",
            {"pid": os.getpid(), "client": named, "cluster": cluster},
        )

    def _forward(self, rows: Rows) -> bool:
        return self._link.forward(rows)  # to whichever recorder it is by now

    # What the recorder says

    def store_reply(self, timeout: float) -> Reply | None:
        """Return the result of opening the store, or None if it does not arrive in time."""
        return self._link.wait_for("store", timeout)

    @property
    def gone(self) -> bool:
        """Whether the recorder has ended."""
        return self._link.closed

    @property
    def is_in_spool(self) -> bool:
        """Whether what was recorded is in the spool, from which it can be uploaded."""
        return (Path(self._config.spool) / "run.json").is_file()

    def conclude(
        self, end: End, timeout: float, *, leave: bool = False
    ) -> Reply | None:
        """Send how the run ended; return the reply with the card, or None.

        Args:
            timeout: Seconds to wait; what is known by then is returned.
            leave: Take the card as soon as it is known, and let the recorder upload the
                rest alone.
        """
        deadline = time.monotonic() + timeout
        self._end = end
        self._needed.set()
        while True:
            link = self._link
            if not link.closed:
                link.order(end)
            last = "card" if leave else "final"
            reported = link.wait_for(last, deadline - time.monotonic())
            reported = reported or link.reported("card")
            if reported is None and self._another_took_over(link, deadline):
                continue
            self._done = True
            self._watch.end()
            if reported is None:
                self._give_up_on(link, leave=leave)
            if leave or self._continues_after_card():
                link.close(timeout=0.0)
            else:
                link.close()
            return reported

    def _give_up_on(self, link: Link, *, leave: bool) -> None:
        """Write the end into the spool; end a recorder that does not get to answering.

        Args:
            leave: The driver had little time to wait: it may yet answer.
        """
        process = link.process
        silent = process is not None and is_stopped(process.pid)
        silent = silent or self._watch.unheard >= _UNHEARD
        silent = silent and not (leave or link.closed)
        if self.reason is None:
            self.reason = self._no_answer_reason(link, silent=silent)
        # One that continues replaces this by what it knows itself.
        self._write_end_to_spool(self.reason)
        if silent and process is not None:
            process.kill()

    def _continues_after_card(self) -> bool:
        """Return whether the recorder continues after the card, to see clusters closed."""
        owned = any(isinstance(o, Attach) and o.owned for o in self._orders)
        return owned or self._config.manifest.attempt > 1

    def _write_end_to_spool(self, reason: str) -> None:
        """Write how the run ended into the spool, because no recorder may be left to do it.

        Args:
            reason: What became of the recorder.
        """
        end = self._end
        if end is None:  # the run continues
            return
        with guard("the end of the run, in the spool"):
            from dask_blackbox.recorder.left_out import LeftOut
            from dask_blackbox.recorder.redact import exception_in_host

            if end.exception is not None:
                clean = exception_in_host(
                    end.exception, self._config.redact, self._config.secrets
                )
                clean = LeftOut(self._config.leave_out).exception(clean)
                end = msgspec.structs.replace(end, exception=clean)
            end = msgspec.structs.replace(end, lasted=lasted(self._config.manifest))
            note_end(Path(self._config.spool), end, reason)

    def discard(self) -> None:
        """Discard the recording."""
        self._done = True
        self._watch.end()
        self._needed.set()
        self._link.kill()
        shutil.rmtree(self._config.spool, ignore_errors=True)
        Path(self._config.socket).unlink(missing_ok=True)

    # When it dies, or no longer works

    def _watched(self) -> Watched | None:
        link = self._link
        if link.closed or link.process is None:
            return None
        return Watched(link.process, link.messages)

    def _before_kill(self, why: str) -> None:
        self._silence = why
        self._write_end_to_spool(f"the recorder {why}")

    def _is_awaited(self) -> bool:
        """Return whether this process or one of a command waits for the recorder."""
        ending = self._end is not None
        return ending or self._awaited or is_recorder_asked_for(self._config.socket)

    def _lost(self) -> None:
        if self._done or os.getpid() != self._config.parent:
            return
        with guard("another recorder"), self._recovering:
            self._recover()

    def _recover(self) -> None:
        logger.warning("the recorder died; starting another one")
        while self._losses < len(_PAUSES):
            self._losses += 1
            pause = _PAUSES[self._losses - 1]
            if self._link.gave_way:  # else the driver would find the next one
                pause = max(pause, _TAKE_OVER_TIMEOUT)
            self._wait_until_needed(pause)
            if self._done:
                return
            if self._end is None:
                self._needed.clear()
            try:
                self._replace(self._link)
            except Exception as error:  # noqa: BLE001 - the next one may start
                logger.warning("it did not start: %s", error)
            else:
                return
        self.reason = (
            f"the recorder died {self._losses + 1} times; its data is in the spool"
            f", {self._config.spool}"
        )
        Path(self._config.socket).unlink(missing_ok=True)
        logger.error("this run is no longer recorded: %s", self.reason)

    def _wait_until_needed(self, pause: float) -> None:
        """Wait, but not while this process or one of a command needs a recorder."""
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            # Another process has no other way to us than the socket that was left.
            if is_recorder_asked_for(self._config.socket):
                return
            if self._needed.wait(min(left, _LOOK_INTERVAL)):
                return

    def _replace(self, before: Link) -> None:
        link = start_recorder(
            self._config, self._lost, self._on_progress, self.relays.note_reply
        )
        for order in self._orders:
            link.order(order)
        self._link = link
        # Those that became known since its start went to the one before.
        link.mask(self._config.secrets)
        link.take_over(before)
        before.close(timeout=1.0)
        why, self._silence = self._silence, ""
        self.event("recorder-restarted", {"times": self._losses, "why": why})

    def _another_took_over(self, link: Link, deadline: float) -> bool:
        while link.closed and self._link is link and time.monotonic() < deadline:
            if self.reason is not None:
                return False
            time.sleep(0.01)  # the listening thread is starting it
        return self._link is not link

    def _no_answer_reason(self, link: Link, *, silent: bool) -> str:
        spool = self._config.spool
        if link.closed:
            return f"the recorder ended early; its log is in {spool}"
        if silent:
            return (
                "the recorder no longer worked and was ended; the recording is in "
                f"{spool}"
            )
        return f"the recorder has not answered in time; it continues in the background, in {spool}"


_M_ARENA_MAX = -8  # from glibc's malloc.h
_ARGUMENTS = slice(45, 47)  # `arg_start` and `arg_end`, in what follows the name


def may_fork() -> bool:
    """Return whether a fork of this process can continue as a recorder.

    Locks that other threads hold would stay locked in it.  (Libraries of C code that have
    threads of their own, as NumPy's has, end them before a fork.)
    """
    return sys.platform == "linux" and threading.active_count() == 1


def become_recorder(
    parent: str, environment: Mapping[str, str], kept: frozenset[int]
) -> None:
    """Continue as the recorder, in a process that has just been forked.

    `subprocess` has connected its pipes.  Returns only if that process cannot be named as
    a recorder is; then it has to execute one.

    Args:
        parent: Process id of the driver.
        environment: Its variables.
        kept: File descriptors that it needs beside its pipes.
    """
    if not _rename(f"python -m dask_blackbox.recorder {parent}"):
        return
    from dask_blackbox.recorder.__main__ import main  # loads what only it needs

    try:
        _let_go(kept)
        os.environ.clear()
        os.environ.update(environment)
        main(parent)
    except BaseException:  # noqa: BLE001 - as an interpreter reports it
        traceback.print_exc()
    finally:
        os._exit(1)


def _let_go(kept: frozenset[int]) -> None:
    """Let go of what belongs to the process that was forked, as `exec` would."""
    import ctypes  # a driver whose recorder is no fork does not need it

    # `subprocess` has restored what ends a program; in any Python, they become errors.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if descriptor > 2 and descriptor not in kept:  # noqa: PLR2004 - standard error
            with contextlib.suppress(OSError):  # that of the folder itself
                os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        open(descriptor, mode, closefd=False)  # noqa: SIM115
        for descriptor, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    with contextlib.suppress(OSError):  # of a working directory that was deleted
        # As with `python -P`: `python -m dask` looks there first.
        if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
            del sys.path[0]
    with contextlib.suppress(AttributeError):  # not glibc's
        # Each of its threads would get a heap of its own.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    gc.enable()  # `subprocess` has disabled it


def _rename(title: str) -> bool:
    """Write a title over the arguments of this process, for people who list processes.

    As other programs do it: the last byte of the arguments is not zero any more, and who asks
    for them gets the text up to the first zero.
    """
    import ctypes

    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        start, end = map(int, fields[_ARGUMENTS])
        room = end - start - 1
        if len(title) >= room:
            return False
        ctypes.memmove(start, title.encode().ljust(room, b"\0") + b" ", room + 1)
        with open("/proc/self/comm", "w") as file:  # noqa: PTH123
            file.write("python")
    except (OSError, ValueError):
        return False
    return True
