"""A process of a recorded command: joins its clients to the command's recording."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from dask_blackbox.autorecord.command import CONTROL, PROCESSES, RECORDING
from dask_blackbox.capture.driver.client_calls import (
    DriverCalls,
    identity_of,
    note_causes,
)
from dask_blackbox.capture.driver.driver import (
    DriverTap,
    as_json,
    describe_driver,
)
from dask_blackbox.capture.driver.driver_environment import cluster_facts
from dask_blackbox.capture.masked_values import follow_masked_values
from dask_blackbox.capture.user_frames import (
    innermost_user_frame,
    is_foreign,
    is_ours,
    place_of,
)
from dask_blackbox.driver.driver_position import DriverPositionWatcher
from dask_blackbox.driver.in_thread import in_thread
from dask_blackbox.driver.own_code import DriverCodeReporter, described
from dask_blackbox.driver.plugin_registration import attach_later, install
from dask_blackbox.driver.recorder_options import known_secrets
from dask_blackbox.driver.relay import Relays, event_row
from dask_blackbox.error_flow import errors_behind, possible_exits
from dask_blackbox.errors import RecorderError
from dask_blackbox.guard import guard
from dask_blackbox.protocol.connection import Link, ask_for_recorder, call_recorder
from dask_blackbox.protocol.messages import Attach, Drain, Left, Rows
from dask_blackbox.settings import setting, setting_seconds

if TYPE_CHECKING:
    from distributed import Client

_CALLING = 5.0
_FINDING = 90.0  # longer than the longest pause before another recorder starts
_FINAL_EVENTS = 5.0
_POLLING = 0.01
_UNANSWERED = 0.5
"""Seconds after which the process that starts recorders looks whether this one still works."""

_lock = threading.RLock()  # a handler of a signal may exit while this thread holds it
_attached: dict[str, Attach] = {}

REPORTED_EXIT = "reported_exit"
"""The function that reports a call of `sys.exit` (in `sitecustomize`)."""

_T = TypeVar("_T")


class _OfProcess(Generic[_T]):
    """What each process makes once; a forked child inherits it, and makes its own.

    Attributes:
        newest: This process's own, or one that it has inherited; None: neither.
    """

    def __init__(self) -> None:
        self.newest: _T | None = None
        self._pid: int | None = None

    @property
    def own(self) -> _T | None:
        """What this very process has made."""
        return self.newest if self._pid == os.getpid() else None

    def set(self, made: _T) -> _T:
        """Take what this process has made, and return it."""
        self.newest, self._pid = made, os.getpid()
        return made


_link = _OfProcess[Link]()
_tap = _OfProcess[DriverTap]()
_position = _OfProcess[DriverPositionWatcher]()
_calls = _OfProcess[DriverCalls]()
_following = _OfProcess[bool]()
_tests_left = [20]
_end_reported = _OfProcess[bool]()
_exception_reported = _OfProcess[tuple[int, type[BaseException]]]()
_relays = _OfProcess[Relays]()


def _shared_link() -> Link:
    """Return this process's line to the recorder; a forked child gets one of its own.

    It may be closed: what is sent then waits for the recorder that takes over.
    """
    with _lock:
        if (own := _link.own) is not None:
            return own
        return _introduce(_call(_CALLING))


def _call(timeout: float) -> Link:
    return call_recorder(os.environ[CONTROL], timeout, _lost, _own_relays().note_reply)


def _own_relays() -> Relays:
    """Return the relays of this process: a forked child cannot use its parent's clients."""
    return _relays.own or _relays.set(Relays(_forward, _send_relayed, _failed, _masked))


def _forward(rows: Rows) -> bool:
    return _link.newest is not None and _link.newest.forward(rows)


def _send_relayed(kind: str, subject: str, detail: dict[str, object]) -> None:
    if _link.newest is not None:
        _link.newest.row("event", event_row(kind, subject, detail))


def _introduce(link: Link) -> Link:
    """Send to a recorder from now on; one that took over also receives unsent messages."""
    before = _link.own
    _link.set(link)
    link.mask(known_secrets())  # a script may load its environment itself
    _follow_masked_values()
    for order in list(_attached.values()):
        link.order(order)
    if before is not None:
        link.take_over(before)
    if not _is_a_worker():
        _listen()
        threading.Thread(target=_describe, args=(link,), daemon=True).start()
    return link


def leave() -> None:
    """Send the last lines and the exit code of this process, which its end would cut off."""
    with guard("the last lines of the command"):
        if (link := _link.own) is None:
            return
        if _calls.newest is not None:
            _calls.newest.flush_held()
        if not _end_reported.own:
            _report_possible_exits(link)
        if _tap.newest is not None:
            _tap.newest.flush()
        deadline = time.monotonic() + _CALLING
        while link.closed and time.monotonic() < deadline:
            if not ask_for_recorder(os.environ[CONTROL]):
                break
            time.sleep(_POLLING)
            link = _link.own or link  # another recorder may have taken over
        link.order(Left(pid=os.getpid()))
        link.leave()


def _report_possible_exits(link: Link) -> None:
    """Report where the code may have raised `SystemExit`, of which no hook learns."""
    with guard("the lines that may have ended the driver"):
        for each in possible_exits():
            fields = {
                "pid": os.getpid(),
                "code": each.code,
                "file": each.place.file,
                "line": each.place.line,
                "function": each.function or "<module>",
            }
            _send_event(link, "possible-exit", fields | each.errors)


def _lost() -> None:
    """Find the recorder that takes over, and send it our clusters (in a thread)."""
    with guard("another recorder"), contextlib.suppress(RecorderError):
        link = _call(_FINDING)
        with _lock:
            if (own := _link.own) is None or not own.closed:
                link.close()
                return
            _introduce(link)


def _listen() -> None:
    """Report this process's log lines; without a recorder, they wait on the old connection."""
    if _tap.own is None:
        printed = bool(setting("capture.stdout"))
        _tap.set(DriverTap(os.environ[RECORDING], _line, printed=printed)).start()


def _follow_masked_values() -> None:
    """Mask values that the script adds from now on."""
    if not _following.own:
        _following.set(True)
        follow_masked_values(_masked)


def _masked(values: tuple[str, ...]) -> None:
    if (link := _link.own) is not None:
        link.mask(values)


def _line(kind: str, row: list[object]) -> None:
    if _link.newest is not None:
        _link.newest.row(kind, row)


def _is_a_worker() -> bool:
    """Return whether this is a worker's process, in which a task has made a client."""
    # Not imported for this: a process that only starts commands need not load Dask.
    kind = getattr(sys.modules.get("distributed.worker"), "Worker", None)
    # Without a nanny a worker may share its process with the driver.
    return kind is not None and any(worker.nanny for worker in kind._instances)  # noqa: SLF001


def _describe(link: Link) -> None:
    with guard("what the driver is"):
        _send_event(link, "driver-attached", describe_driver())
        DriverCodeReporter(
            lambda facts: _send_event(link, "driver-code", facts)
        ).check()


def _send_event(link: Link, kind: str, detail: dict[str, Any]) -> None:
    link.row("event", [time.time(), kind, "driver", as_json(detail)])


def _failed(doing: str, error: BaseException) -> None:
    if _link.newest is not None:
        _send_event(
            _link.newest, "capture-failed", {"doing": doing, "error": repr(error)}
        )


def watch() -> None:
    """Report where this process is blocked, if it is for long; a client is being made."""
    listen()
    watch_thread(threading.get_ident())


def watch_thread(thread: int) -> None:
    """Report where a thread is blocked; that of the newest client is the driver's."""
    with guard("where the driver is"):
        known = _position.own
        if known is not None and known.thread == thread:
            return
        if known is not None:
            known.stop()
        after = setting_seconds("stall.after")
        watcher = DriverPositionWatcher(thread, after, _report_driver_position)
        _position.set(watcher).start()


def watch_before_client(thread: int) -> None:
    """Report where the main thread is blocked, until there is a client."""
    if _calls.own is None:
        watch_thread(thread)


def pause_before_client() -> None:
    """Stop looking where a driver is that has no client yet, and forks now."""
    with guard("where the driver is"):
        watcher = _position.own
        if watcher is not None and watcher.is_alive() and _calls.own is None:
            _position.newest = None
            watcher.stop()
            watcher.join(1.0)


def listen() -> None:
    """Report what calls to Dask raise in this process, and what it ends."""
    with guard("the driver's calls to Dask"):
        if _calls.own is None:
            atexit.register(
                report_uncaught
            )  # it runs before those of Dask, loaded earlier
            _calls.set(DriverCalls(_row, _report_raised_exit, _send_all)).start()
            if not _is_a_worker():
                _listen_to_tests()


def listen_to_ray() -> None:
    """Report the tasks of Dask on Ray, which this process has just imported."""
    listen()
    with guard("tasks of Dask on Ray"):
        if (calls := _calls.own) is not None:
            calls.start()


def _listen_to_tests() -> None:
    """Listen for failed tests, after which their runner continues and exits with a code."""
    runner: Any = sys.modules.get("_pytest.runner")
    by_plugin = "dask_blackbox_pytest" in sys.modules
    if not (runner is None or by_plugin or hasattr(runner, "_dask_blackbox")):
        # A script that calls `pytest.main()`: what is run is not pytest, with our plugin.
        inner = runner.check_interactive_exception
        runner.check_interactive_exception = _with_test_report(inner)
        runner._dask_blackbox = True  # noqa: SLF001 - ours
    result = getattr(sys.modules.get("unittest.result"), "TestResult", None)
    if result is None or getattr(result, "_dask_blackbox", False):
        return
    for name in ("addError", "addFailure"):
        setattr(result, name, _with_failure_report(getattr(result, name)))
    result._dask_blackbox = True  # noqa: SLF001 - ours


def _with_test_report(inner: Any) -> Any:
    @functools.wraps(inner)
    def check(call: Any, report: Any) -> object:
        found = inner(call, report)
        if found:
            with contextlib.suppress(Exception):
                report_failed_test(report, call, report)
        return found

    return check


def _with_failure_report(inner: Any) -> Any:
    @functools.wraps(inner)
    def add(self: object, test: Any, err: Any) -> object:
        with guard("a test that failed"):
            report_test(str(test.id()), "call", err[1])
        return inner(self, test, err)

    return add


def _row(kind: str, row: list[object]) -> None:
    if not _is_a_worker():
        _shared_link().row(kind, row)


def _report_driver_position(kind: str, detail: dict[str, object]) -> None:
    if not _is_a_worker():
        _send_event(_shared_link(), kind, detail)


async def client_connected(client: Client) -> None:
    """Record the cluster of a client that has just connected."""
    loop = asyncio.get_running_loop()

    def join_again() -> None:
        asyncio.run_coroutine_threadsafe(_join(client), loop).result()

    def failed(doing: str, error: Exception) -> None:
        _failed(doing, error)
        if isinstance(error, TimeoutError):
            attach_later(client, join_again, threading.Event().wait)

    with guard("a client of the command", on_error=failed):
        await _join(client)


async def _join(client: Client) -> None:
    link = await in_thread(_shared_link)
    order = await install(client, os.environ[RECORDING])
    order = msgspec.structs.replace(order, by_task=_is_a_worker())
    _attached[client.id] = order
    if order.relays:
        _own_relays().add(order, client)
    link.order(order)
    facts = {"pid": os.getpid(), "client": client.id}
    _send_event(link, "driver-attached", facts | {"cluster": cluster_facts(client)})


async def client_closing(client: Client) -> None:
    """Let the recorder pull the remaining rows before the client and its cluster close."""
    with guard("the final events of a cluster"):
        order = _attached.get(client.id)
        if order is not None:
            if _tap.newest is not None:
                _tap.newest.report_times()
            # Not in a thread of an executor: where the command does not close its
            # clients, the interpreter does, and has closed its executors before.
            for _ in _until_drained(order.address):
                await asyncio.sleep(_POLLING)
            await _own_relays().client_closing(client)
            _attached.pop(client.id, None)


def _drain_all() -> None:
    """Have all that the schedulers hold pulled, by the recorder or by this process."""
    for address in {order.address for order in _attached.values()}:
        _drain(address)
    _own_relays().flush()


def _drain(address: str) -> None:
    for _ in _until_drained(address):
        time.sleep(_POLLING)


def _until_drained(address: str) -> Iterator[None]:
    """Yield until a recorder has pulled what a scheduler holds, but not for long."""
    asked: Link | None = None
    unanswered_at = 0.0
    deadline = time.monotonic() + _FINAL_EVENTS
    while time.monotonic() < deadline:
        link = _shared_link()
        if link.closed:  # not after the pause: what the scheduler holds goes with it
            if not ask_for_recorder(os.environ[CONTROL]):
                return
        elif link is not asked:
            link.forget("drained")
            link.order(Drain(address=address))
            asked, unanswered_at = link, time.monotonic() + _UNANSWERED
        elif link.reported("drained") is not None:
            return
        elif time.monotonic() > unanswered_at:
            ask_for_recorder(os.environ[CONTROL])
            unanswered_at = deadline
        yield


def report(error: BaseException) -> None:
    """Report the exception that ends this process, before its clusters close."""
    with guard("the driver's exception"):
        _end_reported.set(True)
        _exception_reported.set(_identity_of(error))
        link = _shared_link()
        note_causes(error)
        if _calls.newest is not None:
            _calls.newest.flush_held()
        link.mask(known_secrets())
        _send_event(link, "driver-exception", described(error) | _process())
        _drain_all()
        if not _attached:
            _drain(
                ""
            )  # nothing to pull: the answer says that the exception has arrived


def report_uncaught() -> None:
    """Report the exception that ends this process if no hook of ours learnt of it.

    Libraries that replace `sys.excepthook` call none that was there before: Airflow's logging,
    rich, IPython.  Python keeps the exception before it calls any.
    """
    error = getattr(sys, "last_value", None)
    if not isinstance(error, BaseException) or hasattr(sys, "ps1"):
        return
    if _identity_of(error) != _exception_reported.own:
        report(error)


def _identity_of(error: BaseException) -> tuple[int, type[BaseException]]:
    """Return what tells an exception from others without keeping it.

    What its frames hold is freed at the process's end, and may print then: asyncio does of a
    task whose exception nobody retrieved.
    """
    return id(error), type(error)


def _process() -> dict[str, object]:
    """Return the id of this process, and of the command's that it descends from."""
    known = [int(pid) for pid in os.environ.get(PROCESSES, "").split() if pid.isdigit()]
    pid = os.getpid()
    return {"pid": pid, "parents": [each for each in known if each != pid]}


def report_code(code: int, frame: FrameType | None) -> None:
    """Report a `sys.exit` with a code, called in `frame`."""
    if threading.current_thread() is not threading.main_thread():
        return
    with guard("the driver's exit"):
        if _link.newest is None or _is_a_worker():
            return
        facts = place_of(innermost_user_frame(frame)) | errors_behind(frame, code)
        _send_exit(code, facts, sys.exception())


def report_immediate_exit(code: int, frame: FrameType) -> None:
    """Report an `os._exit` of the user's own code, and send all that would be sent at the end.

    It ends the process at once, with its clusters, and whichever thread calls it.
    """
    name = frame.f_code.co_filename
    if is_ours(name) or is_foreign(name) or _link.own is None or _is_a_worker():
        return
    with guard("the driver's exit"):
        facts = place_of(frame) | errors_behind(frame, code) | {"call": "os._exit"}
        handled = sys.exception()
        _send_exit(code, facts, handled)
        if handled is None:
            _drain_all()
    leave()


def _send_all() -> None:
    """Send all that is known before a signal of the job's own ends this process at once."""
    if _is_a_worker():
        return
    with guard("a signal of the driver's own"):
        if _calls.newest is not None:
            _calls.newest.flush_held()
        if _tap.newest is not None:
            _tap.newest.flush()
        _drain_all()
        if not _attached:
            _drain("")


def _send_exit(
    code: int, facts: dict[str, object], handled: BaseException | None
) -> None:
    _end_reported.set(True)
    fields = {"pid": os.getpid(), "code": code, "handling": identity_of(handled)}
    _send_event(_shared_link(), "driver-exit", fields | facts)
    # The process ends because of it, and no hook learns of it.
    if handled is not None:
        report(handled)


def _report_raised_exit(error: SystemExit) -> None:
    """Report a `raise SystemExit` that leaves a `with` of Dask's; no other hook learns of it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_name == REPORTED_EXIT:
        return
    with guard("the driver's exit"):
        if _is_a_worker():
            return
        if isinstance(error.code, int):
            facts = place_of(innermost_user_frame(trace.tb_frame))
            facts |= {"line": trace.tb_lineno}
            facts |= errors_behind(error.__traceback__, error.code)
            _send_exit(error.code, facts, error.__context__)
        else:
            report(error)


def report_failed_test(node: Any, call: Any, report: object) -> None:
    """Report a test, a fixture or a module that failed in pytest; of many, the first ones.

    Args:
        node: Of pytest, or what has its `nodeid`.
        call: Of pytest, with the exception.
        report: Of pytest: whether it failed, and when.
    """
    error = getattr(call.excinfo, "value", None)
    if error is None or not _tests_left[0] or not getattr(report, "failed", False):
        return
    _tests_left[0] -= 1
    report_test(str(node.nodeid), str(getattr(report, "when", "")), error)


def report_test(test: str, when: str, error: BaseException) -> None:
    """Report a test that failed; its runner survives it, and ends with an exit code."""
    with guard("a test that failed"):
        fields = {"test": test, "when": when, **_process(), **described(error)}
        _send_event(_shared_link(), "test-failed", fields)


def report_exit(message: object, frame: FrameType | None) -> None:
    """Report a `sys.exit` with a message, called in `frame`."""
    if threading.current_thread() is not threading.main_thread():
        return  # only that thread ends
    trace: TracebackType | None = None
    while frame is not None:
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    error = SystemExit(message).with_traceback(trace)
    error.__context__ = sys.exception()  # what it was called for, in an `except`
    report(error)
