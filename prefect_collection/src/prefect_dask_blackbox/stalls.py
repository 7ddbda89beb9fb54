"""Why no task finishes, in one sentence, from a `stall` event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from prefect_dask_blackbox.submitted_tasks import shown_name

if TYPE_CHECKING:
    # Only describes arguments.
    from dask_blackbox.events import RestrictedTask, Stall

__all__ = ["later", "stall_kind", "stall_text", "stalled_keys"]

_FEW = 3


def stall_text(stall: Stall, names: Mapping[str, str]) -> str:
    """Return what a run waits for.

    Args:
        stall: The event.
        names: Prefect's names of tasks, by key.
    """
    lasted = f"No task has finished for {stall.lasted:.0f} s"
    return f"{lasted}: {_reason(stall, names)}."


def later(stall: Stall, seconds: float) -> Stall:
    """Return a stall that has lasted longer by now."""
    processing = tuple(
        msgspec.structs.replace(each, executing_for=each.executing_for + seconds)
        if each.executing_for
        else each
        for each in stall.processing
    )
    return msgspec.structs.replace(
        stall, lasted=stall.lasted + seconds, processing=processing
    )


def stalled_keys(stall: Stall) -> list[str]:
    """Return the keys that `stall_text` may name."""
    unrunnable = [each.key for each in stall.unrunnable]
    return unrunnable + [each.key for each in stall.processing]


def stall_kind(stall: Stall) -> str:
    """Return what kind of stall it is, for automations: `running` may be no stall at all."""
    if not stall.workers:
        return "no-workers"
    if stall.unrunnable:
        return "no-worker-can-run"
    if len(stall.paused) == stall.workers:
        return "workers-paused"
    if any(each.executing_for for each in stall.processing):
        return "running"
    return "not-started" if stall.processing else "waiting"


def _reason(stall: Stall, names: Mapping[str, str]) -> str:
    match stall_kind(stall):
        case "no-workers":
            return "there is no worker"
        case "no-worker-can-run":
            unrunnable = [_with_needs(each, names) for each in stall.unrunnable]
            return f"no worker can run {_listed(unrunnable)}"
        case "workers-paused":
            return "all workers are paused because their memory is full"
        case "running":
            running = [
                f"{names.get(each.key, each.key)} (for {each.executing_for:.0f} s)"
                for each in stall.processing
                if each.executing_for
            ]
            return f"{_listed(running)} {_verb(running, 'is', 'are')} running"
        case "not-started":
            sent = [names.get(each.key, each.key) for each in stall.processing]
            return f"{_listed(sent)} {_verb(sent, 'was', 'were')} sent to workers that run no task"
    return "tasks are waiting, but none is running"


def _with_needs(task: RestrictedTask, names: Mapping[str, str]) -> str:
    needs = [f"{name}={number:g}" for name, number in task.resources.items()]
    for noun, places in (("worker", task.workers), ("host", task.hosts)):
        if places:
            more = " or …" if len(places) > _FEW else ""
            needs.append(f"{noun} {' or '.join(places[:_FEW])}{more}")
    asked = shown_name(" and ".join(needs))
    name = names.get(task.key, task.key)
    return f"{name} (needs {asked})" if needs else name


def _verb(names: list[str], one: str, many: str) -> str:
    return one if len(names) == 1 else many


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
