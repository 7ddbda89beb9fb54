"""What a run ran with: the facts in which a later run may differ.

Values are kept as they were recorded (redacted); what is too long is kept as a hash.
Nothing is left out for differing each night: comparing takes care of that.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dask_blackbox.analyse.sketching.arguments import options_of
from dask_blackbox.analyse.sketching.images import (
    driver_images,
    images_of,
    settings_of_workers,
)
from dask_blackbox.analyse.sketching.normal import normal_value, own_name
from dask_blackbox.analyse.words import size
from dask_blackbox.identity import argv_of
from dask_blackbox.run import RunTables

__all__ = ["facts_of", "parts_of"]

_LONGEST = 160
_HASHED = 12
_VOLATILE = ("blackbox.", "temporary-directory", "tokenize.")
_MOST_CONFIG = 800
_MOST_PARAMETERS = 200
_MOST_PARTS = 800
_ORCHESTRATORS = ("apache-airflow", "prefect", "dagster", "luigi", "flytekit")

Facts = dict[str, dict[str, str]]


def facts_of(run: RunTables) -> tuple[Facts, tuple[str, ...]]:
    """Return the facts of a run by kind and name, and the kinds that are not known."""
    drivers = run.details("driver-attached")
    driver: dict[str, Any] = next((d for d in drivers if d.get("packages")), {})
    scheduler: dict[str, Any] = next(iter(run.details("scheduler-info")), {})
    workers = run.details("worker-added")
    # What a job was given may be told by another process than the one that has packages.
    told = {k: v for each in reversed(drivers) for k, v in each.items() if v}
    everything = run.details("packages")
    facts: Facts = {
        **_packages(everything, driver, scheduler, workers),
        "python": _python(driver, scheduler, workers),
        "dask-config": _config(driver.get("config")),
        "dask-config/scheduler": _config(scheduler.get("config")),
        "dask-config/workers": _config(settings_of_workers(run)),
        "parameters": _parameters(told),
        "code": _code(run, told),
        "cluster-shape": _cluster(run, drivers, workers),
        "host": _host(run, driver),
    }
    if facts["dask-config/scheduler"] == facts["dask-config"]:
        facts.pop("dask-config/scheduler")
    return (
        {kind: values for kind, values in facts.items() if values},
        tuple(_unknown(drivers, driver, scheduler, workers, everything)),
    )


def _unknown(
    drivers: list[dict[str, Any]],
    driver: Mapping[str, Any],
    scheduler: Mapping[str, Any],
    workers: list[dict[str, Any]],
    everything: list[dict[str, Any]],
) -> Iterator[str]:
    """Yield kinds of facts that nobody told, lest their absence be taken for a change."""
    if not driver:
        yield from ("package/driver", "dask-config", "code")
        # A command is known by who started it; what else its driver was given is not.
        told = any(each.get("argv") for each in drivers)
        yield "parameters/others" if told else "parameters"
    if not scheduler:
        yield from ("package/scheduler", "dask-config/scheduler")
    if not workers:
        yield from ("package/workers", "cluster-shape")
    roles = {each.get("role") for each in everything}
    # Of these, only the packages that Dask itself asks for are known.
    if "scheduler" not in roles:
        yield "package/scheduler/others"
    if "worker" not in roles:
        yield "package/workers/others"
        yield "dask-config/workers"


def _packages(
    everything: list[dict[str, Any]],
    driver: Mapping[str, Any],
    scheduler: Mapping[str, Any],
    workers: list[dict[str, Any]],
) -> Facts:
    """Return versions by role; of workers and scheduler all where the recording has them."""
    more: dict[Any, list[dict[str, str]]] = {}
    for each in everything:
        more.setdefault(each.get("role"), []).append(_versions(each.get("packages")))
    few = [_versions(each.get("packages")) for each in workers]
    return {
        "package/driver": _versions(driver.get("packages")),
        "package/scheduler": _joint(
            [_versions(scheduler.get("packages")), *more.get("scheduler", [])]
        ),
        "package/workers": _joint([*few, *more.get("worker", [])]),
    }


def _joint(sets: list[dict[str, str]]) -> dict[str, str]:
    """Return each package with its versions, all of them where several are in use."""
    found: dict[str, set[str]] = {}
    for each in sets:
        for name, version in each.items():
            found.setdefault(name, set()).add(version)
    return {name: " | ".join(sorted(found[name])) for name in sorted(found)}


def _versions(packages: Any) -> dict[str, str]:
    if not isinstance(packages, Mapping):
        return {}
    return {
        str(name).lower().replace("_", "-"): str(version)
        for name, version in sorted(packages.items())
        if isinstance(version, str) and name != "python"
    }


def _python(
    driver: Mapping[str, Any],
    scheduler: Mapping[str, Any],
    workers: list[dict[str, Any]],
) -> dict[str, str]:
    roles = {
        "driver": {driver.get("python")},
        "scheduler": {scheduler.get("python")},
        "workers": {worker.get("python") for worker in workers},
    }
    found = {
        role: " | ".join(sorted(_release(str(each)) for each in known - {None}))
        for role, known in roles.items()
    }
    return {role: version for role, version in found.items() if version}


def _release(version: str) -> str:
    """Return `3.11.7` of Dask's `3.11.7.final.0`."""
    return version.split(".final", 1)[0]


def _config(config: Any) -> dict[str, str]:
    if not isinstance(config, Mapping):
        return {}
    flat = sorted(_flat(config))  # (of workers, it is flat already)
    kept = [pair for pair in flat if not pair[0].startswith(_VOLATILE)]
    return dict(kept[:_MOST_CONFIG])


def _parameters(driver: Mapping[str, Any]) -> dict[str, str]:
    given = driver.get("parameters")
    flat = dict(sorted(_flat(given))[:_MOST_PARAMETERS]) if given else {}
    arguments = driver.get("argv")
    if isinstance(arguments, list):
        arguments = argv_of([str(each) for each in arguments])
        # What is given by name has its own name; none of them hides another.
        for name, value in options_of(arguments[1:]).items():
            flat[name] = _brief(value)
    return flat


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _flat(each, f"{path}.{name}" if path else str(name))
    elif path:
        yield path[:_LONGEST], _brief(value)


def _brief(value: Any) -> str:
    said = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(said) <= _LONGEST:
        return said
    # Of a hash, nobody can say afterwards whether only a date in it is another one.
    same = normal_value(said)
    digest = hashlib.sha256(same.encode("utf-8", "replace")).hexdigest()[:_HASHED]
    return f"{len(same):,} characters, hash {digest}"


def _code(run: RunTables, driver: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    function = driver.get("callable")
    if isinstance(function, Mapping) and function.get("hash"):
        found[f"callable {function.get('name') or ''}".strip()] = str(function["hash"])
    arguments = driver.get("argv")
    if isinstance(arguments, list) and arguments:
        found["script"] = _brief(argv_of([str(each) for each in arguments])[0])
    git = driver.get("git")
    if isinstance(git, Mapping) and git.get("commit"):
        found["git commit"] = str(git["commit"])[:_HASHED]
    bundle = run.manifest.host.get("bundle")
    if bundle:  # which version of its DAGs Airflow runs
        found["DAG bundle"] = _brief(bundle)
    for told in run.details("driver-code"):
        if told.get("dirty") is not None:
            found["uncommitted changes"] = "yes" if told["dirty"] else "no"
        modules = told.get("modules")
        if isinstance(modules, Mapping):
            found |= {
                f"module {own_name(name)}": str(each) for name, each in modules.items()
            }
    return found


def parts_of(run: RunTables) -> dict[str, str]:
    """Return what the job's own modules are made of: where and what, by module and name."""
    found: dict[str, str] = {}
    for told in run.details("driver-code"):
        parts = told.get("parts")
        if isinstance(parts, Mapping):
            found |= {own_name(str(name)): str(each) for name, each in parts.items()}
    return dict(list(found.items())[:_MOST_PARTS])


def _cluster(
    run: RunTables, drivers: list[dict[str, Any]], workers: list[dict[str, Any]]
) -> dict[str, str]:
    if not workers:
        return {}
    lives = run.workers
    found = {
        "threads per worker": _common(worker.get("nthreads") for worker in workers),
        "memory limit": _common(
            size(limit) if limit else "none"
            for limit in (worker.get("memory_limit") for worker in workers)
        ),
        "workers": str(_at_once(lives)),
    }
    found |= images_of(run)
    if any(worker.get("resources") for worker in workers):
        found["resources"] = _common(
            _brief(worker.get("resources")) for worker in workers
        )
    for driver in drivers:
        cluster = driver.get("cluster")
        if isinstance(cluster, Mapping):
            found |= {
                str(name): _brief(value)
                for name, value in cluster.items()
                if value is not None
            }
    return found


def _common(values: Any) -> str:
    """Return the value of most workers, and that there are others."""
    counted = Counter(str(value) for value in values).most_common()
    more = f" (and {len(counted) - 1} others)" if len(counted) > 1 else ""
    return f"{counted[0][0]}{more}"


def _at_once(lives: Any) -> int:
    moves = [(at, 1) for at in lives["joined"].drop_nulls()]
    moves += [(at, -1) for at in lives["left"].drop_nulls()]
    now = most = 0
    for _, step in sorted(moves):
        now += step
        most = max(most, now)
    return most


def _host(run: RunTables, driver: Mapping[str, Any]) -> dict[str, str]:
    found = driver_images(driver)
    kind = run.manifest.host.get("kind")
    if kind:
        found["orchestrator"] = str(kind)
    packages = _versions(driver.get("packages"))
    for name in _ORCHESTRATORS:
        if name in packages and kind and str(kind) in name:
            found["orchestrator"] = f"{kind} {packages[name]}"
    for told in run.details("driver-code"):
        machine = told.get("machine")
        if isinstance(machine, Mapping):
            found |= {
                f"driver's {name}": _brief(value)
                for name, value in machine.items()
                if value is not None
            }
    systems = {
        f"{role}' {name}": _common(each.get(name) for each in told)
        for role, told in (("workers", run.details("worker-added")),)
        for name in ("machine", "system")
        if told and any(each.get(name) for each in told)
    }
    return found | systems
