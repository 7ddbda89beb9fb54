"""What the run ran on: packages of all three roles side by side, configuration, driver."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from dask_blackbox.events import (
    DriverAttached,
    Event,
    GatewayCluster,
    InstalledPackages,
    SchedulerInfo,
    WorkerAdded,
)
from dask_blackbox.formatting import count, plain
from dask_blackbox.run_tables import RunTables

_LONGEST = 400
_NO_FACTS = ("packages", "config", "python", *Event.__struct_fields__)


class PackageRow(NamedTuple):
    """One package (or Python itself): its versions by role, and whether they differ."""

    name: str
    driver: str
    scheduler: str
    workers: str
    differ: bool


class Environment(NamedTuple):
    """Packages, facts about driver and scheduler, and the flattened Dask configuration."""

    packages: list[PackageRow]
    facts: list[tuple[str, str]]
    config: list[tuple[str, str]]


Versions = dict[str, str]
"""Versions by name of the package."""


def environment_of(run: RunTables) -> Environment:
    """Return what is known of driver, scheduler and workers."""
    driver = _driver(run.of(DriverAttached))
    scheduler = next(iter(run.of(SchedulerInfo)[-1:]), SchedulerInfo())
    return Environment(
        _rows(
            _versions(driver.packages, driver.python),
            _scheduler_versions(run, scheduler),
            _worker_versions(run),
        ),
        [
            *_facts("driver", driver),
            *_facts("scheduler", scheduler),
            *_states_at_gateway(run),
        ],
        sorted({**dict(_flat(scheduler.config)), **dict(_flat(driver.config))}.items()),
    )


def _states_at_gateway(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield the states of each of a gateway's clusters, in the order in which it had them."""
    states: dict[str, list[str]] = {}
    for each in run.of(GatewayCluster):
        known = states.setdefault(each.name, [])
        state = each.state or f"unknown: {each.error}"
        if known[-1:] != [state]:
            known.append(state)
    for name, seen in states.items():
        yield f"gateway cluster {plain(name)}", plain(" → ".join(seen))[:_LONGEST]


def _driver(events: Iterable[DriverAttached]) -> DriverAttached:
    """Return one event of several: the process, and the clients that it connected."""
    known: dict[str, Any] = {}
    for event in events:
        known |= {
            name: value
            for name in event.__struct_fields__
            if (value := getattr(event, name)) not in (None, (), {})
        }
    return DriverAttached(**known)


def _scheduler_versions(run: RunTables, scheduler: SchedulerInfo) -> Versions:
    known: Versions = {}
    for installed in run.of(InstalledPackages):
        if installed.role == "scheduler":
            known |= _versions(installed.packages, None)
    return known | _versions(scheduler.packages, scheduler.python)


def _worker_versions(run: RunTables) -> dict[str, Counter[str]]:
    """Return how many workers have which version of a package.

    Each worker reports the packages that Dask compares.  Of the others, workers of the
    first hosts report all that is installed, equal answers once.
    """
    compared: dict[str, Counter[str]] = {}
    for added in run.of(WorkerAdded):
        for name, version in _versions(added.packages, added.python).items():
            compared.setdefault(name, Counter())[version] += 1
    others: dict[str, Counter[str]] = {}
    for installed in run.of(InstalledPackages):
        if installed.role == "worker":
            for name, version in _versions(installed.packages, None).items():
                others.setdefault(name, Counter())[version] = 0
    return others | compared


def _versions(packages: Mapping[str, object], python: str | None) -> Versions:
    """Flatten what versions come as: plain mappings, or nested by what they are."""
    flat: Versions = {}
    for name, version in packages.items():
        if isinstance(version, Mapping):
            flat |= _versions(version, None)
        elif isinstance(version, str):
            flat[plain(str(name))] = plain(version)
    if python is not None:
        flat["python"] = plain(python)
    if "python" in flat:  # Dask adds the release level
        flat["python"] = flat["python"].removesuffix(".final.0")
    return flat


def _rows(
    driver: Versions, scheduler: Versions, workers: Mapping[str, Counter[str]]
) -> list[PackageRow]:
    rows = []
    for name in {*driver, *scheduler, *workers}:
        seen = workers.get(name, Counter())
        several = len(seen) > 1
        text = ", ".join(
            f"{version} (on {count(n)})" if several and n else version
            for version, n in seen.most_common()
        )
        known = {driver.get(name), scheduler.get(name), *seen} - {None}
        rows.append(
            PackageRow(
                name,
                driver.get(name, ""),
                scheduler.get(name, ""),
                text,
                differ=len(known) > 1,
            )
        )
    return sorted(
        rows, key=lambda row: (not row.differ, row.name != "python", row.name)
    )


def _facts(role: str, event: Event) -> Iterator[tuple[str, str]]:
    for name in event.__struct_fields__:
        value = msgspec.to_builtins(getattr(event, name), enc_hook=str)
        if name not in _NO_FACTS and value not in (None, "", [], (), {}):
            yield f"{role} {name.replace('_', ' ')}", _value(value)


def _flat(config: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        here = f"{path}.{name}" if path else str(name)
        if isinstance(value, Mapping) and value:
            yield from _flat(value, here)
        else:
            yield plain(here), _value(value)


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = plain(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
