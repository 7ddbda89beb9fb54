"""What earlier tries left behind: Airflow clears a task's XComs, its buttons, on each try.

The task's state store (Airflow 3.3) survives that, and SIGKILL too; before 3.3, nothing is
remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.task_log import Log

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["remember", "show_earlier"]

_KEY: Final = "dask_blackbox"
_MOST: Final = 20


def remember(context: Mapping[str, Any], card: RunCard) -> None:
    """Keep for the tries to come how this one stands and where it is recorded."""
    state_store = context.get("task_state_store")
    if state_store is None:
        return
    with guard("keeping the recording's address for the next try"):
        others = [
            known for known in _known(context) if known.get("attempt") != card.attempt
        ]
        this = {
            "attempt": card.attempt,
            "state": card.state,
            "headline": card.headline,
            "recording": card.links.get("recording", ""),
            "report": card.links.get("report", ""),
        }
        state_store.set(_KEY, [*others, this][-_MOST:])


def show_earlier(context: Mapping[str, Any], log: Log) -> None:
    """Print what became of earlier tries of this task instance."""
    with guard("showing earlier tries"):
        number = context["ti"].try_number
        for known in _known(context):
            if known.get("attempt", number) >= number:
                continue
            # Nobody was left to write down how a killed one ended.
            state = known.get("state")
            end = "was cut off" if state == "running" else known.get("headline", state)
            log.info("Try %s: %s", known.get("attempt"), end)
            log.info("  %s", known.get("report") or known.get("recording"))


def _known(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    state_store = context.get("task_state_store")
    known = state_store.get(_KEY) if state_store is not None else None
    return known if isinstance(known, list) else []
