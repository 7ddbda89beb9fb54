"""Sends something to a service within a bounded time, after the run, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger("dask_blackbox.recorder")

_PATIENCE = 30.0
_LONGEST = 300


def send_in_time(what: str, send: Callable[[], list[str]]) -> list[str]:
    """Send something; return what could not be sent, and log it.

    Args:
        what: How the log calls it.
        send: Sends it, and returns what could not be sent.
    """
    problems: list[str] = []

    def work() -> None:
        try:
            problems.extend(send())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is listed
            problems.append(f"{type(error).__name__}: {error}"[:_LONGEST])

    # A daemon: a service that hangs does not keep the process.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    found = list(problems)
    if thread.is_alive():
        found.append(f"no answer within {_PATIENCE:g} s")
    for each in found:
        logger.warning("%s was not sent: %s", what, each)
    return found
