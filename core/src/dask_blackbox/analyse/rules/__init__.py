"""The rules, by phenomenon; their order does not matter."""

from __future__ import annotations

from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules import (
    connections,
    data,
    driver,
    driver_stopped,
    environment,
    hangs,
    history,
    job_ends,
    memory,
    performance_scheduler,
    performance_waiting,
    performance_work,
    pod_ends,
    recording,
    scheduler,
    serialization,
    shuffle,
    startup,
    tasks,
    worker_deaths,
)

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = tuple(
    each
    for module in (
        worker_deaths,
        job_ends,
        pod_ends,
        memory,
        serialization,
        environment,
        startup,
        connections,
        hangs,
        tasks,
        shuffle,
        driver,
        driver_stopped,
        scheduler,
        performance_scheduler,
        data,
        performance_work,
        performance_waiting,
        history,
        recording,
    )
    for each in vars(module).values()
    if isinstance(each, Rule)
)
"""Every rule that one of these modules defines."""
