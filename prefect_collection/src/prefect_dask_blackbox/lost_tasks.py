"""Tasks that were lost with their worker: sets their states in Prefect, which nothing else does.

A task run reports its states from the worker that runs it, so one whose worker is killed
stays RUNNING for ever, and those that wait for it never come into being.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding
from dask_blackbox.guard import guard
from distributed import KilledWorker
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Crashed

from prefect_dask_blackbox.final_states import FinalState, error_line, read_runs, settle
from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.returned_states import reason_of
from prefect_dask_blackbox.submitted_tasks import (
    Ledger,
    SubmittedTask,
    one_line,
    shown_name,
)

__all__ = ["LostTasks", "cause_of", "finding_about"]

_SETTLING = 3.0
"""Seconds in which a task's own last words may still reach Prefect's database."""

_ABANDONED = (
    "Abandoned: the flow run ended, and its Dask cluster with it, before this task did."
)
_RELEASED = (
    "Abandoned: nothing waited for its result. The flow cancelled it or kept no future of "
    "it, so Dask released it before it finished; then the flow run ended."
)
_MOST_LINES = 200
_WORKERS_DIED = "workers-died"
_OF_WORKERS = ("worker-", "kernel-oom", _WORKERS_DIED)
_RERUN = "It had completed, and was executed again, because its result was lost with its worker."
_UNHEARD = "It ended, but its result was lost with its worker."


class LostTasks:
    """Tells Prefect what became of the tasks of one flow run."""

    def __init__(self, flow_run_id: UUID, ledger: Ledger) -> None:
        self._flow_run_id = flow_run_id
        self._ledger = ledger

    def report(self, card: RunCard | None = None, *, early: bool = False) -> None:
        """Set all lost tasks' runs to Crashed, creating those that never came into being.

        A run that ended by itself before its result was lost keeps its state, unless Dask
        executed it again and gave it up.

        Args:
            card: Of the flow run, once there is one: what it says of them.
            early: The flow run goes on; more will be known, and go into the logs.
        """
        finals: list[FinalState] = []
        for entry in self._ledger.lost:
            if early and entry.culprit != entry.key:
                continue  # it has no run that could stay RUNNING
            message = self.sentence(entry, card)
            if message != entry.message or not (early or entry.logged):
                again, entry.message = entry.message is not None, message
                entry.logged = entry.logged or not early
                final = _final(entry, Crashed(message=message), again=again)
                rerun = None if early else _if_completed(entry, message)
                finals.append(replace(final, log=not early, if_completed=rerun))
        with guard("reporting lost tasks to Prefect"):
            self._settle(finals)

    def report_rest(
        self,
        *,
        why: str | None,
        cancelled: str | None,
        cluster_gone: bool,
        workers_died: bool,
    ) -> None:
        """Give a final state to task runs that nobody else will give one.

        Those that had not ended when the flow run did can't end any more when the cluster
        is gone.  And where workers died, a task's own last words may have died with them;
        or its result, so that Dask began to run it once more.

        Args:
            why: What ended the flow run before its tasks; None: it ended by itself.
            cancelled: Who cancelled it, in a sentence; None: nobody.
            cluster_gone: Nothing of this flow run can be running any more.
            workers_died: Look at the tasks that finished, too.
        """
        entries = [
            entry
            for entry in self._ledger
            if entry.message is None
            and (workers_died if entry.status == "finished" else cluster_gone)
        ]
        if not entries:
            return
        self._let_them_end(entries)
        finals = []
        users = self._ledger.failed_users
        for entry in entries:
            own = why or _ABANDONED
            if entry.released:
                user = users.get(entry.key)
                own = _RELEASED if user is None else _needless(user)
            state: State[object] = Crashed(message=own)
            if cancelled is not None:
                state = Cancelled(message=cancelled)
            finals.append(_final(entry, _last_state(entry, state)))
        self._settle(finals)

    def known_ends(self) -> list[FinalState]:
        """Return what task runs have become, of which this process knows that."""
        return [
            _final(
                entry,
                Crashed(message=entry.message)
                if entry.message is not None
                else _last_state(entry, Crashed(message=_UNHEARD)),
            )
            for entry in self._ledger
            if entry.message is not None
            or entry.state is not None
            or entry.status == "finished"
        ]

    def log_never_began(self) -> None:
        """Put one line into the log of each task run that Prefect never ran, with the reason.

        Its state only has the id of another task run, and no page shows it.
        """
        waiting = [entry for entry in self._ledger if entry.never_began]
        lines = []
        for entry in waiting[:_MOST_LINES]:
            blocker = self._ledger.blocker_of(entry)
            why = ""
            if blocker is not None:
                reason = self._ledger.redacted(reason_of(blocker.state))
                why = f", which failed: {reason}"
            text = f"Never ran: {self._ledger.why_never_began(entry)}{why}"
            lines.append(error_line(self._flow_run_id, entry.task_run_id, text))
        if lines:
            with guard("the logs of task runs that never ran"), prefect_client() as api:
                api.create_logs(lines)

    def sentence(self, entry: SubmittedTask, card: RunCard | None = None) -> str:
        """Return why a task run is Crashed: what the card says of it, else what Dask said."""
        cause = cause_of(entry.error)
        about = finding_about(card, entry.culprit)
        if about is not None:
            cause = one_line(f"{about.title}. {about.cause}")
        if entry.culprit != entry.key:
            name = self._ledger.named(entry.culprit)
            return f"Never ran, because it waited for {name}, which was lost. {cause}"
        return f"Lost: {cause}"

    def _let_them_end(self, entries: list[SubmittedTask]) -> None:
        """Wait a moment for what those that finished have yet to tell the server."""
        deadline = time.monotonic() + _SETTLING
        waiting = [e.task_run_id for e in entries if e.status == "finished"]
        with (
            guard("waiting for task runs that are about to end"),
            prefect_client() as client,
        ):
            while waiting and time.monotonic() < deadline:
                runs = read_runs(client, waiting)
                ended = {
                    i for i, run in runs.items() if run.state and run.state.is_final()
                }
                waiting = [each for each in waiting if each not in ended]
                if waiting:
                    time.sleep(0.25)

    def _settle(self, finals: Iterable[FinalState]) -> None:
        wanted = list(finals)
        if wanted:
            with prefect_client() as client:
                settle(client, self._flow_run_id, wanted)


def _needless(user: SubmittedTask) -> str:
    name = shown_name(user.name)
    return (
        f"Not finished: Dask released this task, because only {name} needed its result, "
        f"and {name} was lost or could not run any more."
    )


def _final(
    entry: SubmittedTask, state: State[object], *, again: bool = False
) -> FinalState:
    return FinalState(
        id=entry.task_run_id,
        name=entry.name,
        task_key=entry.task.task_key,
        state=state,
        rename=entry.named,
        again=again,
    )


def _if_completed(entry: SubmittedTask, message: str) -> State[object] | None:
    """Return what a completed task run becomes that Dask executed again, and gave up."""
    if entry.culprit != entry.key or not isinstance(entry.error, KilledWorker):
        return None
    return Crashed(message=f"{_RERUN} {message}")


def _last_state(entry: SubmittedTask, otherwise: State[object]) -> State[object]:
    if entry.state is not None:
        known = entry.state
        return State(type=known.type, name=known.name, message=known.message)
    if entry.status == "finished":
        return Crashed(message=_UNHEARD)
    return otherwise


def cause_of(error: BaseException | None) -> str:
    """Return what Dask said, in one line."""
    if isinstance(error, KilledWorker):
        tried = error.allowed_failures + 1
        on = f"{tried} workers, and all of them" if tried > 1 else "a worker, which"
        return f"KilledWorker: it was tried on {on} died while running it."
    return one_line(f"{type(error).__name__}: {error}")


def finding_about(card: RunCard | None, key: str) -> Finding | None:
    """Return what a card says of the loss of a task, if it says something of it."""
    if card is None:
        return None
    found = [card.verdict] if card.verdict is not None else []
    found += [each for each in card.findings if _is_reason(each, card)]
    about = next((each for each in found if _is_about(each, key)), None)
    return about or _death_of_its_like(card, key)


def _death_of_its_like(card: RunCard, key: str) -> Finding | None:
    """Return the verdict if it is why workers died that ran tasks of a kind, and nothing else is.

    It names one of the tasks; those that ran beside it, or were tried in turn, died of it, too.
    """
    verdict = card.verdict
    others = (each for each in card.findings if each != verdict)
    if verdict is None or any(each.rule.startswith(_OF_WORKERS) for each in others):
        return None
    prefix = verdict.subject.prefix
    alike = prefix is not None and key.startswith(f"{prefix}-")
    return verdict if alike and verdict.rule.startswith(_OF_WORKERS) else None


def _is_reason(finding: Finding, card: RunCard) -> bool:
    """Return whether a finding beside the verdict may be why a task was lost.

    What has cost the run something is none; and where there is a verdict, no other reason
    was found but that workers died.
    """
    if finding.severity == "notice" or finding.cost is not None:
        return False
    return (
        card.verdict is None
        or finding.severity == "failure"
        or finding.rule == _WORKERS_DIED
    )


def _is_about(finding: Finding, key: str) -> bool:
    subject = finding.subject
    if finding.rule == "unknown":
        return False
    if subject.key is not None:
        return subject.key == key
    if finding.severity != "failure" and subject.prefix is None:
        return False
    return subject.prefix is None or key.startswith(subject.prefix)
