"""Deaths that are alike, reported once: the same end while the same work was running."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.formatting import prefix_of
from dask_blackbox.report.workers import Life

__all__ = ["DeathGroup", "death_groups"]


class DeathGroup(NamedTuple):
    """Workers that died alike: the first of them, and the others."""

    first: Life
    others: list[Life]


def death_groups(dead: list[Life]) -> list[DeathGroup]:
    """Return the deaths, in order, those that are alike together."""
    groups: dict[tuple[object, ...], DeathGroup] = {}
    for life in dead:
        alike = _alike(life)
        if alike in groups:
            groups[alike].others.append(life)
        else:
            groups[alike] = DeathGroup(life, [])
    return [*groups.values()]


def _alike(life: Life) -> tuple[object, ...]:
    death = life.death
    running = tuple(sorted({prefix_of(key) for key, _ in life.running}))
    if death is None:
        return (life.fate, running)
    return (
        death.exit_code,
        death.restarted_for_memory is not None,
        bool(death.oom_kills),
        death.frozen_for is not None,
        death.closing,
        death.certified,
        running,
    )
