"""One attempt of a flow run and its recording, from its start to its card.

Made in the flow's own process; nothing here may slow, fail or hang the flow.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any
from uuid import UUID

import dask.config
import httpx
from dask_blackbox.capture.source_files import name_source_file_of
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import RunState, not_stored
from dask_blackbox.driver import own_clients as joined_clients
from dask_blackbox.driver.recorder_options import known_secrets
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.events import TaskNamed
from dask_blackbox.formatting import capital
from dask_blackbox.guard import guard
from dask_blackbox.manifest import TIME_LIMITS
from dask_blackbox.settings import setting_seconds
from distributed import Client
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun, MissingContextError
from prefect.logging.loggers import flow_run_logger
from prefect.states import Crashed, Failed
from prefect.tasks import Task
from prefect_dask.task_runners import PrefectDaskFuture

from prefect_dask_blackbox import own_clients
from prefect_dask_blackbox.artifacts import FlowRunPage, key_of
from prefect_dask_blackbox.endings import (
    HostStop,
    dies_unreported,
    failed_part,
    note_failed,
    stop_of,
)
from prefect_dask_blackbox.environment import host_environment, secrets_of_prefect
from prefect_dask_blackbox.errors import LostTasksError, NeverRanError, also
from prefect_dask_blackbox.events import (
    Affected,
    emit_diagnosed,
    failed_task_runs,
    tag_cause,
)
from prefect_dask_blackbox.fast_submit import FastSubmit
from prefect_dask_blackbox.final_states import FinalState, read_runs
from prefect_dask_blackbox.futures import BlackboxFuture
from prefect_dask_blackbox.identity import identity_of, page_of, prefect_client
from prefect_dask_blackbox.ignored_annotations import ask_for_ignored, ignored_text
from prefect_dask_blackbox.job_page import show_job
from prefect_dask_blackbox.kept_cards import keep_card, kept_card
from prefect_dask_blackbox.late_ends import LateEnd, TaskEnd, finish_later
from prefect_dask_blackbox.live_artifacts import Live
from prefect_dask_blackbox.lost_tasks import LostTasks, cause_of, finding_about
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.page import TaskLine
from prefect_dask_blackbox.reruns import rerun_of, rerun_text
from prefect_dask_blackbox.retried_requests import failed_since
from prefect_dask_blackbox.retries import FlowRetries
from prefect_dask_blackbox.returned_states import (
    exceeded_limit,
    exception_of,
    exception_of_state,
    reason_of,
)
from prefect_dask_blackbox.run_assets import assets_of, note_of
from prefect_dask_blackbox.submitted_tasks import (
    Ledger,
    SubmittedTask,
    one_line,
    shown_name,
    without_name,
)
from prefect_dask_blackbox.task_attempts import earlier_failures
from prefect_dask_blackbox.unrequested_failures import (
    ask_for_blocker,
    ask_for_failed,
    blocker_elsewhere,
    is_unfinished_run,
    raised_by,
)

if TYPE_CHECKING:
    from dask_blackbox import Recording
    from dask_blackbox.finding import CurrentState
    from dask_blackbox.identity import Identity
    from dask_blackbox.protocol.messages import Progress
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun
    from prefect.context import FlowRunContext

__all__ = ["ObservedRun", "this_process_showed"]

_DYING = 15.0
"""Seconds for the card of a run that was asked to stop: Prefect's runner kills after 30."""
_ENGINE = 10.0
"""Seconds for Prefect's engine to set the state of a flow run whose function has ended."""
_MOST_TASK_PAGES = 3
_MOST_ATTEMPTS = 20
_MOST_NAMES = 600
_MOST_LATE = 20_000
"""Task runs whose states are sent to a server that was away, once it answers again."""
_UNHEARD = 3.0
"""Seconds in all for the server to hear of task runs whose states the cluster has already: a
flow may ask for the results of hundreds that never ran."""
_LOG_PATIENCE = 3.0
"""Seconds for lines of a task run's log: Prefect's workers send them every two."""
_SUSPENDED = "Stopped before it finished, because its flow run was suspended."
_NEVER_RETRIED = frozenset(("cancelled", "evicted"))
_HOW_TO_GO_ON = (
    "To continue without them, handle the exception of each future's result()."
)

_shown: set[tuple[UUID, int]] = set()


def this_process_showed(flow_run_id: UUID, attempt: int) -> bool:
    """Return whether the final card of an attempt was shown by this very process."""
    return (flow_run_id, attempt) in _shown


class ObservedRun:
    """A flow run that runs in this process.

    Attributes:
        flow_run: As the engine keeps it: its state is always the newest.
        ledger: The tasks that it submitted.
        lost_tasks: Tells Prefect of those that were lost.
        recording: Of this attempt.
        card: The final card, once there is one.
        completes: The flow's function returned what the engine makes a completed run of.
        settled_later: A task runner calls `settle` when the flow run has its state.
    """

    recording: Recording

    def __init__(
        self,
        context: FlowRunContext,
        options: RecordingOptions,
        began: float | None = None,
    ) -> None:
        if context.flow_run is None or context.flow is None:
            raise MissingContextError("there is no flow run to observe")
        self.flow_run: FlowRun = context.flow_run
        self._options = options = options.with_settings()
        self.ledger = Ledger(
            known_secrets(self.flow_run.parameters, secrets_of_prefect()),
            parameters=options.task_parameters,
        )
        self.lost_tasks = LostTasks(self.flow_run.id, self.ledger)
        self.card: RunCard | None = None
        self._flow_name = context.flow.name
        self._limit = context.flow.timeout_seconds
        self._unheard = _UNHEARD
        self._engines_client: object = context.client
        parent = own_clients.current_run()
        self._parent_id = None if parent is None else parent.flow_run.id
        self._began = time.monotonic() if began is None else began
        self._stop: HostStop | None = None
        self._failed = self._crashed = False
        self._state_at_end = self.flow_run.state
        self.settled_later = self.completes = False
        self._function = inspect.unwrap(context.flow.fn)
        self._end_began = self._began
        self._not_retried = self._rerun = ""
        self._reported_unrecorded = False
        self._identity = identity = identity_of(
            self.flow_run, self._flow_name, options.job
        )
        self._attempt = identity.attempt
        self._page = FlowRunPage(self.flow_run.id, self._flow_name)
        self._ending = threading.Lock()
        self._client: Client | None = None
        self._retries = FlowRetries(self.flow_run)
        self._live = Live(
            self.flow_run.id,
            page=self._page,
            ledger=self.ledger,
            lost_tasks=self.lost_tasks,
            card=lambda: self.recording.card,
            dashboard=self._dashboard,
            read_names=self._read_names,
            begun=self._show_running,
            state=self._current_state,
        )
        self.recording = _new_recording(
            identity,
            options,
            context.flow.fn,
            self.flow_run.parameters,
            self._live.update,
        )

    @property
    def fast_submit(self) -> bool:
        """Submit tasks without serialising Prefect's settings for each of them."""
        return self._options.fast_submit and FastSubmit.is_possible()

    def begin(self) -> None:
        """Start the recording, and show that it runs.

        Raises:
            BlackboxError: if the run can't be recorded and that is required; or if this
                process is a worker's that is about to run the whole script once more.
        """
        _refuse_worker_startup()
        # The store's answer takes as long as the recorder's start: the flow goes on.
        self.recording.start(wait=False)
        with guard("the Dask clients of the flow"):
            own_clients.begin_with(self)
        self._live.start()

    def _show_running(self) -> None:
        """Show that the flow runs, once the store has answered; in the live thread."""
        self.recording.wait_for_store()
        attempt = self.recording.card.attempt
        self._log_if_unrecorded(self.recording.card)
        # Of a resumed flow run, too, which to Prefect is in its first attempt.
        if attempt > 1:
            self._page.find(attempt)
        card = self.recording.card
        if card.state == "running":  # else `end` shows it, with what is known by then
            self._page.show(card)

    def _current_state(self) -> CurrentState | None:
        """Return what the run is doing, by what of its recording is in the store."""
        from dask_blackbox import Run
        from dask_blackbox.layout import RunAddress

        attempt = self.recording.card.attempt
        address = RunAddress.of(self._identity.job, self._identity.run_id, attempt)
        return Run.at(self._options.place().open(), address).card().now

    def _log_if_unrecorded(self, card: RunCard) -> None:
        """Put one line into the flow run's log, if there is no recording, with the reason."""
        known = card.completeness
        if self._reported_unrecorded or known.get("recorded", True):
            return
        self._reported_unrecorded = True
        with guard("the log line that this run is not recorded"):
            reason = capital(one_line(not_stored(card) or ""))
            flow_run_logger(self.flow_run).warning("%s", outgoing(reason))

    def attach(self, client: Client, *, own_cluster: bool) -> None:
        """Record what happens on the cluster of a client.

        Args:
            client: The task runner's client.
            own_cluster: Nobody else uses this cluster, so that all of its tasks are the
                flow's: those of `get_dask_client`, too, which makes another client.
        """
        self._client = client
        joined_clients.note_owner(client, self.recording)
        self.recording.attach(client, everything=own_cluster, owned=own_cluster)

    def earlier_cards(self) -> dict[int, RunCard | None]:
        """Return the cards of the attempts before this one, by number, the first first.

        None is one that was not recorded.  The recorder of the last one may not have
        finished yet, if its process was killed; it is waited for, up to 20 seconds.
        """
        from dask_blackbox.layout import RunAddress
        from dask_blackbox.reader.stored_cards import ended_card, stored_card

        numbers = range(1, self._attempt)[-_MOST_ATTEMPTS:]
        if not numbers:
            return {}
        last = numbers[-1]
        known = kept_card(self.flow_run.id)
        address = RunAddress.of(self._identity.job, self._identity.run_id, last)
        store = self._options.place().open()
        cards = {
            number: stored_card(store, address._replace(attempt=number))
            for number in numbers[:-1]
        }
        if known is not None and known.attempt == last:
            return {**cards, last: known}
        return {**cards, last: ended_card(store, address)}

    def follow(
        self,
        task: Task[Any, Any],
        parameters: Mapping[str, object],
        future: PrefectDaskFuture[Any],
        wait_for: object = None,
    ) -> BlackboxFuture[Any]:
        """Note a submitted task, and return a future that raises when it is lost."""
        entry = self.ledger.enter(
            future.wrapped_future, task, future.task_run_id, parameters, wait_for
        )
        self.recording.task_named(
            entry.key,
            entry.name if entry.named else "",
            identity=str(entry.task_run_id),
        )
        for run in own_clients.others_than(self):
            run.ledger.note_elsewhere(entry)
        return BlackboxFuture(
            future.task_run_id,
            future.wrapped_future,
            entry=entry,
            lost_tasks=self.lost_tasks,
            why_unfinished=self.why_unfinished,
        )

    def unnoticed_loss(self) -> LostTasksError | None:
        """End the recording and return the error, if tasks were lost and nobody knows."""
        entries = self.ledger.unnoticed
        if not entries or not self._options.fail_flow_on_lost_tasks:
            return None
        self.end(exception=entries[0].error, state="failed")
        return self._loss(entries, advice=_HOW_TO_GO_ON)

    def explained_exception(self, error: BaseException) -> BaseException | None:
        """Return an exception that says why, for one of Dask or Prefect that does not.

        It is what the flow run's state says in Prefect.
        """
        lost = self.ledger.lost
        if any(error is entry.error for entry in lost):
            return also(self._loss(lost), error)
        if not is_unfinished_run(error) or isinstance(error, NeverRanError):
            return None
        if lost:
            return also(self._loss(lost), error)
        blockers = self._blockers()
        return next((self._never_ran(*each, error) for each in blockers), None)

    def _blockers(self) -> Iterator[tuple[SubmittedTask | None, SubmittedTask]]:
        """Yield the task runs that failed, after one that did not start because of it, if known.

        Of subflows that nobody observes, only those of which one is known.
        """
        for entry in self.ledger:
            if _has_failed(entry):
                yield self._waiting_for(entry), entry
        for entry in self.ledger.others.values():
            if _has_failed(entry) and (waiting := self._waiting_for(entry)) is not None:
                yield waiting, entry

    def why_unfinished(
        self, entry: SubmittedTask, error: BaseException
    ) -> NeverRanError | None:
        """Return why Prefect never ran a task whose result the flow asks for, if known."""
        with guard("the reason why a task never ran"):
            if self._client is not None:
                ask_for_blocker(self.ledger, entry, self._client)
            blocker = self.ledger.blocker_of(entry)
            if blocker is not None and blocker.state is not None:
                # The state came from the cluster, and the server may not know it yet.
                began = time.monotonic()
                self._read_names([blocker, entry], again=True, timeout=self._unheard)
                self._unheard = max(self._unheard - (time.monotonic() - began), 0.0)
                return self._never_ran(entry, blocker, error)
        return None

    def _never_ran(
        self, waiting: SubmittedTask | None, failed: SubmittedTask, error: BaseException
    ) -> NeverRanError:
        why = one_line(self.ledger.redacted(reason_of(failed.state)))
        name = "A task" if waiting is None else f"'{shown_name(waiting.name)}'"
        text = f"{name} never ran, because '{shown_name(failed.name)}' failed: {why}"
        return also(NeverRanError(text), error)

    def _waiting_for(self, failed: SubmittedTask) -> SubmittedTask | None:
        """Return the first task run that did not start because of another one, if known."""
        entries = (*self.ledger, *self.ledger.others.values())
        waiting = (e for e in entries if self.ledger.blocker_of(e) is failed)
        return next(waiting, None)

    def end(
        self, *, exception: BaseException | None = None, state: RunState | None = None
    ) -> None:
        """Finish the recording and show its card, once; afterwards it does nothing.

        Args:
            exception: What ended the flow, if something did.
            state: A word of `RunState`; None: follows from the exception.
        """
        with self._ending:
            if self.card is not None:
                return
            self._end_began = time.monotonic()
            self.ledger.flow_ended()
            raised = exception
            self._failed = exception is not None or state not in (None, "succeeded")
            dying = exception is not None and not isinstance(exception, Exception)
            self._crashed, self._state_at_end = dying, self.flow_run.state
            state = self._stopped(exception, state, dying=dying)
            self._not_retried = _why_no_retry(self._stop, dying=dying)
            if state != "succeeded":
                exception = self._failure_behind(exception, dying=dying)
            self._name_tasks()
            with guard("the card of the flow run"), _short_timeouts(dying):
                self.card = self.recording.finish(exception=exception, state=state)
            if self.card is not None:
                keep_card(self.flow_run.id, self.card)
                self._log_if_unrecorded(self.card)
                if failed_task_runs(self.card):  # of a flow run that completed
                    ask_for_failed(self.ledger, self._client, of_completed=True)
            own_clients.end_with(self)
            self._live.finish()
            if self._failed:
                errors = (raised, exception)  # a caller gets the first one
                name, card = self._flow_name, self.card
                note_failed(errors, self.flow_run, name, card, self._parent_id)
            if not dying:
                ask_for_ignored(self.ledger)
            self._show_all()

    def _failure_behind(
        self, raised: BaseException | None, *, dying: bool
    ) -> BaseException | None:
        """Note what failed in this run; return the exception that ended it."""
        silent = is_unfinished_run(raised)
        if silent or not dying:
            ask_for_failed(self.ledger, self._client, wait=silent)
        failure = self._note_failures()
        exception = (failure or raised) if silent else raised or failure
        if failure is None and exception is not None:
            exception = self._failure_elsewhere(exception)
        exception = _as_prefect_sees_it(exception, self.flow_run)
        own = self.flow_run.id
        part = failed_part(raised, own) or failed_part(exception, own)
        if part is not None:
            self.recording.part_failed("subflow", part.name, part.card, part.url)
        return exception

    def _stopped(
        self, exception: BaseException | None, state: RunState | None, *, dying: bool
    ) -> RunState | None:
        """Report to the recording that Prefect ended the run, if so; return its final state."""
        with guard("the state in which the flow run ended"):
            if state != "succeeded":
                self._stop = stop_of(
                    exception,
                    self.flow_run,
                    limit=self._limit,
                    began=self._began,
                    parent_id=self._parent_id,
                )
        stop = self._stop
        if stop is not None:
            self.recording.stopped_by(
                stop.by,
                stop.reason,
                detail=stop.detail,
                limit=stop.limit,
                setting=stop.setting,
            )
            return "failed" if stop.reason in TIME_LIMITS else "aborted"
        if dying and not isinstance(exception, SystemExit):
            return state or "aborted"  # a signal, or Prefect's own pause
        return state

    def _name_tasks(self) -> None:
        """Report Prefect's names of the tasks that the card may mention to the recording."""
        entries = {e.task_run_id: e for e in self.ledger if self._failed or e.lost}
        chosen = list(entries)[:_MOST_NAMES] if self._failed else list(entries)
        self._read_names((entries[identity] for identity in chosen), again=True)
        with guard("the names of task runs"):
            for identity in chosen:
                entry, text = entries[identity], str(identity)
                url = page_of("task-run", identity)
                self.recording.task_named(entry.key, entry.name, identity=text, url=url)
        if self._failed:
            # Without their ids: they are not this flow run's to be settled.
            for key, line in self._lines_elsewhere(self.ledger.elsewhere).items():
                self.recording.task_named(key, line.name, url=line.url)

    def _lines_elsewhere(self, keys: Iterable[str]) -> dict[str, TaskLine]:
        """Return the task runs of other flow runs of this process, by key."""
        known = self.ledger.elsewhere
        wanted = [key for key in keys if key in known][:_MOST_NAMES]
        lines: dict[str, TaskLine] = {}
        if not wanted:
            return lines
        with guard("the names of task runs"), prefect_client() as client:
            runs = read_runs(client, [known[key] for key in wanted])
            for key in wanted:
                if (run := runs.get(known[key])) is not None:
                    url = page_of("task-run", run.id)
                    other = self.ledger.others.get(run.id)
                    given = other.parameters if other is not None else ""
                    if other is not None:
                        other.name = run.name
                    lines[key] = TaskLine(name=run.name, url=url, parameters=given)
        return lines

    def _read_names(
        self,
        entries: Iterable[SubmittedTask],
        *,
        again: bool = False,
        timeout: float = 0.0,
    ) -> None:
        """Ask Prefect for the names of tasks, as `without_name` has it."""
        unknown = without_name(entries, again=again)
        deadline = time.monotonic() + timeout
        if not unknown:
            return
        with guard("the names of task runs"), prefect_client() as client:
            while True:
                for identity, run in read_runs(client, list(unknown)).items():
                    entry = unknown.pop(identity)
                    entry.name, entry.named = run.name, True
                if not unknown or time.monotonic() >= deadline:
                    return
                time.sleep(0.25)

    def _note_failures(self) -> BaseException | None:
        """Report tasks whose function raised to the recording: for Dask they succeeded.

        Returns:
            The exception of the first of them.
        """
        found: list[BaseException] = []
        with guard("the exceptions of failed tasks"):
            for entry in self.ledger:
                if entry.state is None or not _has_failed(entry):
                    continue
                error = exception_of_state(entry.state)
                if error is not None:
                    found.append(error)
                    self._note_failure(entry, error)
        return found[0] if found else None

    def _failure_elsewhere(self, exception: BaseException) -> BaseException:
        """Report to the recording which task of an unobserved subflow this comes from.

        Returns:
            What that task raised, if the exception does not say so; else the exception.
        """
        silent = is_unfinished_run(exception)
        if not silent or isinstance(exception, NeverRanError):
            entry = raised_by(self.ledger, exception)
        elif (entry := blocker_elsewhere(self.ledger)) and entry.state is not None:
            exception = exception_of_state(entry.state) or exception
        if entry is not None:
            self._note_failure(entry, exception)
        return exception

    def _note_failure(self, entry: SubmittedTask, error: BaseException) -> None:
        state = entry.state
        over = entry.task.timeout_seconds if exceeded_limit(state) else None
        self.recording.task_failed(
            entry.key,
            entry.task.name,
            error,
            at=state.timestamp.timestamp() if state is not None else None,
            limit=over or None,
            setting="timeout_seconds",
            retries=_used_retries(entry.task),
        )

    def end_beside(self, exception: BaseException | None) -> threading.Thread | None:
        """End the recording by the flow run's state, while the caller closes the cluster.

        Args:
            exception: What ended the flow run, if that was one.

        Returns:
            Where the recording ends and its card is shown; None: that is done already.
            The cluster may close.
        """
        state = self.flow_run.state
        fine = exception is None and state is not None and state.is_completed()
        if not fine or self.ledger.unnoticed or self.card is not None:
            self.end_by_state(exception)
            return None
        context = copy_context()
        ending = threading.Thread(
            target=context.run,
            args=(self._end_guarded,),
            name="dask-blackbox-prefect-end",
        )
        ending.start()
        self.recording.wait_until_left()
        return ending

    def _end_guarded(self) -> None:
        with guard("ending the recording of the flow run"):
            self.end_by_state(None)

    def end_by_state(self, exception: BaseException | None) -> None:
        """End the recording by the state that the flow run has reached."""
        state = self.flow_run.state
        unnoticed = self.ledger.unnoticed
        if exception is not None and self._is_of_engine(exception):
            lost = unnoticed[0].error if unnoticed else None
            self.end(exception=lost, state="failed" if unnoticed else "succeeded")
        elif exception is not None:
            self.end(exception=exception)
        elif state is not None and state.is_completed():
            if unnoticed and self._options.fail_flow_on_lost_tasks:
                self.end(exception=unnoticed[0].error, state="failed")
                self._fail_flow_run(unnoticed)
            else:
                self.end(state="succeeded")
        elif state is not None and (state.is_cancelled() or state.is_cancelling()):
            self.end(state="aborted")
        else:
            # Failed, crashed, or running again, since it is to be retried.
            self.end(exception=exception_of(state), state="failed")

    def _is_of_engine(self, exception: BaseException) -> bool:
        """Return whether Prefect's engine could not reach its server, after the flow had ended.

        Then the exception ends the flow run, and is none of the flow's.
        """
        if not isinstance(exception, httpx.HTTPError):
            return False
        code = getattr(self._function, "__code__", None)
        frames = traceback.walk_tb(exception.__traceback__)
        return all(frame.f_code is not code for frame, _ in frames)

    def follow_advice(self) -> None:
        """Change the retries of a flow run that fails as its verdict says, where wanted.

        They are taken away where it would fail again, and given where it was bad luck.
        """
        most = self._options.transient_retries
        luck = (
            self._retries.allow_retry(self.card, self._attempt, most) if most else None
        )
        if luck is not None:
            flow_run_logger(self.flow_run).warning("Retrying, %s", outgoing(luck))
        if not self._options.follow_retry_advice:
            return
        why = self._retries.stop_retries(self.card)
        if why is not None:
            flow_run_logger(self.flow_run).warning("Not retried, %s", outgoing(why))
            verdict = None if self.card is None else self.card.verdict
            if self.card is not None and verdict is not None:
                sure = f"{verdict.retry_advice}, {verdict.retry_confidence}"
                self._not_retried = f"as its retry advice says ({sure})"
                with guard("the reason against a retry on the card"):
                    self._show_card(self.card)

    def settle(self, *, cluster_gone: bool) -> None:
        """Give every unfinished task run a final state, and emit the event; call it last."""
        try:
            self._settle(cluster_gone=cluster_gone)
        finally:
            if self.settled_later:  # the flow run has its state, which automations read
                self._emit()
                self._show_job()
                self._tell_later_what_did_not_arrive()

    def _settle(self, *, cluster_gone: bool) -> None:
        self._retries.restore_policy()
        deaths = self.card.numbers.get("deaths", 0) if self.card else 0
        self.lost_tasks.report_rest(
            why=self._why_unfinished(),
            cancelled=self._cancelled(),
            cluster_gone=cluster_gone,
            workers_died=bool(deaths or self.ledger.lost),
        )
        with guard("the attempts of failed task runs, and what a retry executes"):
            self._show_attempts_and_rerun()
        self.report_end()

    def _show_job(self) -> None:
        if self.card is None or self._is_dying():
            return
        with guard("the page of the job"), prefect_client() as client:
            if assets := assets_of(client, self.ledger):
                self._page.note(assets=note_of(assets))
            show_job(self._flow_name, key_of(self._flow_name), client)

    def report_end(self) -> None:
        """Set the final state of a flow run for an engine that can't."""
        if self.card is None or not (self._dies_unreported() or self._is_cut_off()):
            return
        with guard("the state of a flow run that Prefect can't set"):
            state: State[Any] = Crashed(message=outgoing(self.card.headline))
            with prefect_client() as client:
                client.set_flow_run_state(self.flow_run.id, state, force=True)
            self.flow_run.state = state

    def _dies_unreported(self) -> bool:
        return self._is_dying() and dies_unreported()

    def _is_cut_off(self) -> bool:
        """Return whether the engine has lost the client with which it sets the state.

        Subflows use their parent's, which it closes when it ends: also while they still run,
        as with `asyncio.gather` when one of several has failed.
        """
        state, closed = self.flow_run.state, False
        with guard("the client of Prefect's engine"):
            closed = bool(getattr(self._engines_client, "_closed", False))
        return closed and not (state is not None and state.is_final())

    def _show_attempts_and_rerun(self) -> None:
        """Add what is known once all states are: the attempts of failed tasks, a retry."""
        if self.card is None or not self._failed or self._is_dying():
            return
        with prefect_client() as client:
            earlier = self._earlier_failures(client)
            self._rerun = rerun_text(rerun_of(client, list(self.ledger)))
        if earlier or self._rerun:
            self._show_card(self.card, earlier)

    def _earlier_failures(self, client: SyncPrefectClient) -> dict[UUID, list[str]]:
        failed = [
            entry.task_run_id
            for entry in self.ledger
            if entry.task.retries
            and entry.state is not None
            and entry.state.is_failed()
        ]
        if not failed:
            return {}
        return earlier_failures(
            client, failed, redacted=self.ledger.redacted, timeout=_LOG_PATIENCE
        )

    def _is_dying(self) -> bool:
        return self._stop is not None and self._stop.reason == "evicted"

    def _cancelled(self) -> str | None:
        stop = self._stop
        if stop is None or stop.by != "prefect":
            return None
        if stop.reason == "suspended":
            return _SUSPENDED
        return stop.detail if stop.reason == "cancelled" else None

    def _why_unfinished(self) -> str | None:
        """Return why tasks had not ended when the flow run did; None: it did not wait."""
        if not self._failed or self.card is None:
            return None
        return f"Stopped with the flow run before it finished. {self.card.headline}"

    def _fail_flow_run(self, entries: list[SubmittedTask]) -> None:
        """Fail a flow run that ended green over lost tasks.

        The decorator sees to that before the flow ends; this is for the bare task runner.
        """
        with guard("failing a flow run that lost tasks"), prefect_client() as client:
            loss = self._loss(entries, advice=_HOW_TO_GO_ON)
            state: State[Any] = Failed(message=outgoing(str(loss)))
            client.set_flow_run_state(self.flow_run.id, state, force=True)
            self.flow_run.state = state

    def _loss(
        self, entries: list[SubmittedTask], *, advice: str = ""
    ) -> LostTasksError:
        first = entries[0]
        about = finding_about(self.card, first.culprit)
        cause = cause_of(first.error)
        if about is not None:
            cause = f"{one_line(about.title)}."
        gone = [shown_name(e.name) for e in entries if e.culprit == e.key]
        never = [shown_name(e.name) for e in entries if e.culprit != e.key]
        if not gone:
            gone = [self.ledger.named(first.culprit)]
        return LostTasksError(gone, cause, never_ran=never, advice=advice)

    def _attempts(self, attempt: int) -> int:
        retries = self.flow_run.empirical_policy.retries
        return max(attempt, 1 + (retries or 0))

    def _hit_tasks(self) -> list[SubmittedTask]:
        """Return the tasks that were lost or failed, or never ran, in this order."""
        hit = [
            entry
            for entry in (*self.ledger, *self.ledger.others.values())
            if entry.lost
            or entry.never_began
            or (entry.state is not None and entry.state.is_failed())
            or (self._failed and entry.status == "pending" and self._is_reason(entry))
        ]
        # What they waited for comes first.
        return sorted(hit, key=lambda entry: entry.never_began)

    def _is_reason(self, entry: SubmittedTask) -> bool:
        """Return whether an unfinished task had ended workers, or the run failed of it."""
        verdict = None if self.card is None else self.card.verdict
        return bool(entry.deaths) or (
            verdict is not None and verdict.subject.key == entry.key
        )

    def _affected_task_runs(
        self, earlier: Mapping[UUID, Sequence[str]] | None = None
    ) -> Iterator[TaskLine]:
        """Yield the task runs that the card is about.

        Args:
            earlier: What their attempts before the last one failed with.
        """
        for entry in self._hit_tasks():
            if entry.lost:
                gone = entry.culprit == entry.key
                why = cause_of(entry.error)
                about = finding_about(self.card, entry.culprit)
                why = about.title if about is not None else why
                if not gone:
                    why = f"it waited for {self.ledger.named(entry.culprit)}"
                state = "lost" if gone else "never ran"
            elif entry.never_began:
                state, why = "never ran", self.ledger.why_never_began(entry)
            elif entry.state is None:
                state, why = "unfinished", _died_with(entry.deaths)
            else:
                why = self.ledger.redacted(reason_of(entry.state))
                state, why = "failed", one_line(why)
            yield TaskLine(
                name=entry.name,
                url=page_of("task-run", entry.task_run_id),
                state=state,
                parameters=entry.parameters,
                why=why,
                earlier=tuple((earlier or {}).get(entry.task_run_id, ())),
                assets=entry.assets,
            )

    def _executed(self) -> dict[str, TaskLine]:
        """Return the task runs that the overview names, by key."""
        overview = self.recording.overview
        if overview is None:
            return {}
        keys = {each.key for each in (*overview.slowest, *overview.largest)}
        of_card = [entry for entry in self.ledger if entry.key in keys]
        self._read_names([*of_card, *self._hit_tasks()[:_MOST_NAMES]], again=True)
        own = {
            entry.key: TaskLine(
                name=entry.name,
                url=page_of("task-run", entry.task_run_id),
                parameters=entry.parameters,
            )
            for entry in self.ledger
            if entry.key in keys
        }
        return {**self._lines_elsewhere(keys - own.keys()), **own}

    def _dashboard(self) -> str | None:
        link = getattr(self._client, "dashboard_link", None)
        return link if isinstance(link, str) else None

    def _show_all(self) -> None:
        self.lost_tasks.report(self.card)
        self.lost_tasks.log_never_began()
        if self.card is None:
            return
        with guard("the card on the flow run's page"):
            self._show_card(self.card)
            _shown.add((self.flow_run.id, self.card.attempt))
        roots = [entry for entry in self.ledger.lost if entry.culprit == entry.key]
        with guard("the card on the pages of lost tasks"):
            for entry in roots[:_MOST_TASK_PAGES]:
                about = finding_about(self.card, entry.key)
                self._page.show_on_task(self.card, entry, about, self.ledger.names)
        if self._stop is not None and self._stop.reason == "suspended":
            return  # it goes on later: there is no cause to look for, nor to act upon
        with guard("the tag that names the cause"):
            tag_cause(self.card, self.flow_run, before=self._page.causes)
        if not self.settled_later:
            self._show_job()
            self._emit_after_state()

    def _emit_after_state(self) -> None:
        """Emit the event once the engine has set the state, which automations read.

        Nothing of ours runs in the flow's process then, but this thread.
        """
        if self._is_dying():
            self._emit()
            self._tell_later_what_did_not_arrive()
            return
        context, before = copy_context(), self.flow_run.state

        def wait_and_emit() -> None:
            deadline = time.monotonic() + _ENGINE
            while (
                self.flow_run.state is before
                and not self._is_cut_off()  # the engine has ended without a state
                and time.monotonic() < deadline
            ):
                time.sleep(0.05)
            self._emit()
            self._tell_later_what_did_not_arrive()

        # No daemon: a script may end with its flow.
        threading.Thread(
            target=context.run,
            args=(wait_and_emit,),
            name="dask-blackbox-prefect-event",
        ).start()

    def _tell_later_what_did_not_arrive(self) -> None:
        """Leave what Prefect's server did not get to a process that outlives this one."""
        state = self.flow_run.state
        running = state is not None and state.is_running()
        # The engine says that a flow run crashed when all of ours is over.
        stays = running and state is self._state_at_end and not self._crashed
        if self.card is None or not (stays or failed_since(self._end_began)):
            return
        if self._stop is not None and self._stop.reason == "suspended":
            return
        with guard("telling Prefect later how the flow run ended"):
            names = [
                TaskNamed(
                    at=time.time(),
                    subject=each.key,
                    name=each.name if each.named else "",
                    id=str(each.task_run_id),
                )
                for each in self.ledger
            ]
            finish_later(
                LateEnd(
                    pid=os.getpid(),
                    host=dict(self._identity.host),
                    card=self.card,
                    overview=self.recording.overview,
                    tasks=tuple(names[:_MOST_LATE]),
                    completes=self.completes,
                    ends=tuple(
                        map(_task_end, self.lost_tasks.known_ends()[:_MOST_LATE])
                    ),
                )
            )

    def _emit(self) -> None:
        suspended = self._stop is not None and self._stop.reason == "suspended"
        if self.card is None or suspended:
            return
        with guard("the event with the verdict"):
            hit = self._hit_tasks()
            emit_diagnosed(
                self.card,
                self.flow_run.id,
                affected=Affected(
                    {each.task_run_id: each.name for each in hit},
                    [key for each in hit for key in each.assets],
                ),
                card_url=self._page.card_url,
            )

    def _show_card(
        self, card: RunCard, earlier: Mapping[UUID, Sequence[str]] | None = None
    ) -> None:
        executed = self._executed()  # first: it reads the names that all of it shows
        self._page.show(
            card,
            list(self._affected_task_runs(earlier)),
            attempts=(card.attempt, self._attempts(card.attempt)),
            logs=self._live.lines_sent,
            names=self.ledger.names,
            overview=self.recording.overview,
            runs=executed,
            not_retried=self._not_retried,
            rerun=self._rerun,
            ignored=ignored_text(self.ledger),
        )


def _has_failed(entry: SubmittedTask) -> bool:
    state = entry.state
    return state is not None and (state.is_failed() or state.is_crashed())


def _why_no_retry(stop: HostStop | None, *, dying: bool) -> str:
    """Return why Prefect retries no run that ended so; empty: it retries those that failed."""
    ended = dying if stop is None else stop.reason in _NEVER_RETRIED
    return (
        "as Prefect retries no flow run that crashed or was cancelled" if ended else ""
    )


def _task_end(final: FinalState) -> TaskEnd:
    state = final.state
    return TaskEnd(
        id=str(final.id),
        name=final.name,
        task_key=final.task_key,
        type=state.type.value,
        state=state.name or "",
        message=state.message,
        rename=final.rename,
    )


def _died_with(deaths: int) -> str:
    """Return why a task run that Dask had not given up was hit."""
    if not deaths:
        return "it had not ended when the flow run did"
    workers = "a worker" if deaths == 1 else f"{deaths} workers"
    return f"{workers} died while executing it, before the flow run ended"


def _refuse_worker_startup() -> None:
    """Refuse to run a flow where a worker process imports the script that runs it.

    Raises:
        ConfigurationError: if that is so.
    """
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        raise ConfigurationError(
            "this process is a Dask worker that is starting, and it has imported the "
            'script that runs the flow: put that call under `if __name__ == "__main__":`'
        )


def _new_recording(
    identity: Identity,
    options: RecordingOptions,
    fn: Callable[..., object],
    parameters: Mapping[str, object],
    on_progress: Callable[[Progress], None],
) -> Recording:
    from dask_blackbox import recording

    with guard("the file of a flow that came by value"):  # as from `.serve()`
        name_source_file_of(inspect.unwrap(fn))
    recorded = recording(
        None,
        job=identity.job,
        run_id=identity.run_id,
        attempt=identity.attempt,
        host=identity.host,
        parameters=dict(
            parameters if options.parameters is None else options.parameters
        ),
        callable=getattr(fn, "__wrapped__", fn),
        required=options.required or None,  # else as the setting says
        secrets=secrets_of_prefect(),
        host_environment=host_environment(),
        on_progress=on_progress,
        overview=True,
    )
    # A block can be missing, or the server not answer: `start` says so, or raises.
    recorded.place = options.place
    recorded.logs_why = False
    return recorded


def _used_retries(task: Task[Any, Any]) -> int:
    """Return how often Prefect has retried a task that failed in the end.

    With a condition it may have been fewer times; how often, nobody here knows.
    """
    return 0 if task.retry_condition_fn is not None else task.retries or 0


def _as_prefect_sees_it(
    error: BaseException | None, flow_run: FlowRun
) -> BaseException | None:
    """Return the exception that says why, where the flow raised none or one that ends quietly.

    A flow may return a failed state with a message, and to Prefect each `sys.exit`, with 0,
    too, is a crash.
    """
    state = flow_run.state
    if isinstance(error, SystemExit) and not isinstance(error.code, str):
        failure = SystemExit(f"the flow called sys.exit({error.code or 0})")
        return failure.with_traceback(error.__traceback__)
    failed = state is not None and (state.is_failed() or state.is_crashed())
    if error is None and failed and state is not None and state.message:
        return FailedRun(state.message)
    return error


@contextmanager
def _short_timeouts(dying: bool) -> Iterator[None]:  # noqa: FBT001 - private, one caller
    if not dying:
        yield
        return
    seconds = min(_DYING, setting_seconds("finish-timeout"))
    with dask.config.set({"blackbox.finish-timeout": f"{seconds}s"}):
        yield
