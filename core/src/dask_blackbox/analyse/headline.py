"""The one line to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dask_blackbox.analyse.state import State
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import counted, duration, short, size

__all__ = ["headline_of", "headline_of_a_damaged_end"]

_LONGEST = 120
_LOCAL = "work in local threads and processes is not recorded"


def headline_of(
    state: State,
    verdict: Finding | None,
    findings: Sequence[Finding],
    numbers: Mapping[str, float],
    *,
    unrecorded: str | None = None,
    clusterless: bool = False,
) -> str:
    """Return the card's headline, at most 120 characters long.

    Args:
        state: How the run ended.
        verdict: Why, if it failed.
        findings: All else that was found.
        numbers: The card's measures.
        unrecorded: Why there is no recording, if there is none.
        clusterless: The driver was recorded and no cluster was: there was no client.
    """
    if verdict is not None:
        return short(verdict.title, _LONGEST)
    took = duration(numbers.get("duration", 0))
    if unrecorded is not None:
        return short(f"{state.capitalize()}, not recorded: {unrecorded}", _LONGEST)
    if clusterless:
        return f"{state.capitalize()} after {took} without a Dask client: {_LOCAL}"
    if state == "running":
        return f"Running for {took}: {_work(numbers)}"
    if state != "succeeded":
        return f"{state.capitalize()} after {took}: {_work(numbers)}"
    warnings = [each.rule for each in findings if each.severity == "warning"]
    but = f"; {counted(len(warnings), 'warning')}: {', '.join(dict.fromkeys(warnings))}"
    return short(
        f"Succeeded in {took}: {_work(numbers)}{but if warnings else ''}", _LONGEST
    )


def headline_of_a_damaged_end(
    state: State,
    verdict: Finding | None,
    findings: Sequence[Finding],
    numbers: Mapping[str, float],
    *,
    unrecorded: str | None = None,
    clusterless: bool = False,
) -> str:
    """Return the headline of a run of which nothing but its last state is known."""
    how = "how it ended" if state == "lost" else f"it {state}, but why"
    return f"The recording is damaged: {how} is not known any more; {_work(numbers)}"


def _work(numbers: Mapping[str, float]) -> str:
    tasks, workers = int(numbers.get("tasks", 0)), int(numbers.get("workers", 0))
    if not tasks and not workers:
        return "no work on a Dask cluster was recorded"
    cached = int(numbers.get("cached", 0))
    more = f" and {cached:,} from a cache" if cached else ""
    ran = counted(max(0, tasks - cached), "task")
    text = f"{ran}{more} on {counted(workers, 'worker')}"
    if "peak_memory" in numbers:
        text += f", peak memory {size(numbers['peak_memory'])}"
        if "memory_limit" in numbers:
            text += f" of {size(numbers['memory_limit'])}"
    return text
