"""The tasks that a flow submitted, and how they ended.

Prefect's own runner forgets a task as soon as it is submitted; so nobody notices one that
dies with its worker.  The ledger knows every key, without holding a future: a flow that
lets go of a result must be able to free it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dask_blackbox.capture.driver.client_calls import REASONS_OF_DASK
from dask_blackbox.capture.masked_values import mask_secret, masked_values
from dask_blackbox.capture.redaction import Redaction, is_secret_name
from dask_blackbox.formatting import plain
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from dask_blackbox.settings import setting_patterns
from distributed import Future
from prefect.client.schemas.objects import State
from prefect.tasks import Task
from pydantic import SecretStr

from prefect_dask_blackbox.annotations import bare
from prefect_dask_blackbox.outgoing import learn

__all__ = [
    "Ledger",
    "SubmittedTask",
    "in_short",
    "is_lost",
    "keys_in",
    "one_line",
    "own_name",
    "shown_name",
    "with_names",
    "without_name",
]

_logger = logging.getLogger("dask_blackbox")

_LONGEST_LINE, _LONGEST_NAME = 400, 60
_MOST_ELSEWHERE = 20_000
_MOST_ASSETS = 20
"""Of one task."""
_MOST_SECRETS = 200
"""Values of tasks' parameters that are masked: each is looked for in every text."""


@dataclass(frozen=True, kw_only=True)
class SomeTasks:
    """One or more tasks as a parameter of another one; as text, with the names known by now.

    Attributes:
        shown: The tasks; of many, the first.
        number: How many there are; None: it is a task, and not a list of some.
    """

    shown: tuple[SubmittedTask, ...]
    number: int | None = None

    def __str__(self) -> str:
        names = ", ".join(f"<{shown_name(each.name)}>" for each in self.shown)
        if self.number is None:
            return names
        more = self.number - len(self.shown)
        return f"[{names}, {more} more]" if more else f"[{names}]"


@dataclass(eq=False)
class SubmittedTask:
    """One task that the flow submitted.

    Attributes:
        key: Of the Dask task.
        task_run_id: Of the Prefect task run.
        task: Prefect's task.
        name: Of the task run; one that it is given if it never comes into being, until
            it is known what Prefect calls it.
        named: Its name is the one that Prefect has or will have.
        own: It is so because the user's template gives it.
        given: What it was called with, in short; of tasks, these tasks.
        status: `pending`, `finished`, `error` or `cancelled`, as the client heard it.
        error: What came from Dask instead of a state of the task run; never an exception
            of the user's function, which arrives as a state.
        state: The final state that it reported itself, if the flow asked for it.
        reported: The flow has been given the error.
        message: The state message that the task run was last given by us.
        logged: The reason is in its log.
        released: Dask let go of it while the flow ran: the flow cancelled it or kept no
            future of it.
        deaths: How many workers died while they executed it, as far as is known.
        inputs: The tasks whose results it was given, in lists, too, or was to wait for.
        flow: Of a subflow's: what the subflow is called.
        allowed: Of a subflow's: the task runs whose failure it was to allow, by an
            annotation that plain prefect-dask does not keep.
        allows_argument: One of these is an argument of it.
    """

    key: str
    task_run_id: UUID
    task: Task[Any, Any]
    name: str = ""
    named: bool = False
    own: bool = False
    given: tuple[tuple[str, str | SomeTasks], ...] = ()
    status: str = "pending"
    error: BaseException | None = None
    state: State[object] | None = None
    reported: bool = False
    message: str | None = None
    logged: bool = False
    released: bool = False
    deaths: int = 0
    inputs: tuple[SubmittedTask, ...] = ()
    flow: str = ""
    allowed: frozenset[UUID] = frozenset()
    allows_argument: bool = False

    @property
    def parameters(self) -> str:
        """What it was called with, in short, with the names that are known by now."""
        values = [f"{name}={value}" for name, value in self.given[:_MOST_VALUES]]
        return ", ".join([*values, *(["…"] if len(self.given) > _MOST_VALUES else [])])

    @property
    def awaited(self) -> list[SubmittedTask]:
        """The tasks that it was called with, as far as they are shown."""
        some = (value for _, value in self.given if isinstance(value, SomeTasks))
        return [each for value in some for each in value.shown]

    @property
    def assets(self) -> dict[str, str]:
        """The addresses of the assets that it materializes, by their keys; empty: not known."""
        materialized = getattr(self.task, "assets", None) or ()
        return {
            each.key: getattr(each.properties, "url", None) or ""
            for each in materialized[:_MOST_ASSETS]
        }

    @property
    def lost(self) -> bool:
        """Whether it was lost: it ended in a way that the task itself could not report."""
        return self.error is not None and is_lost(self.error)

    @property
    def never_began(self) -> bool:
        """Whether Prefect did not run it because another task run had not completed."""
        return self.state is not None and self.state.name == "NotReady"

    @property
    def blocked_by(self) -> UUID | None:
        """The task run because of whose end Prefect did not run it, as its state says."""
        if not self.never_began:
            return None
        match = _UPSTREAM.search((self.state and self.state.message) or "")
        return UUID(match[1]) if match else None

    @property
    def culprit(self) -> str:
        """Key of the task that died: this one, or the one that it waited for."""
        return str(getattr(self.error, "task", None) or self.key)


def is_lost(error: BaseException) -> bool:
    """Return whether an exception of a Dask future means that the task is lost.

    A future that the flow itself cancelled is not; one that Dask has cancelled is.
    """
    if type(error).__name__ != "FutureCancelledError":
        return True
    return getattr(error, "reason", "") in REASONS_OF_DASK


def one_line(text: str) -> str:
    """Return text as one line of bounded length, without control characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def own_name(task: Task[Any, Any], parameters: Mapping[str, object]) -> str | None:
    """Return the name that the user gives to a task run, if its template can be filled in now."""
    template = task.task_run_name
    # A template of what is not known yet is filled in where the task runs.
    known = all(isinstance(each, _PLAIN) for each in parameters.values())
    if not isinstance(template, str) or not known:
        return None
    name: str | None = None
    with guard("the name of a task run"):
        name = template.format(**parameters)
    return name  # noqa: RET504 - the guard swallows errors


def without_name(
    entries: Iterable[SubmittedTask], *, again: bool = False
) -> dict[UUID, SubmittedTask]:
    """Return those of some tasks, and of those that they needed, that Prefect has to name.

    Args:
        entries: The tasks.
        again: Those that it has named, too: it names a task run that is executed a second
            time anew.  Not what the user has named: the server receives names
            with the states, and may have an older one.
    """
    return {
        each.task_run_id: each
        for entry in entries
        for each in (entry, *entry.awaited)
        if not each.own and (again or not each.named)
    }


_PLAIN = (str, int, float, bool, type(None))
_LONGEST_VALUE, _MOST_VALUES, _MOST_LISTED = 60, 6, 3
_LONGEST_SEARCHED = 2_000


def in_short(
    parameters: Mapping[str, object], redacted: Callable[[str], str]
) -> tuple[tuple[str, str | SomeTasks], ...]:
    """Return the arguments of a task, shortened and without secrets."""
    return tuple(
        (name, "***" if is_secret_name(name) else _value(value, redacted))
        for name, value in list(parameters.items())[: _MOST_VALUES + 1]
    )


def _value(value: object, redacted: Callable[[str], str]) -> str | SomeTasks:
    value = bare(value)
    if (entry := _entry_of(value)) is not None:
        return SomeTasks(shown=(entry,))
    if isinstance(value, (list, tuple)):
        first = [_entry_of(each) for each in value[:_MOST_LISTED]]
        known = tuple(each for each in first if each is not None)
        if known and len(known) == len(first):
            return SomeTasks(shown=known, number=len(value))
    if not isinstance(value, _PLAIN):
        return f"<{type(value).__name__}>"
    # Before it is cut: half a secret does not look like one.
    text = redacted(repr(value)[:_LONGEST_SEARCHED])
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _inputs_in(values: Iterable[object]) -> Iterator[SubmittedTask]:
    for value in map(bare, values):
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if (found := _entry_of(each)) is not None:
                yield found


def _entry_of(value: object) -> SubmittedTask | None:
    """Return the task of a future of ours."""
    found = getattr(bare(value), "_entry", None)
    return found if isinstance(found, SubmittedTask) else None


_UPSTREAM = bounded(r"Upstream task run '([0-9a-f-]{36})' did not reach")
# From where a word begins: text without an end would take its length squared.
_KEY = bounded(r"(?<![\w.<>-])[\w.<>-]+-[0-9a-f]{32}")


def shown_name(name: str) -> str:
    """Return a name that users gave as it may stand within a line of ours.

    Without line breaks, terminal escapes, control and bidirectional characters, and short.
    """
    line = " ".join(plain(name).split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names of task runs in the place of Dask's keys.

    Args:
        text: Where keys may occur.
        names: By key.
    """
    return _KEY.sub(lambda found: names.get(found[0], found[0]), text)


def keys_in(text: str) -> list[str]:
    """Return the keys of task runs in a text."""
    return _KEY.findall(text)


class Ledger:
    """All tasks that one flow run submitted, in order.

    Args:
        secrets: Values that are shown nowhere.
        parameters: Keep with which arguments tasks were called, to show them; else only
            which tasks are among them.
    """

    def __init__(self, secrets: Iterable[str] = (), *, parameters: bool = True) -> None:
        self._parameters = parameters
        secrets = list(secrets)
        self._tasks: list[SubmittedTask] = []
        self._over = False
        self.redaction = Redaction(values=secrets)
        """Of what is shown of the tasks; not of their names, which Prefect shows."""
        with guard("the patterns of secrets"):
            self.redaction = Redaction(setting_patterns("redact"), values=secrets)
        learn(secrets)
        self._masked = 0
        self._secrets: set[str] = set()
        self._too_many_secrets = False
        self.elsewhere: dict[str, UUID] = {}
        """Task runs by key that other flow runs of this process submitted meanwhile, as
        subflows do: they may share a cluster, whose recording then has their tasks, too."""
        self.others: dict[UUID, SubmittedTask] = {}
        """Those of them that no other recording has: of subflows that nobody observes."""
        self.other_flow_runs: set[UUID] = set()
        """The flow runs of these subflows."""

    def __iter__(self) -> Iterator[SubmittedTask]:
        return iter(list(self._tasks))

    def mask_secrets(self, parameters: Mapping[str, object]) -> None:
        """Mask what a task is called with under secret names, in all of the recording.

        Before it is submitted: its exception may hold them.
        """
        found = {
            each.get_secret_value() if isinstance(each, SecretStr) else each
            for name, each in parameters.items()
            if isinstance(each, SecretStr)
            or (isinstance(each, str) and is_secret_name(name))
        }
        new = found - self._secrets
        if not new or self._too_many_secrets:
            return
        fits = sorted(new)[: _MOST_SECRETS - len(self._secrets)]
        self._secrets.update(fits)
        if fits:
            mask_secret(fits)
        self._too_many_secrets = len(fits) < len(new)
        if self._too_many_secrets:
            _logger.warning(
                "dask-blackbox masks no more values of task parameters with secret "
                "names, because there are more than %d; put the secrets into a block, "
                "or pass them to mask_secret",
                _MOST_SECRETS,
            )

    def redacted(self, text: str) -> str:
        """Return a text without secrets, those that became known meanwhile included."""
        known = masked_values()
        if len(known) > self._masked:
            self.redaction.mask(known[self._masked :])
            self._masked = len(known)
        return self.redaction.text(text)

    def _in_short(
        self, parameters: Mapping[str, object]
    ) -> tuple[tuple[str, str | SomeTasks], ...]:
        shown = in_short(parameters, self.redacted)
        if self._parameters:
            return shown
        return tuple(each for each in shown if isinstance(each[1], SomeTasks))

    def enter(
        self,
        future: Future[Any],
        task: Task[Any, Any],
        run_id: UUID,
        parameters: Mapping[str, object],
        wait_for: object = None,
    ) -> SubmittedTask:
        """Add a task, and follow it until it ends."""
        entry = SubmittedTask(
            key=str(future.key),
            task_run_id=run_id,
            task=task,
            given=self._in_short(parameters),
            inputs=tuple(_inputs_in([*parameters.values(), wait_for])),
        )
        own = own_name(task, parameters)
        entry.name = own or f"{task.name}-{str(run_id)[:3]}"
        entry.named = entry.own = own is not None
        self._tasks.append(entry)
        # The state that Future objects share, and not the Future: holding that one would
        # keep its result on the cluster until the flow ends.
        future.client.loop.add_callback(self._follow, future._state, entry)  # noqa: SLF001
        return entry

    def enter_other(
        self,
        key: str,
        task: Task[Any, Any],
        run_id: UUID,
        parameters: Mapping[str, object],
        *,
        flow_run_id: UUID,
        flow: str,
        allowed: tuple[frozenset[UUID], frozenset[UUID]],
    ) -> None:
        """Note a task of a subflow that nobody observes, as far as there is room.

        Args:
            key: Of the Dask task.
            task: Prefect's task.
            run_id: Of the task run.
            parameters: What it is called with.
            flow_run_id: Of the subflow's run.
            flow: What the subflow is called.
            allowed: The task runs among its arguments that may fail, and those that it is
                only to wait for.
        """
        if len(self.others) < _MOST_ELSEWHERE:
            self.mask_secrets(parameters)
            entry = SubmittedTask(
                key=key,
                task_run_id=run_id,
                task=task,
                name=f"{task.name}-{str(run_id)[:3]}",
                given=self._in_short(parameters),
                flow=flow,
                allowed=allowed[0] | allowed[1],
                allows_argument=bool(allowed[0]),
            )
            self.others[run_id] = entry
            self.other_flow_runs.add(flow_run_id)
            self.note_elsewhere(entry)

    def note_elsewhere(self, entry: SubmittedTask) -> None:
        """Note a task that another flow run submitted, as far as there is room."""
        if len(self.elsewhere) < _MOST_ELSEWHERE:
            self.elsewhere[entry.key] = entry.task_run_id

    def flow_ended(self) -> None:
        """Note that what is released from now on was released by the cluster's end.

        A client that is closed cancels all of its futures, for the same reason.
        """
        self._over = True

    async def _follow(self, state: Any, entry: SubmittedTask) -> None:
        await state.wait()
        if entry.status != "pending":
            return
        entry.status = state.status
        if state.status == "error" or (
            state.status == "cancelled" and is_lost(state.exception)
        ):
            entry.error = state.exception
        elif state.status == "cancelled":
            entry.released = not self._over

    @property
    def lost(self) -> list[SubmittedTask]:
        """Those that are lost, root causes first."""
        errors = {entry.culprit: entry.error for entry in self._tasks if entry.lost}
        for entry in self._tasks:
            # Let go of by the flow, it was not heard of; but another waited for it.
            if entry.error is None and entry.key in errors:
                entry.error = errors[entry.key]
        lost = [entry for entry in self._tasks if entry.lost]
        return sorted(lost, key=lambda entry: entry.culprit != entry.key)

    @property
    def names(self) -> dict[str, str]:
        """Names of task runs, by key, those of subflows that nobody observes included."""
        entries = (*self.others.values(), *self._tasks)
        return {each.key: shown_name(each.name) for each in entries}

    def named(self, key: str) -> str:
        """Return the name of the task run of a key; the key where there is none."""
        names = (shown_name(each.name) for each in self._tasks if each.key == key)
        return next(names, key)

    def blocker_of(self, entry: SubmittedTask) -> SubmittedTask | None:
        """Return the task because of whose end Prefect never ran another one, if known."""
        seen: set[UUID] = set()
        found: SubmittedTask | None = entry
        while found is not None and found.never_began and found.task_run_id not in seen:
            seen.add(found.task_run_id)
            found = self._of_run(found.blocked_by)
        return None if found is entry else found

    def _of_run(self, task_run_id: UUID | None) -> SubmittedTask | None:
        if task_run_id is None:
            return None
        own = (each for each in self._tasks if each.task_run_id == task_run_id)
        return next(own, None) or self.others.get(task_run_id)

    def why_never_began(self, entry: SubmittedTask) -> str:
        """Return for which task run Prefect never ran another one."""
        blocker = self.blocker_of(entry)
        if blocker is None:
            return "it waited for a task run that did not complete"
        return f"it waited for {shown_name(blocker.name)}"

    @property
    def failed_users(self) -> dict[str, SubmittedTask]:
        """By the key of a task: one that needed its result, itself or by others, and is lost."""
        found: dict[str, SubmittedTask] = {}
        for entry in reversed(self._tasks):  # who needs a result is submitted later
            user = entry if entry.lost else found.get(entry.key)
            if user is not None:
                for each in entry.inputs:
                    found.setdefault(each.key, user)
        return found

    @property
    def unnoticed(self) -> list[SubmittedTask]:
        """Those that are lost without the flow having been notified."""
        reported = {entry.culprit for entry in self._tasks if entry.reported}
        return [
            entry
            for entry in self.lost
            if not entry.reported and entry.culprit not in reported
        ]
