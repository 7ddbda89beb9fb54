"""The outcome: what ended the driver's work, and when that was decided.

A process ends later than its work: `finally:` blocks, `with` statements and `atexit` run in
between, and what they do to a cluster is its teardown.  Nothing that happens after the outcome
was decided can be its cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec

from dask_blackbox.analyse.driver_output import (
    PrintedFailure,
    last_error_before,
    printed_failures,
)
from dask_blackbox.analyse.facts.ray_tasks import raised_by_task
from dask_blackbox.analyse.facts.stopped import stopped_of
from dask_blackbox.analyse.frames import (
    EXCEPTION_LINKS,
    failed_while_handling,
    last_frame,
    raised_at_end,
    raised_by_a_check,
    user_frame,
)
from dask_blackbox.analyse.run_state import ASKED, signal_of_driver, state_of
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.python import PROGRAM_FAILED, THREAD_FAILED
from dask_blackbox.events import (
    DriverAttached,
    DriverCallFailed,
    DriverClosing,
    DriverErrorLogged,
    DriverExit,
    DriverGotSignal,
    DriverRaised,
    DriverSignalled,
    GraphUpdated,
    PossibleExit,
    SchedulerInfo,
    TestFailed,
)
from dask_blackbox.formatting import class_of
from dask_blackbox.manifest import DriverException, Ending, Stopped
from dask_blackbox.run_tables import RunTables

OutcomeKind = Literal[
    "exception", "exit-code", "signal", "interrupted", "host-stopped",
    "vanished", "still-running", "none",
]  # fmt: skip
"""What ended the driver's work; `none`: it succeeded."""

Source = Literal[
    "host",
    "dask-call",
    "test",
    "exit-call",
    "handler",
    "exception-hook",
    "signal",
    "output",
    "process-end",
]
"""What the moment was read from, the most exact one first."""

CLOCKS = 1.0
"""Seconds by which the clocks of driver and scheduler may differ if unknown."""

_INTERRUPT = "KeyboardInterrupt"
_DASK = ("/distributed/", "/dask/")
_PRINTED = 5.0
_SENDING = "Client.graph_to_futures"
"""The call that sends a graph: what that raises comes from no task."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What ended the driver's work.

    Attributes:
        kind: What it was.
        decided_at: When it was decided, epoch seconds; None while the run continues.
        source: What that moment was read from.
        stopped_after: The work had ended by `exception` before somebody stopped the process:
            so much its last acts on its cluster show.
        clocks: Seconds by which moments of the cluster may differ from the driver's.
        exception: The exception that ended the work.
        call: The call to Dask that raised it, where one did.
        received: All exceptions that calls to Dask raised in the driver, by time.
        survived: Those of them that the driver handled, and that did not end its work.
        related: Those that it handled, and whose handlers led to its end: its code shows that.
        unrelated: Those that its code does not connect with its end.
        reason: The handled error that stands for what ended the work, `exception`: one of
            `related`, or one that the driver's own code had raised and logged.
        missed: Those that kept it from setting what it then used: its code shows that.
        passed_on: What the driver itself raised, where it only got the exit code of a program
            that had ended with `exception`.
        then: What the driver raised after `exception`: its clean-up failed, or it counts errors.
        exit: The call of `sys.exit`, where that ended it.
        exit_code: Of the process.
        by: Who ended the run from outside, and why, where a host or a person did.
        signal: Name of the signal that ended it.
    """

    kind: OutcomeKind
    decided_at: float | None
    source: Source
    stopped_after: bool = False
    clocks: float = CLOCKS
    exception: DriverException | None = None
    call: str | None = None
    received: tuple[DriverCallFailed, ...] = field(default=(), repr=False)
    survived: tuple[DriverCallFailed, ...] = ()
    related: tuple[DriverCallFailed, ...] = field(default=(), repr=False)
    missed: tuple[DriverCallFailed, ...] = field(default=(), repr=False)
    unrelated: tuple[DriverCallFailed, ...] = field(default=(), repr=False)
    reason: DriverCallFailed | DriverErrorLogged | None = field(
        default=None, repr=False
    )
    passed_on: DriverException | None = None
    then: DriverException | None = None
    exit: DriverExit | None = None
    exit_code: int | None = None
    by: Stopped | None = None
    signal: str | None = None

    @property
    def handled(self) -> frozenset[str]:
        """What calls had raised, and the driver was handling as `exception` was raised."""
        ids = () if self.exception is None else self.exception.chain_ids[1:]
        return frozenset(
            f"{class_of(each.exception)}: {each.message}"
            for each in self.received
            if each.identity in ids
        )

    def led_to_the_end(self, key: str, exception: str, message: str) -> bool:
        """Return whether the error of a task led to the end, as the driver's code shows."""
        calls = (*self.related, *self.missed)
        keys = {each.key for each in calls}
        return key in keys or _is_among(calls, exception, message)

    def is_unrelated(self, key: str, exception: str, message: str) -> bool:
        """Return whether nothing in the driver's code ties the error of a task to its end."""
        if self.led_to_the_end(key, exception, message):
            return False
        keys = {each.key for each in self.unrelated}
        return key in keys or _is_among(self.unrelated, exception, message)

    def is_after(self, at: float) -> bool:
        """Return whether a moment of the cluster lies after the decision, clocks considered."""
        return self.decided_at is not None and at > self.decided_at + self.clocks

    def received_before(self, at: float | None) -> tuple[DriverCallFailed, ...]:
        """Return what calls to Dask raised in the driver before a moment; None: all of it."""
        return tuple(r for r in self.received if at is None or r.at < at)

    def has_handled(self, key: str, exception: str, message: str) -> bool:
        """Return whether the driver received the error of a task and continued."""
        keys = {each.key for each in self.survived}
        return key in keys or self.has_survived(exception, message)

    def has_survived(self, exception: str, message: str) -> bool:
        """Return whether the driver received such an exception and continued."""
        return _is_among(self.survived, exception, message)


def outcome_of(run: RunTables) -> Outcome:
    """Return what ended the driver's work."""
    if run.ending is not None:
        return run.once(_outcome_of_ended)
    received = run.of(DriverCallFailed)
    lost = state_of(run) == "lost"
    return Outcome(
        kind="vanished" if lost else "still-running",
        decided_at=None,
        source="process-end",
        received=received,
        survived=received,
    )


def _outcome_of_ended(run: RunTables) -> Outcome:
    ending = run.ending
    assert ending is not None  # noqa: S101 - for mypy
    end = _End(run, ending)
    return Outcome(
        kind="exception" if end.is_an_exception else _kind(run),
        decided_at=min(end.moment[0], ending.ended),
        source=end.moment[1],
        stopped_after=end.handled is not None
        and ending.exception is None
        and signal_of_driver(run) is not None
        and _signalled_for(run, end.received) is None,
        clocks=_clocks(run),
        exception=raised_by_task(end.exception),
        passed_on=ending.exception if end.of_program is not None else None,
        then=end.raised if end.replaced is not None else None,
        call=end.call,
        received=end.received,
        survived=end.survived,
        related=end.related,
        missed=end.of_kind(1),
        unrelated=end.of_kind(2),
        reason=end.reason,
        exit=end.exit_call,
        exit_code=ending.exit_code,
        by=stopped_of(run),
        signal=signal_of_driver(run),
    )


class _End:
    """What is read of the end of a run: one question each, asked once."""

    def __init__(self, run: RunTables, ending: Ending) -> None:
        self._run, self._ending = run, ending
        self.received = run.of(DriverCallFailed)
        self.exit_call = _exit_call(run, ending.exit_code)
        self._kinds = _by_its_code(run, self.exit_call)

    @cached_property
    def handled(self) -> DriverCallFailed | None:
        """What a call had raised and the driver handled, and that ended it all the same."""
        run, received = self._run, self.received
        if (error := _signalled_for(run, received)) is not None:
            return error
        if self._ending.exception is not None:
            return _replaced_while_closing(run, received, self._ending.exception)
        return (
            _handled_at_the_end(run, received)
            or _exited_for(run, received)
            or _printed_as_it_exited(run, received)
        )

    @cached_property
    def _reported(self) -> DriverException | None:
        """What the driver's process ended with."""
        handled = self.handled
        return self._ending.exception if handled is None else _as_exception(handled)

    @cached_property
    def of_program(self) -> DriverException | None:
        """What a program had raised, of which the driver only got the exit code."""
        return _raised_by_its_program(self._run, self._reported)

    @cached_property
    def raised(self) -> DriverException | None:
        """The last exception of the driver, or of its program."""
        return _with_handled(self.of_program or self._reported, self.received)

    def of_kind(self, kind: int) -> tuple[DriverCallFailed, ...]:
        """Return the errors of calls that the driver's code ties to its end, or does not.

        Args:
            kind: 0: their handlers led to it; 1: they left something undone; 2: others.
        """
        return tuple(each for each in self.received if each.id in self._kinds[kind])

    @cached_property
    def related(self) -> tuple[DriverCallFailed, ...]:
        """The errors whose handlers led to the end."""
        return self.of_kind(0)

    @cached_property
    def _before_cleanup(self) -> DriverException | None:
        return _raised_before_cleanup(self.raised, self.received)

    @cached_property
    def reason(self) -> DriverCallFailed | DriverErrorLogged | None:
        """The handled error that stands for what ended the work."""
        logged = self._run.of(DriverErrorLogged)
        return _first_of_the_related(
            self.related or tuple(e for e in logged if e.id in self._kinds[0]),
            self.raised,
            self._before_cleanup or self.handled,
        )

    @cached_property
    def replaced(self) -> DriverException | None:
        """What had ended the work before the driver raised its last exception."""
        if self.reason is not None:
            return _as_exception(self.reason)
        return self._before_cleanup

    @cached_property
    def _printed(self) -> PrintedFailure | None:
        if self.replaced is not None or self.raised is not None:
            return None
        return _printed_at_the_end(self._run, self.received)

    @cached_property
    def exception(self) -> DriverException | None:
        """What ended the work."""
        printed = self._printed
        return self.replaced or self.raised if printed is None else _as_printed(printed)

    @property
    def is_an_exception(self) -> bool:
        """Whether an exception that was handled, or only printed, ended it."""
        found = (self.handled, self._printed, self.reason)
        return any(each is not None for each in found)

    @cached_property
    def _own(self) -> frozenset[str]:
        """The identities of what ended the work."""
        last = self.raised if self.reason else self.replaced or self.raised
        return _identities(last, self.exit_call)

    @cached_property
    def _calls(self) -> tuple[DriverCallFailed, ...]:
        """The calls that raised what ended the work."""
        return tuple(
            each
            for each in self.received
            if _is_one_of(each, self._own, self.exception)
        )

    @property
    def moment(self) -> tuple[float, Source]:
        """When the end was decided, and what that is read from."""
        last: tuple[float, Source] = (self._ending.ended, "process-end")
        if self._printed is not None:
            last = (self._printed.at, "output")
        moments = _moments(self._run, self._calls, self._own, self.exit_call)
        return next(moments, last)

    @property
    def call(self) -> str | None:
        """The call to Dask that raised what ended the work."""
        raised = self._calls[-1:] if self.reason is None else (self.reason,)
        return next((e.call for e in raised if isinstance(e, DriverCallFailed)), None)

    @property
    def survived(self) -> tuple[DriverCallFailed, ...]:
        """The errors that the driver handled, and that did not end its work."""
        not_handled = frozenset[str]()
        if self._ending.exit_code:
            # What ended another process of the command, or a thread, was not handled.
            not_handled = _exceptions_of_processes(self._run)
            not_handled |= _exceptions_of_threads(self._run)
        ended = {*map(id, self._calls)}
        if self.reason is not None:
            ended |= {*map(id, self.related)}
        return tuple(
            each
            for each in self.received
            if id(each) not in ended and each.identity not in not_handled
        )


def _by_its_code(
    run: RunTables, exit_call: DriverExit | None
) -> tuple[set[str], set[str], set[str]]:
    """Return which errors' handlers led to the end, which left something undone, and others."""
    ends = _possible_ends(run, exit_call)
    related = {each for end in ends for each in end.related_errors}
    missed = {each for end in ends for each in end.missed_results} - related
    apart = {each for end in ends for each in end.unrelated_errors} - related - missed
    return related, missed, apart


def _possible_ends(
    run: RunTables, exit_call: DriverExit | None
) -> Sequence[DriverException | DriverExit | PossibleExit]:
    """Return the places of the driver's code where it may have ended."""
    ending = run.ending
    if ending is None or signal_of_driver(run) is not None:
        return ()
    if ending.exception is not None:
        return [ending.exception]
    if exit_call is not None:
        return [exit_call]
    if not ending.exit_code:
        return ()
    lines = run.of(PossibleExit)
    exact = [each for each in lines if each.code == ending.exit_code]
    return exact or [each for each in lines if each.code is None]


def _first_of_the_related(
    related: tuple[DriverCallFailed | DriverErrorLogged, ...],
    exception: DriverException | None,
    known: DriverCallFailed | DriverException | None,
) -> DriverCallFailed | DriverErrorLogged | None:
    """Return the error for which the driver exited, or raised an exception of its own.

    Of several, it is the first of the most frequent kind.  That work was cancelled says nothing
    of why.
    """
    if known is not None or not related:
        return None
    if exception is not None:
        own = {*exception.chain_ids}
        exits = exception.exception.endswith("SystemExit")
        if own & {each.identity for each in related[-1:]}:
            return None
        if not exits and not raised_by_a_check(exception.traceback):
            return None
    reasons = [e for e in related if not e.exception.endswith("CancelledError")]
    kinds = Counter(each.exception for each in reasons or related)
    most = max(kinds.values())
    return next(e for e in reasons or related if kinds[e.exception] == most)


def _with_handled(
    exception: DriverException | None, received: tuple[DriverCallFailed, ...]
) -> DriverException | None:
    """Return an exception that was raised `from None` with the call's that it replaced in its chain.

    Python hides that one from the traceback; it is what the driver was handling all the same.
    """
    if exception is None:
        return None
    for each in reversed(received):
        if (
            f"{each.exception}: {each.message}" in exception.handled
            and each.identity not in exception.chain_ids
        ):
            return msgspec.structs.replace(
                exception,
                chain=(*exception.chain, each.exception),
                chain_ids=(*exception.chain_ids, each.identity),
            )
    return exception


def _raised_before_cleanup(
    exception: DriverException | None, received: tuple[DriverCallFailed, ...]
) -> DriverException | None:
    """Return what had been raised where the driver's clean-up then failed, too.

    In an `except:`, that is what Dask had refused: else the second one may be about what the
    handler was to do instead.  What a call had received is known by its identity.
    """
    if exception is None:
        return None
    before = exception.traceback.rpartition(EXCEPTION_LINKS[1])[0].rstrip()
    if exception.cleanup:
        ids = exception.chain_ids[1:2]
        call = next((each for each in received if each.identity in ids), None)
        first = (
            raised_at_end(before) if call is None else (call.exception, call.message)
        )
    else:
        first = failed_while_handling(exception.traceback)
        inner = last_frame(before)
        known = {each.identity for each in received if each.call != _SENDING}
        of_dask = inner is not None and any(each in inner.file for each in _DASK)
        if not of_dask or known & {*exception.chain_ids}:
            return None
    if first is None:
        return None
    return msgspec.structs.replace(
        exception,
        exception=first[0],
        message=first[1],
        traceback=before,
        **_place(before),
        chain=exception.chain[1:],
        handled=(),
        cleanup=False,
    )


def _kind(run: RunTables) -> OutcomeKind:
    ending = run.ending
    assert ending is not None  # noqa: S101 - asked before
    signal = signal_of_driver(run)
    exception = ending.exception
    if stopped_of(run) is not None:
        return "host-stopped"
    if signal == "SIGINT" or (
        exception is not None and exception.exception.endswith(_INTERRUPT)
    ):
        return "interrupted"
    if exception is not None:
        return "exception"
    if signal is not None:
        return "signal"
    if ending.state == "succeeded":
        return "none"
    # To some hosts, a task that exits has failed, whatever its exit code.
    exits = ending.exit_code or (ending.exit_code == 0 and ending.state == "failed")
    return "exit-code" if exits else "vanished"


def _moments(
    run: RunTables,
    received: tuple[DriverCallFailed, ...],
    own: frozenset[str],
    exit_call: DriverExit | None,
) -> Iterator[tuple[float, Source]]:
    """Yield when the outcome was decided and what says so, the most exact one first."""
    for at in _stopped_by_host(run):
        yield at, "host"
    for each in reversed(received):
        yield each.at, "dask-call"
    for test in run.of(TestFailed):
        yield test.at, "test"
    for at in _acts_of_handlers(run, own):
        yield at, "handler"
    if exit_call is not None:
        yield exit_call.at, "exit-call"
    # What a child process raised is not what a signal ended.
    signalled = signal_of_driver(run) is not None and not own
    for raised in () if signalled else reversed(run.of(DriverRaised)):
        yield raised.at, "exception-hook"
    if signal_of_driver(run) in ASKED:
        for sent in run.of(DriverGotSignal):
            yield sent.at, "signal"


def _stopped_by_host(run: RunTables) -> Iterator[float]:
    """Yield when a host stopped the run, if it did."""
    ending, stopped = run.ending, stopped_of(run)
    if ending is None or stopped is None or stopped.at is None:
        return
    # Clusters may have been closed for the host's own exception before its report came.
    # For no other of the chain: the driver may have been handling one when it was stopped.
    hosts = () if ending.exception is None else ending.exception.chain_ids[:1]
    first = [a.at for a in run.of(DriverClosing) if a.handling in hosts]
    yield min([stopped.at, *first])


def _acts_of_handlers(run: RunTables, own: frozenset[str]) -> list[float]:
    """Return when the handlers of some exceptions ended parts of the cluster, by time."""
    handled = [sent.at for sent in run.of(DriverSignalled) if sent.handling in own]
    handled += [
        action.at
        for action in run.of(DriverClosing)
        if action.handling in own or own & {*action.exiting}
    ]
    return sorted(handled)


def _exit_call(run: RunTables, code: int | None) -> DriverExit | None:
    """Return the last `sys.exit` with the code that the process ended with."""
    known = run.of(DriverExit) if code is not None else ()
    calls = [call for call in known if call.code == code]
    return calls[-1] if calls else None


def _is_one_of(
    call: DriverCallFailed, own: frozenset[str], exception: DriverException | None
) -> bool:
    """Return whether what a call raised is one of the exceptions with these identities.

    Of an object that is gone, another one can have the same: it must be of the class, too.
    """
    if call.identity not in own:
        return False
    known = (
        {}
        if exception is None
        else dict(zip(exception.chain_ids, exception.chain, strict=False))
    )
    name = known.get(call.identity or "")
    return name is None or class_of(name) == class_of(call.exception)


def _identities(
    exception: DriverException | None, exit_call: DriverExit | None
) -> frozenset[str]:
    """Return the identities of the exception that ended the work, and of its chain."""
    chain = () if exception is None else exception.chain_ids
    ids = {*chain, *([exit_call.handling] if exit_call else ())}
    return frozenset(each for each in ids if each)


def _handled_at_the_end(
    run: RunTables, received: tuple[DriverCallFailed, ...]
) -> DriverCallFailed | None:
    """Return what the driver was handling when it ended its cluster, and was then stopped.

    In a `finally:` that takes long, a process may be ended from outside before its exception
    gets out of it.
    """
    if signal_of_driver(run) is None:
        return None
    actions: list[DriverSignalled | DriverClosing] = [
        *run.of(DriverSignalled),
        *run.of(DriverClosing),
    ]
    actions.sort(key=lambda action: action.at)
    for action in actions[-1:]:
        if any(graph.at > action.at + CLOCKS for graph in run.of(GraphUpdated)):
            return None  # it continued with its work
        return next(
            (r for r in received if action.handling in {r.identity} - {None}), None
        )
    return None


def _signalled_for(
    run: RunTables, received: tuple[DriverCallFailed, ...]
) -> DriverCallFailed | None:
    """Return the error for which a function of the driver's sent a signal to its own process.

    A callback has no other way to end a driver that waits elsewhere.
    """
    ending = run.ending
    exception = None if ending is None else ending.exception
    if exception is not None and class_of(exception.exception) != _INTERRUPT:
        return None
    sent = [
        each
        for each in run.of(DriverSignalled)
        if each.target in {each.pid, 0} and each.signal in {*ASKED, "SIGKILL"}
    ]
    for last in sent[-1:]:
        names = {signal_of_driver(run), "SIGINT" if exception is not None else None}
        continued = any(graph.at > last.at for graph in run.of(GraphUpdated))
        if last.signal in names and not continued:
            return next((r for r in received if r.id and r.id == last.received), None)
    return None


def _exited_for(
    run: RunTables, received: tuple[DriverCallFailed, ...]
) -> DriverCallFailed | None:
    """Return the error that the driver was handling when it raised `SystemExit`.

    No hook learns of that; but where it leaves a `with`, the close of the client does.
    """
    ending = run.ending
    if ending is None or not ending.exit_code or signal_of_driver(run) is not None:
        return None
    closing = sorted(run.of(DriverClosing), key=lambda action: action.at)
    for action in closing[-1:]:
        for identity in action.exiting:
            for each in received:
                if each.identity == identity and each.pid == action.pid:
                    return each
    return None


def _printed_as_it_exited(
    run: RunTables, received: tuple[DriverCallFailed, ...]
) -> DriverCallFailed | None:
    """Return the last error of Dask's, if the driver printed its traceback and then exited.

    It sent no work any more in between.
    """
    ending, printed = run.ending, run.once(printed_failures)
    if ending is None or not ending.exit_code or not printed or not received:
        return None
    last, call = printed[-1], received[-1]
    same = _is_among((call,), last.exception, last.message)
    continued = any(graph.at > call.at for graph in run.of(GraphUpdated))
    soon = 0 <= last.at - call.at <= CLOCKS
    unsignalled = signal_of_driver(run) is None
    return call if same and soon and unsignalled and not continued else None


def _replaced_while_closing(
    run: RunTables, received: tuple[DriverCallFailed, ...], exception: DriverException
) -> DriverCallFailed | None:
    """Return what the driver was handling when a close of its own raised `exception`.

    A `with` statement closes its cluster when an exception leaves it; where that fails too,
    Python continues with the second exception, and may print nothing of the first.
    """
    # Not simply the last one: as Python exits, Dask closes such a cluster once more.
    own = [each for each in received if each.identity in exception.chain_ids]
    if not own:
        return None
    last = own[-1]
    actions = [
        action
        for action in run.of(DriverClosing)
        if action.what == last.call and action.pid == last.pid and action.at <= last.at
    ]
    handled = max(actions, key=lambda action: action.at).handling if actions else None
    return next((r for r in received if handled and r.identity == handled), None)


def _raised_by_its_program(
    run: RunTables, exception: DriverException | None
) -> DriverException | None:
    """Return what a program of the command raised, if the driver only got its exit code."""
    if exception is None:
        return None
    program = PROGRAM_FAILED.search(exception.message)
    if program is None or not program["status"]:
        return None
    for each in reversed(run.of(DriverRaised)):
        name = (each.file or "").rpartition("/")[2]
        if not each.exception or each.traceback == exception.traceback:
            continue
        if name and name in program["command"]:
            known = msgspec.structs.replace(
                each, message=each.message or "", traceback=each.traceback or ""
            )
            return msgspec.convert(known, DriverException, from_attributes=True)
    return None


def _exceptions_of_processes(run: RunTables) -> frozenset[str]:
    """Return the exceptions with which processes of the command left their last client.

    A child process ends with its exception, and its parent only sees an exit code.
    """
    last: dict[int | None, DriverClosing] = {}
    for action in sorted(run.of(DriverClosing), key=lambda action: action.at):
        last[action.pid] = action
    calls = run.of(DriverCallFailed)
    return frozenset(
        action.handling
        for pid, action in last.items()
        if action.handling
        and not any(each.pid == pid and each.at > action.at for each in calls)
    )


def _exceptions_of_threads(run: RunTables) -> frozenset[str]:
    """Return the exceptions of calls to Dask that ended a thread of the driver.

    Python prints them, and a caller that joins the thread does not receive them.
    """
    calls = [call for call in run.of(DriverCallFailed) if call.main is False]
    if not calls:
        return frozenset()
    printed = lines_of(run, THREAD_FAILED, by=["driver"])
    moments = (printed["at"].dt.epoch("us") / 1e6).to_list()
    return frozenset(
        call.identity
        for call in calls
        if call.identity and any(-CLOCKS <= at - call.at <= _PRINTED for at in moments)
    )


def _printed_at_the_end(
    run: RunTables, received: tuple[DriverCallFailed, ...]
) -> PrintedFailure | None:
    """Return the exception whose traceback is the last that the command printed on stderr.

    A Python process of another environment does not load our hook, and a script can print
    an exception itself before it ends its process.  What a call to Dask had raised before
    is not meant: the driver has received that, and continued.
    """
    ending = run.ending
    if ending is None or not ending.exit_code or signal_of_driver(run):
        return None
    failures = run.once(printed_failures)
    last = last_error_before(run, ending.ended + CLOCKS, within=_PRINTED)
    if not failures or last is None or not last.startswith(failures[-1].text):
        return None
    found = failures[-1]
    was_received = _is_among(received, found.exception, found.message)
    is_of_driver = found.exception and not found.place
    return found if is_of_driver and not was_received else None


def _as_printed(printed: PrintedFailure) -> DriverException:
    return DriverException(
        exception=printed.exception,
        message=printed.message,
        traceback=printed.traceback,
        **_place(printed.traceback),
    )


def _place(traceback: str) -> dict[str, Any]:
    """Return the last line of the user's in a traceback, as fields of an exception."""
    frame = user_frame(traceback)
    return {name: getattr(frame, name, None) for name in ("file", "line", "function")}


def _as_exception(received: DriverCallFailed | DriverErrorLogged) -> DriverException:
    return DriverException(
        exception=received.exception,
        message=received.message,
        bases=received.bases,
        chain_ids=(received.identity or "",),
        traceback=received.traceback,
        file=received.file,
        line=received.line,
        function=received.function,
        key=getattr(received, "key", None),
    )


def _clocks(run: RunTables) -> float:
    """Return by how much the clocks may differ: nothing where all ran on one machine."""
    drivers = {each.boot for each in run.of(DriverAttached)} - {None}
    schedulers = {each.boot for each in run.of(SchedulerInfo)}
    return 0.0 if drivers and drivers == schedulers else CLOCKS


def _is_among(
    calls: tuple[DriverCallFailed, ...], exception: str, message: str
) -> bool:
    """Return whether a call raised such an exception; its message may have been cut."""
    named = (c for c in calls if class_of(c.exception) == class_of(exception))
    texts = (each.message.removesuffix("…") for each in named)
    return any(message.startswith(t) or t.startswith(message) for t in texts)
