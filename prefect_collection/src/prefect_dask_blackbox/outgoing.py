"""The last step of every text that goes to Prefect: no secret value that is known by now is in it.

A value becomes known when a block is loaded, or by `dask_blackbox.mask_secret`: also after a task
was submitted with it, or after a line about it was written.  So texts are masked when they leave,
and not when they are made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from dask_blackbox.capture.masked_values import masked_values
from dask_blackbox.capture.redaction import MOST_VALUES, Redaction
from dask_blackbox.report import escaped
from prefect.client.schemas.objects import State

__all__ = ["learn", "outgoing", "outgoing_in", "outgoing_state"]


class _KnownValues:
    """The secret values that this process knows, as they are and as Markdown writes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._learnt: dict[str, None] = {}
        self._known: tuple[str, ...] = ()
        self._redaction = Redaction()

    def learn(self, values: Iterable[str]) -> None:
        with self._lock:
            self._learnt.update(dict.fromkeys(values))
            # Of a process that runs one flow after another: those of the newest.
            for old in list(self._learnt)[: max(0, len(self._learnt) - MOST_VALUES)]:
                del self._learnt[old]

    def masked(self, text: str) -> str:
        with self._lock:
            known = (*self._learnt, *masked_values())
            if known != self._known:
                forms = dict.fromkeys((*known, *map(escaped, known)))
                self._redaction, self._known = Redaction(values=forms), known
            redaction = self._redaction
        return redaction.known_values(text)


_values = _KnownValues()


def learn(values: Iterable[str]) -> None:
    """Mask these values as well, in all texts from now on."""
    _values.learn(values)


def outgoing(text: str) -> str:
    """Return a text as it may leave for Prefect."""
    return _values.masked(text)


def outgoing_in(value: object) -> object:
    """Return texts, and those in mappings and sequences of a payload, as they may leave."""
    if isinstance(value, str):
        return outgoing(value)
    if isinstance(value, dict):
        return {name: outgoing_in(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [outgoing_in(each) for each in value]
    return value


def outgoing_state(state: State[object]) -> State[object]:
    """Return a state whose message may leave for Prefect."""
    if state.message is None:
        return state
    return state.model_copy(update={"message": outgoing(state.message)})
