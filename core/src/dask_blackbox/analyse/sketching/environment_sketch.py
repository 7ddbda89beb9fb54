"""The environment of a run: the facts in which a later run may differ.

Values are kept as they were recorded (redacted); what is too long is kept as a hash.
Nothing is left out for differing each night: comparing takes care of that.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dask_blackbox.analyse.facts.worker_exit_sources import (
    most_at_once,
    worker_exits_of,
)
from dask_blackbox.analyse.sketching.normalisation import normal_value, own_name
from dask_blackbox.events import (
    DriverAttached,
    DriverCode,
    InstalledPackages,
    Part,
    SchedulerInfo,
    WorkerAdded,
)
from dask_blackbox.formatting import size
from dask_blackbox.identity import argv_of
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

_LONGEST = 160
_HASHED = 12
_VOLATILE = ("blackbox.", "blackbox_", "temporary-directory", "tokenize.")
_MOST_CONFIG = 800
_MOST_PARAMETERS = 200
_MOST_PARTS = 800
_MOST_SOURCE = 60_000  # characters
_ORCHESTRATORS = ("apache-airflow", "prefect", "dagster", "luigi", "flytekit")

Facts = dict[str, dict[str, str]]


def facts_of(run: RunTables) -> tuple[Facts, tuple[str, ...]]:
    """Return the facts of a run by kind and name, and the kinds that are not known."""
    drivers = run.of(DriverAttached)
    driver = next((each for each in drivers if each.packages), None)
    scheduler = next(iter(run.of(SchedulerInfo)), None)
    workers = run.of(WorkerAdded)
    everything = run.of(InstalledPackages)
    facts: Facts = {
        **_packages(everything, driver, scheduler, workers),
        "python": _python(driver, scheduler, workers),
        "dask-config": _config(driver.config if driver else {}),
        "dask-config/scheduler": _config(scheduler.config if scheduler else {}),
        "dask-config/workers": _config(_settings_of_workers(run)),
        "parameters": _parameters(run, drivers),
        "code": _code(run, drivers),
        "cluster-shape": _cluster(run, drivers, workers),
        "host": _host(run, driver),
    }
    if facts["dask-config/scheduler"] == facts["dask-config"]:
        facts.pop("dask-config/scheduler")
    late = ("code",) if any(each.late for each in run.of(DriverCode)) else ()
    return (
        {kind: values for kind, values in facts.items() if values},
        (*_unknown(drivers, driver, scheduler, workers, everything), *late),
    )


def _unknown(
    drivers: Sequence[DriverAttached],
    driver: DriverAttached | None,
    scheduler: SchedulerInfo | None,
    workers: Sequence[WorkerAdded],
    everything: Sequence[InstalledPackages],
) -> Iterator[str]:
    """Yield kinds of facts that are not known: their absence is not a change."""
    if driver is None:
        yield from ("package/driver", "dask-config", "code")
        # A command is known by who started it; what else its driver was given is not.
        known = any(each.argv for each in drivers)
        yield "parameters/others" if known else "parameters"
    if scheduler is None:
        yield from ("package/scheduler", "dask-config/scheduler")
    if not workers:
        yield from ("package/workers", "cluster-shape")
    roles = {each.role for each in everything}
    # Of these, only the packages that Dask itself asks for are known.
    if "scheduler" not in roles:
        yield "package/scheduler/others"
    if "worker" not in roles:
        yield "package/workers/others"
        yield "dask-config/workers"


def _packages(
    everything: Sequence[InstalledPackages],
    driver: DriverAttached | None,
    scheduler: SchedulerInfo | None,
    workers: Sequence[WorkerAdded],
) -> Facts:
    """Return versions by role; of workers and scheduler all where the recording has them."""
    more: dict[str | None, list[dict[str, str]]] = {}
    for each in everything:
        more.setdefault(each.role, []).append(_versions(each.packages))
    few = [_versions(each.packages) for each in workers]
    of_scheduler = _versions(scheduler.packages if scheduler else {})
    return {
        "package/driver": _versions(driver.packages if driver else {}),
        "package/scheduler": _joint([of_scheduler, *more.get("scheduler", [])]),
        "package/workers": _joint([*few, *more.get("worker", [])]),
    }


def _joint(sets: list[dict[str, str]]) -> dict[str, str]:
    """Return each package with its versions, all of them where several are in use."""
    found: dict[str, set[str]] = {}
    for each in sets:
        for name, version in each.items():
            found.setdefault(name, set()).add(version)
    return {name: " | ".join(sorted(found[name])) for name in sorted(found)}


def _versions(packages: Mapping[str, object]) -> dict[str, str]:
    return {
        str(name).lower().replace("_", "-"): str(version)
        for name, version in sorted(packages.items())
        if isinstance(version, str) and name != "python"
    }


def _python(
    driver: DriverAttached | None,
    scheduler: SchedulerInfo | None,
    workers: Sequence[WorkerAdded],
) -> dict[str, str]:
    roles = {
        "driver": {driver.python if driver else None},
        "scheduler": {scheduler.python if scheduler else None},
        "workers": {worker.python for worker in workers},
    }
    found = {
        # Dask's `3.11.7.final.0` is `3.11.7`.
        role: " | ".join(sorted(str(e).split(".final", 1)[0] for e in known - {None}))
        for role, known in roles.items()
    }
    return {role: version for role, version in found.items() if version}


def _config(config: Mapping[str, object]) -> dict[str, str]:
    flat = sorted(_flat(config))  # (of workers, it is flat already)
    kept = [pair for pair in flat if not pair[0].startswith(_VOLATILE)]
    return dict(kept[:_MOST_CONFIG])


def _parameters(run: RunTables, drivers: Sequence[DriverAttached]) -> dict[str, str]:
    given = next((each.parameters for each in drivers if each.parameters), None)
    flat = dict(sorted(_flat(given))[:_MOST_PARAMETERS]) if given else {}
    if command := _command(drivers):
        arguments = argv_of(command)
        # What is given by name has its own name; none of them hides another.
        for name, value in options_of(arguments[1:]).items():
            flat[name] = _brief(value)
    for code in run.of(DriverCode):
        flat |= {f"environment {name}": v for name, v in code.environment.items()}
    return flat


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _flat(each, f"{path}.{name}" if path else str(name))
    elif path:
        yield path[:_LONGEST], _brief(value)


def _brief(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) <= _LONGEST:
        return text
    # Of a hash, it is unknown afterwards whether only a date in it is another one.
    same = normal_value(text)
    digest = hashlib.sha256(same.encode("utf-8", "replace")).hexdigest()[:_HASHED]
    return f"{len(same):,} characters, hash {digest}"


def _command(drivers: Sequence[DriverAttached]) -> list[str]:
    # Another process than the one that reports packages may know the command.
    return next((list(each.argv) for each in drivers if each.argv), [])


def _code(run: RunTables, drivers: Sequence[DriverAttached]) -> dict[str, str]:
    found: dict[str, str] = {}
    function = next(filter(None, (each.callable for each in drivers)), None)
    if function is not None and function.hash:
        found[f"callable {function.name or ''}".strip()] = function.hash
    if command := _command(drivers):
        found["script"] = _brief(argv_of(command)[0])
    commits = [each.git for each in drivers] + [c.git for c in run.of(DriverCode)]
    git = next(filter(None, commits), None)
    if git is not None and git.commit:
        found["git commit"] = git.commit[:_HASHED]
    bundle = run.manifest.host.get("bundle")
    if bundle:  # which version of its DAGs Airflow runs
        found["DAG bundle"] = _brief(bundle)
    for code in run.of(DriverCode):
        if code.dirty is not None:
            found["uncommitted changes"] = "yes" if code.dirty else "no"
        found |= {
            f"module {own_name(name)}": each for name, each in code.modules.items()
        }
    return found


def parts_of(run: RunTables) -> dict[str, str]:
    """Return what the job's own modules are made of: where and what, by module and name."""
    found: dict[str, str] = {}
    for code in run.of(DriverCode):
        found |= {own_name(name): each for name, each in code.parts.items()}
    return dict(list(found.items())[:_MOST_PARTS])


def recorded_sources(run: RunTables, first: Iterable[str]) -> dict[str, str]:
    """Return the text of functions and constants, where it was recorded.

    Args:
        first: What to keep before anything else, as `module:name`.
    """
    found = {
        own_name(name): text
        for code in run.of(DriverCode)
        for name, text in code.sources.items()
    }
    kept: dict[str, str] = {}
    left = _MOST_SOURCE
    for name in dict.fromkeys((*first, *found)):
        text = found.get(name)
        if text is not None and len(text) <= left:
            kept[name] = text
            left -= len(text)
    return kept


_ITS_OWN = ("scheduler", "owned", "name", "units", "folder", "page")
"""What is another one for each cluster, and no change."""


def _cluster(
    run: RunTables, drivers: Sequence[DriverAttached], workers: Sequence[WorkerAdded]
) -> dict[str, str]:
    if not workers:
        return {}
    found = {
        "threads per worker": _common(worker.nthreads for worker in workers),
        "memory limit": _common(
            size(limit) if limit else "none"
            for limit in (worker.memory_limit for worker in workers)
        ),
        "workers": str(len(most_at_once(worker_exits_of(run), lambda _: 1))),
    }
    found |= _images_of(run)
    if any(worker.resources for worker in workers):
        found["resources"] = _common(_brief(worker.resources) for worker in workers)
    for driver in drivers:
        if driver.cluster is not None:
            stated = _stated(driver.cluster)
            found |= {name: v for name, v in stated.items() if name not in _ITS_OWN}
    return found


def _common(values: Iterable[object]) -> str:
    """Return the value of most workers, and that there are others."""
    counted = Counter(str(value) for value in values).most_common()
    more = f" (and {len(counted) - 1} others)" if len(counted) > 1 else ""
    return f"{counted[0][0]}{more}"


def _stated(part: Part) -> dict[str, str]:
    """Return the fields of a part that were recorded, those that we do not know included."""
    fields = msgspec.structs.asdict(part)
    fields |= fields.pop("extra", {})
    fields.pop("malformed", None)
    return {name: _brief(value) for name, value in fields.items() if value is not None}


def _host(run: RunTables, driver: DriverAttached | None) -> dict[str, str]:
    images = driver.image if driver else {}
    found = {f"image ({name})": value for name, value in images.items()}
    kind = run.manifest.host_kind
    if kind:
        found["orchestrator"] = kind
    packages = _versions(driver.packages if driver else {})
    for name in _ORCHESTRATORS:
        if name in packages and kind and kind in name:
            found["orchestrator"] = f"{kind} {packages[name]}"
    for code in run.of(DriverCode):
        if code.machine is not None:
            stated = _stated(code.machine)
            found |= {f"driver's {name}": value for name, value in stated.items()}
    return found


_OPTION = bounded(r"--?[A-Za-z][\w.-]*")
_GIVEN = "given"


def options_of(words: Sequence[str]) -> dict[str, str]:
    """Return what a command was given, by option; the rest as `argument 1` and so on.

    Which options take a value, only the command knows: a word that follows an option is
    taken for its value, unless it is an option itself.

    Args:
        words: The command's, without its own name.
    """
    found: dict[str, list[str]] = {}
    option, number = "", 0
    for word in words:
        name, equals, value = word.partition("=")
        if _OPTION.fullmatch(name) and (equals or name == word):
            found.setdefault(name, []).append(value if equals else _GIVEN)
            option = "" if equals else name
        elif option:
            found[option][-1] = word
            option = ""
        else:
            number += 1
            found[f"argument {number}"] = [word]
    return {name: ", ".join(values) for name, values in found.items()}


_NONE = "none"


def _images_of(run: RunTables) -> dict[str, str]:
    """Return variables that name the image of scheduler and workers, by role."""
    found: dict[str, set[str]] = {}
    for each in run.of(InstalledPackages):
        role = "workers" if each.role == "worker" else "scheduler"
        for name, value in each.image.items():
            found.setdefault(f"image of the {role} ({name})", set()).add(value)
    return {name: " | ".join(sorted(values)) for name, values in found.items()}


def _settings_of_workers(run: RunTables) -> dict[str, str]:
    """Return the settings of workers that are not the scheduler's."""
    found: dict[str, set[str]] = {}
    for each in run.of(InstalledPackages):
        if each.role == "worker":
            for name, value in each.config.items():
                found.setdefault(name, set()).add(
                    _NONE if value is None else str(value)
                )
    return {name: " | ".join(sorted(values)) for name, values in found.items()}
