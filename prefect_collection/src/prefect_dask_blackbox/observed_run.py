"""One attempt of a flow run and its recording, from its first moment to its card.

Made in the flow's own process; nothing here may slow, fail or hang the flow.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import dask.config
from dask_blackbox.attach import RunCard
from dask_blackbox.guard import guard
from dask_blackbox.settings import setting_seconds
from distributed import Client
from prefect.client.schemas.objects import State
from prefect.exceptions import MissingContextError
from prefect.logging.loggers import flow_run_logger
from prefect.states import Failed
from prefect.tasks import Task
from prefect_dask.task_runners import PrefectDaskFuture

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.diagnosed import emit_diagnosed
from prefect_dask_blackbox.errors import LostTasksError
from prefect_dask_blackbox.futures import BlackboxFuture
from prefect_dask_blackbox.identity import identity_of, prefect_client
from prefect_dask_blackbox.lost_tasks import LostTasks, title_of
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.retries import FlowRetries
from prefect_dask_blackbox.submitted import Ledger, SubmittedTask
from prefect_dask_blackbox.unasked import ask_for_failed, says_nothing

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun
    from prefect.context import FlowRunContext

__all__ = ["ObservedRun", "this_process_showed"]

_DYING = 15.0
"""Seconds for the card of a run that was told to stop: Prefect's runner kills after 30."""
_MOST_TASK_PAGES = 3

_shown: set[tuple[UUID, int]] = set()


def this_process_showed(flow_run_id: UUID, attempt: int) -> bool:
    """Say whether the final card of an attempt was shown by this very process."""
    return (flow_run_id, attempt) in _shown


class ObservedRun:
    """What is known of a flow run while it runs here.

    Attributes:
        flow_run: As the engine keeps it: its state is always the newest.
        ledger: The tasks that it submitted.
        lost_tasks: Tells Prefect of those that were lost.
        card: The final card, once there is one.
    """

    def __init__(self, context: FlowRunContext, options: RecordingOptions) -> None:
        if context.flow_run is None or context.flow is None:
            raise MissingContextError("there is no flow run to observe")
        self.flow_run: FlowRun = context.flow_run
        self.ledger = Ledger()
        self.lost_tasks = LostTasks(self.flow_run.id, self.ledger)
        self.card: RunCard | None = None
        self._options = options
        self._flow_name = context.flow.name
        identity = identity_of(self.flow_run, self._flow_name, options.job)
        self._attempt = identity.attempt
        self._page = FlowRunPage(self.flow_run.id, self._flow_name)
        self._ending = threading.Lock()
        self._client: Client | None = None
        self._retries = FlowRetries(self.flow_run)
        self._recording = _new_recording(
            identity, options, context.flow.fn, self.flow_run.parameters
        )

    def begin(self) -> None:
        """Start the recording, and show that it runs.

        Raises:
            BlackboxError: if the run can't be recorded and that is required.
        """
        self._recording.start()
        with guard("the card of the running flow"):
            self._page.show(self._recording.card)

    def attach(self, client: Client, *, own_cluster: bool) -> None:
        """Record what happens on the cluster of a client.

        Args:
            client: The task runner's client.
            own_cluster: Nobody else uses this cluster, so that all of its tasks are the
                flow's: those of `get_dask_client`, too, which makes another client.
        """
        self._client = client
        self._recording.attach(client, everything=own_cluster)

    def follow(
        self, task: Task[Any, Any], future: PrefectDaskFuture[Any]
    ) -> BlackboxFuture[Any]:
        """Note a submitted task, and return a future that tells when it is lost."""
        entry = self.ledger.enter(future.wrapped_future, task, future.task_run_id)
        return BlackboxFuture(
            future.task_run_id,
            future.wrapped_future,
            entry=entry,
            lost_tasks=self.lost_tasks,
        )

    def unnoticed_loss(self) -> LostTasksError | None:
        """End the recording and return the error, if tasks were lost and nobody knows."""
        entries = self.ledger.unnoticed
        if not entries or not self._options.fail_flow_on_lost_tasks:
            return None
        self.end(exception=entries[0].error, state="failed")
        return self._loss(entries)

    def end(
        self, *, exception: BaseException | None = None, state: str | None = None
    ) -> None:
        """Finish the recording and show its card, once; afterwards it does nothing.

        Args:
            exception: What ended the flow, if something did.
            state: A word of `RunState`; None: follows from the exception.
        """
        with self._ending:
            if self.card is not None:
                return
            dying = exception is not None and not isinstance(exception, Exception)
            if dying and not isinstance(exception, SystemExit):
                state = state or "aborted"  # a signal, or Prefect's own pause
            if state != "succeeded":
                silent = says_nothing(exception)
                if silent:
                    ask_for_failed(self.ledger, self._client)
                failure = self._note_failures()
                exception = (failure or exception) if silent else exception or failure
            with guard("the card of the flow run"), _hurrying(dying):
                self.card = self._recording.finish(exception=exception, state=state)
            self._show_all()

    def _note_failures(self) -> BaseException | None:
        """Tell the recording of tasks whose function raised: to Dask they succeeded.

        Returns:
            The exception of the first of them.
        """
        found: list[BaseException] = []
        with guard("the exceptions of failed tasks"):
            for entry in self.ledger:
                state = entry.state
                if state is None or not (state.is_failed() or state.is_crashed()):
                    continue
                error = _exception_of(state)
                if error is not None:
                    found.append(error)
                    self._recording.task_failed(entry.key, entry.task.name, error)
        return found[0] if found else None

    def end_as_the_engine_says(self, exception: BaseException | None) -> None:
        """End the recording by the state that the flow run has reached."""
        state = self.flow_run.state
        if exception is not None:
            self.end(exception=exception)
        elif state is not None and state.is_completed():
            self.end(state="succeeded")
            self._turn_red()
        elif state is not None and (state.is_cancelled() or state.is_cancelling()):
            self.end(state="aborted")
        else:
            # Failed, crashed, or running again, since it is to be retried.
            self.end(exception=_exception_of(state), state="failed")

    def follow_advice(self) -> None:
        """Take the retries away from a flow run that would fail again, if that is wanted."""
        if not self._options.follow_retry_advice:
            return
        why = self._retries.withhold(self.card)
        if why is not None:
            flow_run_logger(self.flow_run).warning("Not tried again, %s", why)

    def settle(self, *, cluster_gone: bool) -> None:
        """See to it that no task run stays unfinished for ever; call it last of all."""
        self._retries.give_back()
        deaths = self.card.numbers.get("deaths", 0) if self.card else 0
        self.lost_tasks.tell_rest(
            cluster_gone=cluster_gone,
            workers_died=bool(deaths or self.ledger.lost),
        )

    def _turn_red(self) -> None:
        """Fail a flow run that ended green over lost tasks.

        The decorator sees to that before the flow ends; this is for the bare task runner.
        """
        entries = self.ledger.unnoticed
        if not entries or not self._options.fail_flow_on_lost_tasks:
            return
        with guard("failing a flow run that lost tasks"), prefect_client() as client:
            state: State[Any] = Failed(message=str(self._loss(entries)))
            client.set_flow_run_state(self.flow_run.id, state, force=True)
            self.flow_run.state = state

    def _loss(self, entries: list[SubmittedTask]) -> LostTasksError:
        cause = title_of(entries[0], self.card.verdict if self.card else None)
        return LostTasksError([e.task.name for e in entries], len(entries), cause)

    def _show_all(self) -> None:
        self.lost_tasks.tell_all(self.card)
        if self.card is None:
            return
        with guard("the card on the flow run's page"):
            self._page.show(self.card)
            _shown.add((self.flow_run.id, self._attempt))
        roots = [entry for entry in self.ledger.lost if entry.culprit == entry.key]
        with guard("the card on the pages of lost tasks"):
            for entry in roots[:_MOST_TASK_PAGES]:
                self._page.show_on_task(self.card, entry.task_run_id)
        with guard("the event that tells the verdict"):
            emit_diagnosed(self.card, self.flow_run.id)


def _new_recording(
    identity: Any, options: RecordingOptions, fn: Any, parameters: dict[str, Any]
) -> Any:
    from dask_blackbox import recording

    return recording(
        None,
        store=options.store,
        job=identity.job,
        run_id=identity.run_id,
        attempt=identity.attempt,
        host=identity.host,
        parameters=dict(
            parameters if options.parameters is None else options.parameters
        ),
        callable=getattr(fn, "__wrapped__", fn),
        required=options.required or None,  # else as the setting says
        store_settings=dict(options.store_settings) if options.store_settings else None,
    )


def _exception_of(state: Any) -> BaseException | None:
    """Return the exception that a state was made from, if it is at hand."""
    data = getattr(state, "data", None)
    found = getattr(data, "result", data)
    return found if isinstance(found, BaseException) else None


@contextmanager
def _hurrying(dying: bool) -> Iterator[None]:  # noqa: FBT001 - private, one caller
    if not dying:
        yield
        return
    seconds = min(_DYING, setting_seconds("finish-timeout"))
    with dask.config.set({"blackbox.finish-timeout": f"{seconds}s"}):
        yield
