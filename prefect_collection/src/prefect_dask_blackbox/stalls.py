"""Why nothing moves, in one sentence: of the particulars of a `stall` event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["later", "stall_kind", "stall_words", "stalled_keys"]

_FEW = 3


def stall_words(stall: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return what a run waits for.

    Args:
        stall: Particulars of the event.
        names: Prefect's names of tasks, by key.
    """
    lasted = f"No task has finished for {float(stall.get('lasted') or 0):.0f} s"
    return f"{lasted}: {_reason(stall, names)}."


def later(stall: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return particulars of a stall that has lasted longer by now."""
    return {
        **stall,
        "lasted": float(stall.get("lasted") or 0) + seconds,
        "processing": [
            {**each, "executing_for": float(each["executing_for"]) + seconds}
            if isinstance(each, Mapping) and each.get("executing_for")
            else each
            for each in stall.get("processing") or ()
        ],
    }


def stalled_keys(stall: Mapping[str, Any]) -> list[str]:
    """Return the keys that `stall_words` may name."""
    return [
        str(each.get("key", "")) if isinstance(each, Mapping) else str(each)
        for name in ("unrunnable", "processing")
        for each in stall.get(name) or ()
    ]


def stall_kind(stall: Mapping[str, Any]) -> str:
    """Return what kind of stall it is, for automations: `running` may be no stall at all.

    Args:
        stall: Particulars of the event.
    """
    paused = stall.get("paused") or ()
    if not stall.get("workers"):
        return "no-workers"
    if stall.get("unrunnable"):
        return "no-worker-can-run"
    if paused and len(paused) == stall.get("workers"):
        return "workers-paused"
    processing = stall.get("processing") or ()
    if any(each.get("executing_for") for each in processing):
        return "running"
    return "not-started" if processing else "waiting"


def _reason(stall: Mapping[str, Any], names: Mapping[str, str]) -> str:
    processing = stall.get("processing") or ()
    match stall_kind(stall):
        case "no-workers":
            return "there is no worker"
        case "no-worker-can-run":
            unrunnable = [_named(each, names) for each in stall["unrunnable"]]
            return f"no worker can run {_listed(unrunnable)}"
        case "workers-paused":
            return "all workers are paused because their memory is full"
        case "running":
            running = [
                f"{_named(each, names)} (for {float(each['executing_for']):.0f} s)"
                for each in processing
                if each.get("executing_for")
            ]
            return f"running are {_listed(running)}"
        case "not-started":
            sent = [_named(each, names) for each in processing]
            return f"{_listed(sent)} were sent to workers that run no task"
    return "tasks are waiting, but none is running"


def _named(each: Any, names: Mapping[str, str]) -> str:
    key = str(each.get("key", "")) if isinstance(each, Mapping) else str(each)
    return names.get(key, key)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
