"""What the run ran on: packages of all three roles side by side, configuration, driver."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dask_blackbox.report.words import count, plain
from dask_blackbox.run import RunTables

__all__ = ["Environment", "PackageRow", "environment_of"]

_LONGEST = 400


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


def environment_of(run: RunTables) -> Environment:
    """Return what is known of driver, scheduler and workers."""
    driver = _last(run, "driver-attached")
    scheduler = _last(run, "scheduler-info")
    workers: dict[str, Counter[str]] = {}
    for added in run.details("worker-added"):
        for name, version in _versions(added.get("versions")).items():
            workers.setdefault(name, Counter())[version] += 1
    config = scheduler.get("config") or {}
    own = driver.get("config") or {}
    return Environment(
        _packages(_of_role(driver), _of_role(scheduler), workers),
        [*_facts("driver", driver), *_facts("scheduler", scheduler)],
        sorted({**dict(_flat(config)), **dict(_flat(own))}.items()),
    )


def _last(run: RunTables, kind: str) -> dict[str, Any]:
    details = run.details(kind)
    return details[-1] if details else {}


def _of_role(facts: Mapping[str, Any]) -> dict[str, str]:
    named = {
        name: facts[name]
        for name in ("python", "dask", "distributed")
        if isinstance(facts.get(name), str)
    }
    return {**_versions(facts.get("packages")), **named}


def _versions(packages: Any) -> dict[str, str]:
    """Flatten what versions come as: plain mappings, or nested by what they are."""
    if not isinstance(packages, Mapping):
        return {}
    flat: dict[str, str] = {}
    for name, version in packages.items():
        if isinstance(version, Mapping):
            flat |= _versions(version)
        elif isinstance(version, str):
            flat[plain(str(name))] = plain(version)
    return flat


def _packages(
    driver: Mapping[str, str],
    scheduler: Mapping[str, str],
    workers: Mapping[str, Counter[str]],
) -> list[PackageRow]:
    rows = []
    for name in {*driver, *scheduler, *workers}:
        seen = workers.get(name, Counter())
        several = len(seen) > 1
        said = ", ".join(
            f"{version} (on {count(n)})" if several else version
            for version, n in seen.most_common()
        )
        known = {driver.get(name), scheduler.get(name), *seen} - {None}
        rows.append(
            PackageRow(
                name,
                driver.get(name, ""),
                scheduler.get(name, ""),
                said,
                differ=len(known) > 1,
            )
        )
    return sorted(
        rows, key=lambda row: (not row.differ, row.name != "python", row.name)
    )


def _facts(role: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if name in ("packages", "config", "at", "subject", "python"):
            continue
        if value in (None, "", [], {}):
            continue
        yield f"{role} {name.replace('_', ' ')}", _value(value)


def _flat(config: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        here = f"{path}.{name}" if path else str(name)
        if isinstance(value, Mapping) and value:
            yield from _flat(value, here)
        else:
            yield plain(here), _value(value)


def _value(value: Any) -> str:
    said = value if isinstance(value, str) else json.dumps(value, default=str)
    said = plain(said)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
