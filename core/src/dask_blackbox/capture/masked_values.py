"""Secret values that became known in this process, to mask wherever they occur.

An orchestrator provides connections and blocks while a task runs, and a job may fetch a
password from a vault.  When such a value is printed, neither its name nor its shape shows
that it is secret.
Several copies of this module can be in one process, because capture is sent to workers as
source text; so the values are kept under one name in `sys.modules`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import time
import types
from typing import Any, Callable, Iterable

from .redaction import (
    BLANK,
    MOST_VALUES,
    maskable_values,
    secret_values,
    secrets_in,
)

logger = logging.getLogger("dask_blackbox")

MASKED = "-masked"
"""What the topic of these values has after the name of the plugins."""

_NAME = "_dask_blackbox_masked_values"
_LONGEST_WALK = 100_000
_LOOK_AGAIN = 5.0  # seconds: a task may load an environment file

_Listener = Callable[[tuple[str, ...]], None]


def _shared() -> Any:
    found = sys.modules.get(_NAME)
    if found is None:
        made: Any = types.ModuleType(_NAME)
        made.values, made.listeners, made.lock = {}, [], threading.RLock()
        found = sys.modules.setdefault(_NAME, made)
    return found


def mask_secret(secret: Any) -> None:
    """Mask a secret value in recordings from now on, wherever it occurs.

    Call it in the driver or in a task, before the value is used.  Values of fewer than 5
    characters and words such as `default` are not masked, because they occur by chance.  At most 2,000
    values are masked; if there are more, a warning in the log says so.

    Args:
        secret: A text, bytes, or a mapping or sequence of such, as deep as it goes: all
            texts in it are masked, and what URLs and JSON in them hold as a secret.
    """
    shared = _shared()
    known = list(_texts(secret))
    inside = (each for text in known for each in secrets_in(text))
    wanted = maskable_values([*known, *inside], _LONGEST_WALK)
    with shared.lock:
        new = tuple(each for each in wanted if each not in shared.values)
        taken = new[: max(0, MOST_VALUES - len(shared.values))]
        # In one step: a worker's thread iterates over them without the lock.
        shared.values = {**shared.values, **dict.fromkeys(taken)}
        listeners = list(shared.listeners)
    if taken:
        for listener in listeners:
            with contextlib.suppress(Exception):
                listener(taken)
    if len(taken) < len(new):
        logger.warning(
            "%d secret values are not masked in the recording, because at most %d are "
            "masked",
            len(new) - len(taken), MOST_VALUES,
        )  # fmt: skip


def masked_values() -> tuple[str, ...]:
    """Return the values that are masked in this process."""
    return tuple(_shared().values)


def follow_masked_values(listener: _Listener) -> None:
    """Call `listener` with new values from now on, in the thread that adds them."""
    shared = _shared()
    with shared.lock:
        shared.listeners.append(listener)


def unfollow_masked_values(listener: _Listener) -> None:
    """Call `listener` no more."""
    shared = _shared()
    with shared.lock, contextlib.suppress(ValueError):
        shared.listeners.remove(listener)
    if not shared.listeners and not shared.values:
        sys.modules.pop(_NAME, None)


def _texts(secret: object) -> Iterable[str]:
    waiting: list[object] = [secret]
    for _ in range(_LONGEST_WALK):
        if not waiting:
            return
        each = waiting.pop()
        if isinstance(each, bytes):
            each = each.decode("utf-8", "replace")
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting.extend(each)


class OwnSecrets:
    """Masks secrets that only this process knows: its environment variables, and values added here.

    A worker's environment may hold what the driver's does not, and a task may load a
    secret by itself; no other process could mask it, and the values themselves must not travel.

    Attributes:
        values: Matches each of them; None: there are none.
        until: Epoch seconds, after which `look` is to be called; 0: at once.
    """

    def __init__(self) -> None:
        self.values: re.Pattern[str] | None = None
        self.until = 0.0
        self._added: Any = None
        self._known: tuple[str, ...] = ()

    def mask(self, text: str) -> str:
        """Return `text` without these values."""
        now = time.time()
        # The clock may have been set back.
        due = not now < self.until < now + 2 * _LOOK_AGAIN
        if due or _shared().values is not self._added:
            self.look(now)
        return text if self.values is None else self.values.sub(BLANK, text)

    def look(self, now: float) -> None:
        """Find these values, which a task may have changed."""
        self.until, self._added = now + _LOOK_AGAIN, _shared().values
        values = maskable_values(
            [*(self._added or ()), *secret_values(dict(os.environ))]
        )
        if values != self._known:
            self._known = values
            longest_first = sorted(values, key=len, reverse=True)
            self.values = (
                re.compile("|".join(map(re.escape, longest_first))) if values else None
            )
