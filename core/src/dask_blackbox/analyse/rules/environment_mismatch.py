"""Do the workers lack what the driver has?

A worker that cannot read what it is sent closes itself with exit code 0 and takes the next
worker's turn with it: within milliseconds a cluster is gone, and nobody is told why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import msgspec

from dask_blackbox.analyse.accusing import verdict_on_failure
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.modules import (
    driver_has_package,
    lacking_module,
    missing_elsewhere,
    package_of,
    worker_has_package,
)
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.pythons import pythons_apart
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Finding

__all__ = ["ENVIRONMENT_MISMATCH"]

_MISSING = re.compile(r"No module named '([\w.]+)'")
_LIBRARY = re.compile(r"([\w.+-]+\.so[\w.]*): cannot open shared object file")
_RAISED = re.compile(
    r"could not read what it was sent: ([\w.]*(?:Error|Exception): .+)"
)
_HIDING = re.compile(r"cannot import name '[^']+' from '[\w.]+' \((?P<file>[^)]+)\)$")
_INSTALLED = re.compile(r"/(?:site|dist)-packages/|/lib/python3")
_READING = ("Failed to deserialize", "Error during deserialization", "pickle.loads")


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, ENVIRONMENT_MISMATCH.slug)
    apart = next(filter(None, map(partial(_crashed_apart, case), deaths)), None)
    if apart is not None:
        yield from _of_pythons(case, deaths, *apart)
        return
    if deaths:
        text = " ".join(case.cause_of(d).because for d in deaths)
        missing = _MISSING.search(text)
        other = lacking_module(text)
        module = missing[1] if missing else other
        yield from verdict_on_deaths(
            case,
            ENVIRONMENT_MISMATCH,
            deaths,
            did="left",
            how=f"for want of the module '{missing[1]}'"
            if missing
            else f"because their '{other}' is not the driver's"
            if other
            else _how(text),
            more=_versions_told(case, other, deaths[-1].address) if other else "",
            remedy=_remedy(case, module) if module else _remedy_of_reading(case, text),
        )
        return
    yield from _ask_a_task(case)


def _how(text: str) -> str:
    """Return for want of what workers left that lack no module."""
    library, raised = _LIBRARY.search(text), _RAISED.search(text)
    if library:
        return f"for want of the library '{library[1]}'"
    if raised:
        return f"because reading what they were sent raised {short(raised[1], 80)}"
    return "because they could not read what they were sent"


def _remedy_of_reading(case: Case, text: str) -> str:
    library = _LIBRARY.search(text)
    if library:
        return (
            f"Install the system's library '{library[1]}' in the workers' image, or make it "
            "found there (`ldconfig`, `LD_LIBRARY_PATH`): the package that loads it is there, "
            "and its import fails. Trying again in the same environment fails again."
        )
    if not _RAISED.search(text):
        return _remedy(case, None)
    return (
        "What the driver pickles is made anew on every worker, by an import, `__setstate__` or "
        "`__reduce__`, and that raised there: give the workers what it asks for (a variable, a "
        "file, a package of the driver's version), or send plain values and make the object "
        "inside of the task. The last lines of the worker's log name the line."
    )


def _crashed_apart(case: Case, death: Death) -> tuple[str, str] | None:
    """Return both Pythons, if a worker crashed that has another one than the driver."""
    return None if death.signal is None else pythons_apart(case.run, death.address)


def _of_pythons(
    case: Case, deaths: tuple[Death, ...], ours: str, theirs: str
) -> Iterator[Finding]:
    yield from verdict_on_deaths(
        case,
        ENVIRONMENT_MISMATCH,
        deaths,
        did="crashed",
        how=f"in Python {theirs} (the driver has {ours})",
        remedy=(
            f"Give driver and workers the same minor version of Python: {ours} for the "
            f"workers, or {theirs} for the driver. Trying again in the same environment "
            "fails again. If it still crashes then, look at the compiled library that the "
            "task calls."
        ),
    )


def _ask_a_task(case: Case) -> Iterator[Finding]:
    """A task that could not import a module which the driver has."""
    elsewhere = missing_elsewhere(case)
    if elsewhere is not None:
        yield from _of_something_else(case, elsewhere)
    failure = None if case.explained else case.blame.failure
    if failure is None or failure.killed:
        return
    module = _MISSING.search(failure.message)
    if module is None:
        yield from _of_versions(case, failure)
        return
    name = module[1].split(".")[0]
    reading = any(word in failure.traceback for word in _READING)
    if not reading and driver_has_package(case, name) is None:
        return  # nobody has it: that is a mistake in the code
    yield verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"have no module '{name}'",
        cause=(
            f"'{short(failure.key, 80)}' failed on "
            f"{case.name_of(failure.worker) if failure.worker else 'a worker'} with "
            f"{short(str(failure))}. The driver has that module."
        ),
        remedy=_remedy(case, name),
    )


def _versions_told(case: Case, module: str, worker: str) -> str:
    ours = driver_has_package(case, module)
    theirs = worker_has_package(case, worker, module)
    if not ours or not theirs or ours == theirs:
        return ""
    return f"The workers have '{package_of(case, module)}' {theirs}, the driver has {ours}."


def _of_something_else(case: Case, module: str) -> Iterator[Finding]:
    """Yield that a plugin, an uploaded file or a `client.run` missed a package."""
    if case.exception is None or driver_has_package(case, module) is None:
        return
    yield ENVIRONMENT_MISMATCH.found(
        f"The cluster has no module '{module}'",
        cause=(
            "Code that the driver had sent to the cluster, outside of tasks, failed there with "
            f"ModuleNotFoundError: {short(case.exception.message)}. The driver has that module."
        ),
        remedy=_remedy(case, module),
        confidence="high",
        evidence=case.exception_evidence(),
    )


def _of_versions(case: Case, failure: TaskFailure) -> Iterator[Finding]:
    """Yield that a task met another version of a package than the driver has."""
    module = lacking_module(failure.message)
    if module is None or failure.worker is None:
        return
    ours = driver_has_package(case, module)
    hiding = _HIDING.search(failure.message)
    if ours is not None and hiding and not _INSTALLED.search(hiding["file"]):
        yield _of_a_file_before_it(case, failure, module, hiding["file"])
        return
    theirs = worker_has_package(case, failure.worker, module)
    if not ours or not theirs or ours == theirs:
        return
    name = package_of(case, module.partition(".")[0])
    yield verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"have '{name}' {theirs}, the driver has {ours}",
        cause=(
            f"'{short(failure.key, 80)}' failed on {case.name_of(failure.worker)} with "
            f"{short(str(failure))}. That worker has {name} {theirs}; the driver has {ours}."
        ),
        remedy=_remedy(case, module),
    )


def _of_a_file_before_it(
    case: Case, failure: TaskFailure, module: str, file: str
) -> Finding:
    """Return that a file on the workers hides a package that the driver has installed."""
    name = package_of(case, module.partition(".")[0])
    found = verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"have another '{module}': {short(file, 60)}",
        cause=(
            f"'{short(failure.key, 80)}' failed on {case.name_of(failure.worker or '')} with "
            f"{short(str(failure))}. The driver has the package '{name}' installed; the "
            f"worker took {short(file, 120)} for it, which lies in no folder of packages."
        ),
        remedy=(
            f"Remove or rename {short(file, 120)} on the workers, or start them in another "
            f"folder: what lies there comes before the installed '{name}'."
        ),
    )
    return msgspec.structs.replace(found, confidence="medium")


def _remedy(case: Case, module: str | None) -> str:
    version = driver_has_package(case, module) if module else None
    pin = f"=={version}" if version else ""
    what = (
        f"'{package_of(case, module)}{pin}'"
        if module
        else "the same packages, in the same versions,"
    )
    install = (
        f"Install {what} in the workers' image or environment"
        if module
        else f"Install {what} for driver, scheduler and workers"
    )
    more = (
        ", as the driver has it."
        if pin
        else ". If it is a file of your own, ship it: `client.upload_file(…)` or a package."
    )
    return f"{install}{more} Trying again in the same environment fails again."


ENVIRONMENT_MISMATCH = Rule(
    slug="environment-mismatch",
    title="Workers lack what the driver has",
    question="Did the run fail because the workers' environment differs from the driver's?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "Workers that cannot deserialise a task (a module is missing, or has another "
            "version) close their connection and exit with code 0, one after another. The "
            "run hangs, or ends with `KilledWorker`."
        ),
        evidence=(
            "Workers that left with the reason `worker-handle-scheduler-connection-broken` "
            "or exit code 0 and whose last lines say “Failed to deserialize” or name a "
            "missing module; that crashed in another minor version of Python than the driver's, "
            "which cannot run its bytecode (medium confidence); or a task that raises ModuleNotFoundError for a package that "
            "the driver has. Silent where the driver does not have it either."
        ),
        remedy="The same image everywhere; ship your own modules.",
        before="client.submit(my_module.load, path)   # my_module is only here",
        after='client.upload_file("my_module.py")\nclient.submit(my_module.load, path)',
    ),
)
