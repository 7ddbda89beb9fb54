"""What this collection raises into a flow, and why.

BlackboxError (of dask_blackbox)
├── LostTasksError      tasks died with their workers
└── NeverRanError       a task never ran, because another one that it needs failed
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from dask_blackbox.errors import BlackboxError
from dask_blackbox.portable import Call, first_readable
from prefect.exceptions import FailedRun

__all__ = ["LostTasksError", "NeverRanError", "also"]

_MOST = 5
_PACKAGE = "prefect_dask_blackbox"

E = TypeVar("E", bound="_FlowRunError")


class _FlowRunError(BlackboxError):
    """What a flow run failed of, often in the place of an exception of Dask or Prefect.

    Pickled, as it is in the final state of a flow run with results, it is read as that
    exception, with the text as a note, where this package is not installed; without one,
    or where Dask is not installed either, as Prefect's `FailedRun`.

    Attributes:
        text: Why the flow run failed.
    """

    text: str
    _replaces: BaseException | None = None

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        other = self._replaces
        mine = type(self) if other is None else type(self).__bases__[0]
        theirs = {"_replaces", *vars(other or FailedRun())}
        state = {name: each for name, each in vars(self).items() if name not in theirs}
        forms: list[tuple[str, object]] = [
            (_PACKAGE, Call(_revived, mine, state, other))
        ]
        if other is not None:
            forms.append((_PACKAGE, Call(_revived, mine, state, None)))
            with suppress(Exception):  # it cannot be pickled
                package = type(other).__module__.partition(".")[0]
                forms.append((package, self._as_note(other)))
        return first_readable(*forms, otherwise=Call(FailedRun, self.text))

    def _as_note(self, other: BaseException) -> object:
        # Not `copy`: tblib, which Dask installs, has copies share their attributes.
        noted: BaseException = pickle.loads(pickle.dumps(other))  # noqa: S301 - our own
        noted.add_note(self.text)
        of_dask = type(other).__module__.partition(".")[0] == "distributed"
        return noted if of_dask else Call(pickle.loads, _without_tblib(noted))


class LostTasksError(_FlowRunError):
    """Tasks of this flow run were lost with their workers.

    Raised where the flow did not notice, and in the place of what Dask raises where it
    did; then it is an instance of that class, too (`except KilledWorker` still catches it).

    Attributes:
        tasks: Names of the task runs that were lost.
        never_ran: Names of those that needed them.
        cause: Why.
    """

    tasks: tuple[str, ...]
    never_ran: tuple[str, ...]
    cause: str

    def __init__(
        self,
        tasks: Sequence[str],
        cause: str,
        *,
        never_ran: Sequence[str] = (),
        advice: str = "",
    ) -> None:
        self.tasks, self.never_ran, self.cause = tuple(tasks), tuple(never_ran), cause
        text = f"{_counted(self.tasks, 'was lost', 'were lost')}"
        if self.never_ran:
            text += f" and {_counted(self.never_ran, 'never ran', 'never ran')}"
        text = f"{text}. {cause} {advice}".rstrip()
        self.text, self.args = text, (text,)


class NeverRanError(_FlowRunError):
    """A task never ran, because another one that it needs had failed.

    It is an instance of Prefect's `UnfinishedRun`, too, in whose place it is raised.

    Attributes:
        text: Which one, and of what.
    """

    def __init__(self, text: str) -> None:
        self.text, self.args = text, (text,)


def also(error: E, other: BaseException) -> E:
    """Return an error as an instance of another one's class, too.

    Whoever catches the other class keeps catching it.
    """
    mine, theirs = type(error), type(other)
    if issubclass(mine, theirs):
        return error
    kind: Any = type(mine.__name__, (mine, theirs), {"__module__": mine.__module__})
    made: E = kind.__new__(kind)
    made.__dict__.update({**vars(other), **vars(error)})
    made.args, made._replaces = error.args, other  # noqa: SLF001 - one of ours
    return made


def _revived(
    kind: type[_FlowRunError], state: Mapping[str, Any], other: BaseException | None
) -> _FlowRunError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.text,)
    return error if other is None else also(error, other)


def _without_tblib(error: BaseException) -> bytes:
    """Return the pickle of an exception as Python makes it, whatever reads it.

    Dask installs tblib, by which all classes of exceptions that there are by then are pickled
    with their tracebacks, and then only read where tblib is.
    """
    pickled = io.BytesIO()
    pickler = pickle.Pickler(pickled)
    pickler.dispatch_table = {}
    pickler.dump(error)
    return pickled.getvalue()


def _counted(names: Sequence[str], one: str, many: str) -> str:
    named = ", ".join(repr(name) for name in names[:_MOST])
    more = ", …" if len(names) > _MOST else ""
    runs = f"1 task run {one}" if len(names) == 1 else f"{len(names)} task runs {many}"
    return f"{runs} ({named}{more})"
