"""Did a worker, its nanny or the scheduler fail while it was starting?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, short
from dask_blackbox.finding import Confidence, Evidence, Finding

__all__ = ["WORKER_START_FAILED"]

_FAILED = re.compile(r"(?P<who>Nanny|Worker|Scheduler) failed to start")
_SAID = (
    r"Failed to start process|Failed to start preload|Worker failed to connect|"
    r"Worker plugin .+ failed to setup|Multiple plugin exceptions raised|"
    r"Nanny plugin .+ failed to setup|failure-to-start|nanny-start-failed|"
    r"nanny-instantiate-failed|exited with status \d+"
)
_PLUGIN = re.compile(r"(?:Worker|Nanny) plugin (?P<name>.+?) failed to setup")
_EXITED = re.compile(r"Worker process \d+ exited with status (?P<code>\d+)")
_RAISED = re.compile(
    r"^(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Exit)): (?P<message>.*)$",
    re.MULTILINE,
)
_REGISTERING = (
    "in register_plugin",
    "in _register_worker_plugin",
    "register_worker_plugin",
)
_GENERIC = ("RuntimeError", "TimeoutError", "StreamClosedError", "CommClosedError")
_AIRFLOW = "airflow-db-not-allowed"


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained or case.blame.failure is not None:
        return
    exception = case.exception
    lines = _lines(case)
    if exception is not None and any(x in exception.traceback for x in _REGISTERING):
        yield from _of_a_plugin(case, lines)
        return
    failed = case.said(_FAILED.pattern)
    if failed is None and not (lines and _nobody_came(case)):
        return
    who = failed["who"].lower() if failed else "worker"
    who = "worker" if who == "nanny" else who
    root = _root(case, lines)
    sure: Confidence = "high" if failed and root else "medium"
    yield WORKER_START_FAILED.found(
        f"A {who} failed to start: {root[0]}: {short(root[1], 80)}".rstrip(": ")
        if root
        else f"A {who} failed to start",
        cause=_cause(case, who, root, lines),
        remedy=_remedy(case, who, root),
        confidence=sure,
        evidence=(*_evidence(case, lines), *case.exception_evidence()),
    )


def _of_a_plugin(case: Case, lines: list[dict[str, Any]]) -> Iterator[Finding]:
    plugin = _plugin(lines)
    root = _root(case, lines)
    if plugin is None or root is None:
        return
    yield WORKER_START_FAILED.found(
        f"The plugin '{short(plugin, 40)}' failed to set up: {root[0]}: {short(root[1], 80)}",
        cause=(
            f"The driver registered the plugin '{short(plugin, 60)}', and its `setup` raised "
            f"{root[0]}: {short(root[1], 200)} on the workers. Workers that start later "
            "log that and go on without the plugin."
        ),
        remedy=(
            "Mend the plugin's `setup`: it runs on every worker, with the worker's files and "
            "packages, not with the driver's."
        ),
        confidence="high",
        evidence=(*_evidence(case, lines), *case.exception_evidence()),
    )


def _lines(case: Case) -> list[dict[str, Any]]:
    """Return the lines that say that something did not start, by time."""
    said = case.run.logs.filter(
        pl.col("role").is_in(["nanny", "worker", "driver", "scheduler"])
        & pl.col("message").str.contains(_SAID)
    )
    return said.sort("at").tail(20).to_dicts()


def _nobody_came(case: Case) -> bool:
    """Say whether the driver ended because there were no workers."""
    hang = case.hang
    if hang is not None and not hang.workers and not case.deaths:
        return True
    waited = case.exception is not None and only_waited(case.exception)
    never_seen = waited and not len(case.run.workers)
    return (case.raised("WorkerStartTimeoutError") or never_seen) and not case.deaths


def _plugin(lines: list[dict[str, Any]]) -> str | None:
    for line in reversed(lines):
        found = _PLUGIN.search(line["message"])
        if found:
            return found["name"]
    return None


def _root(case: Case, lines: list[dict[str, Any]]) -> tuple[str, str] | None:
    """Return class and message of what it failed of, rather than of what followed."""
    told = []
    if case.exception is not None:
        own = root_of_chain(case.exception.traceback)
        told += [own] if own else []
        if any(word in case.exception.traceback for word in _REGISTERING):
            told.append((case.exception.exception, case.exception.message))
    for line in lines:
        told += [(m["name"], m["message"]) for m in _RAISED.finditer(line["message"])]
    known = [(class_of(name), message) for name, message in told]
    good = [each for each in known if each[0] not in _GENERIC]
    return next(iter(good), None)


def _cause(
    case: Case, who: str, root: tuple[str, str] | None, lines: list[dict[str, Any]]
) -> str:
    began = f": {root[0]}: {short(root[1], 240)}" if root else ""
    sentences = [f"A {who} did not come up{began}"]
    code = next((m["code"] for m in map(_exit_in, reversed(lines)) if m), None)
    if root is None and code is not None:
        sentences.append(
            f"Its process ended with exit code {code} before it could say why. New worker "
            "processes import the main module again; if that raises, they end like this"
        )
    plugin = _plugin(lines)
    if plugin:
        sentences.append(f"It failed in the plugin '{short(plugin, 60)}'")
    if not case.run.details("scheduler-info"):
        sentences.append("No cluster was there to be recorded")
    return ". ".join(sentences) + "."


def _exit_in(line: dict[str, Any]) -> re.Match[str] | None:
    return _EXITED.search(line["message"])


def _remedy(case: Case, who: str, root: tuple[str, str] | None) -> str:
    name, message = root or ("", "")
    text = f"{message} {case.exception.traceback if case.exception else ''}"
    if _AIRFLOW in text:
        return (
            "In an Airflow task, worker processes must not import Airflow's own main "
            "module: start the cluster with `recorded(...)` of the provider, with "
            "`processes=False`, or outside the task."
        )
    if "in use" in message:
        return (
            f"Something else has the {who}'s port: leave the port to Dask (`:0`), give a "
            "range (`--worker-port 40000:40100`), or end what is left of an earlier run."
        )
    if "name taken" in message:
        return (
            "Two workers were given the same name: give each a `--name` of its own, or none, "
            "or end the worker that is left of an earlier run."
        )
    if name in ("ModuleNotFoundError", "ImportError"):
        return (
            "Install that module where the workers run, or take it off `--preload` "
            "(`distributed.worker.preload`, `distributed.nanny.preload`)."
        )
    if root is None:
        return (
            "Read what the process printed to its standard error: a preload that raises, a "
            "port or a folder that it cannot have, or a main module that starts the cluster "
            'again when the worker imports it (put that under `if __name__ == "__main__":`).'
        )
    return (
        "Mend that, and try it where workers run: `python -c 'import …'` for a preload, "
        "`setup` of a plugin on one worker."
    )


def _evidence(case: Case, lines: list[dict[str, Any]]) -> Iterator[Evidence]:
    for line in lines[-3:]:
        yield Evidence(
            text=f"{line['role']} {line['source']}: {short(line['message'], 300)}",
            source="logs",
            at=line["at"].timestamp(),
            see=case.see("logs", "--role", line["role"]),
        )


WORKER_START_FAILED = Rule(
    slug="worker-start-failed",
    title="A worker failed to start",
    question="Did a preload, a plugin, a port or the main module keep workers from starting?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A process of the cluster failed while it was starting: a preload that cannot be "
            "imported, a plugin whose `setup` raises, a port that is taken, or a main module "
            "that cannot be imported a second time."
        ),
        evidence=(
            "The driver's exception (“Nanny failed to start”) with the first error of its "
            "chain, or the lines of nannies and workers on what did not start, where no "
            "worker was there. Medium confidence where the process itself said nothing. "
            "Silent where workers did come: what they died of comes first."
        ),
        remedy="Mend the error that it names.",
        before="cluster = LocalCluster()          # at the top of the script",
        after='if __name__ == "__main__":\n    cluster = LocalCluster()',
    ),
)
