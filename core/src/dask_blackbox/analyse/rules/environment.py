"""What the workers' environment lacks, or has in another version."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.known_bugs import KNOWN_BUGS, KnownBug, different_pythons
from dask_blackbox.analyse.missing_modules import (
    OwnModule,
    driver_has_package,
    lacking_module,
    missing_module,
    module_missing_on_cluster,
    own_module,
    package_of,
    worker_has_package,
)
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.signatures.python import (
    MODULE_MISSING,
    NAME_NOT_IN_FILE,
    SHARED_LIBRARY_MISSING,
)
from dask_blackbox.analyse.single_worker_failures import verdict_on_failure
from dask_blackbox.events import DriverCode, SchedulerInfo, WorkerCode
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import (
    class_of,
    counted,
    listed,
    quoted_key,
    short,
    short_with_paths,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

# environment-mismatch
#
# A worker that cannot read what it is sent closes itself with exit code 0 and takes the next
# worker's turn with it: within milliseconds a cluster is gone, and the reason is lost.

_RAISED = bounded(r"could not deserialize a message: ([\w.]*(?:Error|Exception): .+)")

_INSTALLED = bounded(r"/(?:site|dist)-packages/|/lib/python3")

_READING = ("Failed to deserialize", "Error during deserialization", "pickle.loads")


@documented("environment-mismatch")
def ENVIRONMENT_MISMATCH(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, ENVIRONMENT_MISMATCH.slug)
    crashes = (d.address for d in deaths if d.signal is not None)
    pythons = map(partial(different_pythons, case.run), crashes)
    apart = next(filter(None, pythons), None)
    if apart is not None:
        yield from _python_version_findings(case, *apart)
        return
    if deaths:
        text = " ".join(case.cause_of(d).because for d in deaths)
        missing, other = MODULE_MISSING.search(text), lacking_module(text)
        module, how = other, _how(text)
        if missing:
            module = missing[1]
            how = f"because the module '{module}' is missing"
        elif other:
            how = f"because their '{other}' differs from the driver's"
        yield from verdict_on_deaths(
            case,
            ENVIRONMENT_MISMATCH,
            did="exited",
            how=how,
            more=_versions_reported(case, other, deaths[-1].address) if other else "",
            remedy=_remedy_environment_mismatch(case, module)
            if module
            else _remedy_of_reading(case, text),
        )
        return
    yield from _ask_a_task(case)


def _how(text: str) -> str:
    """Return why workers exited that lack no module."""
    library, raised = SHARED_LIBRARY_MISSING.search(text), _RAISED.search(text)
    if library:
        return f"because the library '{library[1]}' is missing"
    if raised:
        return f"because deserializing a message raised {short(raised[1], 80)}"
    return "because a message could not be deserialized"


def _remedy_of_reading(case: Case, text: str) -> str:
    library = SHARED_LIBRARY_MISSING.search(text)
    if library:
        return (
            f"Install the system library '{library[1]}' in the workers' image, or add "
            "it to the library path ("
            "`ldconfig`, `LD_LIBRARY_PATH`): the package that loads it is installed, "
            "but its import fails. A retry in the same environment fails again."
        )
    if not _RAISED.search(text):
        return _remedy_environment_mismatch(case, None)
    return (
        "Unpickling the driver's objects on the worker (by an import, `__setstate__` "
        "or `__reduce__`) raised this error. Provide on the workers what it needs (a "
        "variable, a file, a package of the driver's version), or send plain values "
        "and create the object inside the task. The last lines of the worker's log "
        "show where it failed."
    )


def _python_version_findings(case: Case, ours: str, theirs: str) -> Iterator[Finding]:
    yield from verdict_on_deaths(
        case,
        ENVIRONMENT_MISMATCH,
        did="crashed",
        how=f"in Python {theirs} (the driver has {ours})",
        remedy=(
            f"Use the same minor version of Python for driver and workers: {ours} for "
            f"the workers, or {theirs} for the driver. A retry in the same environment "
            "fails again. If it still crashes, look at the compiled library that the "
            "task calls."
        ),
    )


def _ask_a_task(case: Case) -> Iterator[Finding]:
    """A task that could not import a module which the driver has."""
    elsewhere = module_missing_on_cluster(case)
    if elsewhere is not None:
        yield from _other_mismatch_findings(case, elsewhere)
    failure = case.blame.failure
    if failure is None or failure.killed:
        return
    module = MODULE_MISSING.search(failure.message)
    if module is None:
        yield from _package_version_findings(case, failure)
        return
    name = module[1].split(".")[0]
    reading = any(word in failure.traceback for word in _READING)
    if not reading and driver_has_package(case, name) is None:
        return  # no process has it: a mistake in the code
    yield verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"have no module '{name}'",
        cause=f"{_how_it_failed(case, failure)} The driver has that module.",
        remedy=_remedy_environment_mismatch(case, name),
    )


def _how_it_failed(case: Case, failure: TaskFailure) -> str:
    """Return a sentence on where a task failed, and with what."""
    on = case.name_of(failure.worker) if failure.worker else "a worker"
    return f"{quoted_key(failure.key)} failed on {on} with {short(str(failure))}."


def _versions_reported(case: Case, module: str, worker: str) -> str:
    ours = driver_has_package(case, module)
    theirs = worker_has_package(case, worker, module)
    if not ours or not theirs or ours == theirs:
        return ""
    return f"The workers have '{package_of(case, module)}' {theirs}, the driver has {ours}."


def _other_mismatch_findings(case: Case, module: str) -> Iterator[Finding]:
    """Yield that a plugin, an uploaded file or a `client.run` missed a package."""
    if case.exception is None or driver_has_package(case, module) is None:
        return
    yield ENVIRONMENT_MISMATCH.found(
        f"The cluster has no module '{module}'",
        cause=(
            "Code that the driver sent to the cluster, outside tasks, failed there with "
            f"ModuleNotFoundError: {short(case.exception.message)}. The driver has that module."
        ),
        remedy=_remedy_environment_mismatch(case, module),
        confidence="high",
        evidence=case.exception_evidence(),
    )


_OF_THE_CODE = frozenset({"AttributeError", "ImportError", "NameError", "TypeError"})
"""What Python raises where a caller expects another version of what it calls."""


def _package_version_findings(case: Case, failure: TaskFailure) -> Iterator[Finding]:
    """Yield that a task met another version of a package than the driver has."""
    yield from _own_module_findings(case, failure)
    module = lacking_module(failure.message)
    if module is None or failure.worker is None:
        return
    ours = driver_has_package(case, module)
    hiding = NAME_NOT_IN_FILE.search(failure.message)
    known = ours is not None or _is_pythons(module)
    if known and hiding and not _INSTALLED.search(hiding["file"]):
        yield _shadowing_file_finding(case, failure, module, hiding["file"])
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
            f"{_how_it_failed(case, failure)} That worker has {name} {theirs}, and the driver "
            f"has {ours}."
        ),
        remedy=_remedy_environment_mismatch(case, module),
    )


class _OtherModule(NamedTuple):
    """A module of the user's own that differs from the one that a failed task called.

    Attributes:
        name: Of the module.
        file: The one that the task called.
        whose: Who has another one: `the driver` or a worker, for a sentence.
        their_file: The file of that, where it is known.
        others_differ: Whether a worker is known that has another one.
    """

    name: str
    file: str
    whose: str
    their_file: str = ""
    others_differ: bool = True


def _own_module_findings(case: Case, failure: TaskFailure) -> Iterator[Finding]:
    """Yield that a task called a file of the job's that is another one elsewhere."""
    if class_of(failure.exception) not in _OF_THE_CODE:
        return
    other = next(_other_modules(case, failure), None)
    if other is None:
        return
    file = short(other.file, 160)
    everywhere = "all workers" if other.others_differ else "driver and workers"
    theirs = f", {short(other.their_file, 160)}" if other.their_file else ""
    found = verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"import another '{short(other.name, 60)}' than {other.whose}: "
        f"{short_with_paths(other.file, 60)}",
        cause=(
            f"{_how_it_failed(case, failure)} It called '{other.name}' from {file}, whose code differs "
            f"from the module of that name on {other.whose}{theirs}."
        ),
        remedy=(
            f"Deploy the same version of '{other.name}' to {everywhere}, or send "
            "it: `client.upload_file(…)`. Which file a worker imports depends on "
            "its working directory and `PYTHONPATH`."
        ),
        others_differ=other.others_differ,
    )
    first, *more = found.evidence
    compared = Evidence(
        text=f"The code of {file} differs from the module on {other.whose}{theirs}.",
        source="events",
        at=failure.at,
    )
    yield msgspec.structs.replace(found, evidence=(first, compared, *more))


def _other_modules(case: Case, failure: TaskFailure) -> Iterator[_OtherModule]:
    """Yield the modules that a task called and that the driver, or another worker, has otherwise."""
    driver = dict[str, str]()
    for each in case.run.of(DriverCode):
        driver.update(each.modules)
    codes, here = case.run.of(WorkerCode), (None, failure.worker)
    # Other workers are asked once, for several tasks.
    peers = [code for code in codes if code.worker not in here]
    for name, digest, file in _called_modules(
        failure, [code for code in codes if code.worker in here]
    ):
        if _differ(digest, ours := driver.get(name)):
            alike = [each for each in peers if each.modules.get(name) == ours]
            others = ["the driver", *(case.name_of(x.worker or "") for x in alike)]
            yield _OtherModule(name, file, listed(others), others_differ=bool(alike))
        for peer in peers:
            if _differ(digest, peer.modules.get(name)):
                whose = case.name_of(peer.worker or "")
                yield _OtherModule(name, file, whose, peer.files[name])


def _called_modules(
    failure: TaskFailure, codes: list[WorkerCode]
) -> Iterator[tuple[str, str, str]]:
    """Yield the modules that a task called, with digest and file, as its worker reported them."""
    own = [code for code in codes if code.subject == failure.key]
    modules = {n: (d, code.files[n]) for code in own for n, d in code.modules.items()}
    defining = {name for code in own for name in code.defining}
    for name, (digest, file) in modules.items():
        called = name in defining or _is_involved(failure, name, file)
        if called and name != "__main__":
            yield name, digest, file


def _differ(digest: str, other: str | None) -> bool:
    """Return whether two modules differ; what different Pythons compiled is not comparable."""
    dialect = digest.partition(".")[0]
    return other is not None and digest != other and other.startswith(f"{dialect}.")


def _is_involved(failure: TaskFailure, module: str, file: str) -> bool:
    """Return whether a traceback goes through a module, or names it in its lines."""
    text = f"{failure.own_traceback}\n{failure.message}"
    last = re.escape(module.rpartition(".")[2])
    return f'"{file}"' in text or bool(
        bounded(rf"(?<![\w/.]){last}(?=[.'\s(]|$)").search(text)
    )


def _is_pythons(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _shadowing_file_finding(
    case: Case, failure: TaskFailure, module: str, file: str
) -> Finding:
    """Return that a file on the workers hides an installed package, or a module of Python."""
    name = package_of(case, module.partition(".")[0])
    other, hidden = f"The driver has the package '{name}' installed", "the installed"
    if _is_pythons(module):
        other, hidden = f"'{name}' is a module of Python", "Python's"
    found = verdict_on_failure(
        case,
        ENVIRONMENT_MISMATCH,
        failure,
        f"import another '{module}' than the driver: {short_with_paths(file, 60)}",
        cause=(
            f"{_how_it_failed(case, failure)} {other}; "
            f"the worker imported {short_with_paths(file, 120)} instead, which is not in a folder of "
            "installed packages."
        ),
        remedy=(
            f"Remove or rename {short_with_paths(file, 120)} on the workers, or start them in "
            f"another folder: it takes precedence over {hidden} '{name}'."
        ),
    )
    return msgspec.structs.replace(found, confidence="medium")


def _remedy_environment_mismatch(case: Case, module: str | None) -> str:
    version = driver_has_package(case, module) if module else None
    pin = f"=={version}" if version else ""
    install = "Install the same packages, in the same versions, for driver, scheduler and workers"
    if module:
        install = (
            f"Install '{package_of(case, module)}{pin}' in the workers' image or "
            "environment"
        )
    more = (
        ", as the driver has it."
        if pin
        else ". If it is your own file, ship it: `client.upload_file(…)` or a package."
    )
    return f"{install}{more} A retry in the same environment fails again."


@documented("module-not-shipped")
def MODULE_NOT_SHIPPED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, "environment-mismatch")
    if deaths:
        wanted = missing_module(" ".join(case.cause_of(d).because for d in deaths))
        own = own_module(case, wanted) if wanted else None
        if own is not None:
            yield from verdict_on_deaths(
                case,
                MODULE_NOT_SHIPPED,
                did="exited",
                how=f"because '{own.name}', a file of the driver's, cannot be imported",
                more=own.origin_sentence(),
                remedy=_remedy_module_not_shipped(case, own),
            )
        return
    failure = case.blame.failure
    if failure is not None and not failure.killed:
        yield from _task_findings(case, failure)
    elif module_missing_on_cluster(case):
        yield from _other_missing_module_findings(case)


def _task_findings(case: Case, failure: TaskFailure) -> Iterator[Finding]:
    wanted = missing_module(failure.message)
    own = own_module(case, wanted) if wanted else None
    if own is None:
        return
    yield verdict_on_failure(
        case,
        MODULE_NOT_SHIPPED,
        failure,
        f"cannot import '{own.name}', a file of the driver's",
        cause=f"{_how_it_failed(case, failure)} {own.origin_sentence()}",
        remedy=_remedy_module_not_shipped(case, own),
    )


def _other_missing_module_findings(case: Case) -> Iterator[Finding]:
    """Yield that an uploaded file, a plugin or a `client.run` missed a file."""
    wanted = module_missing_on_cluster(case)
    own = own_module(case, wanted) if wanted else None
    if wanted is None or case.exception is None:
        return
    if own is None:
        yield from _uploaded_file_findings(case, wanted, case.exception)
        return
    frame = user_frame(case.exception.traceback)
    at = f" at {frame}" if frame else ""
    yield MODULE_NOT_SHIPPED.found(
        f"The cluster cannot import '{own.name}', a file of the driver's",
        cause=(
            "Code that the driver sent to the cluster, outside tasks, failed "
            f"there{at} "
            f"with ModuleNotFoundError: {short(case.exception.message)}. {own.origin_sentence()}"
        ),
        remedy=_remedy_module_not_shipped(case, own),
        confidence="high",
        evidence=case.exception_evidence(),
    )


# Schedulers and workers keep uploaded files in folders of their own: `worker-4xk2m9p1`.
_UPLOADED = bounded(r"/(?:scheduler|worker|nanny)-\w+/(?P<file>\w+\.py)$")


def _uploaded_file_findings(
    case: Case, module: str, exception: DriverException
) -> Iterator[Finding]:
    """Yield that an uploaded file imports what neither it nor the cluster has."""
    frame = user_frame(exception.traceback)
    uploaded = _UPLOADED.search(frame.file) if frame else None
    if uploaded is None or driver_has_package(case, module) is not None:
        return
    file = uploaded["file"]
    yield MODULE_NOT_SHIPPED.found(
        f"The uploaded '{file}' imports '{module}', which the cluster cannot import",
        cause=(
            f"`upload_file` sent '{file}' to the cluster and imported it there: line "
            f"{frame and frame.line} failed with {class_of(exception.exception)}: "
            f"{short(exception.message)}. Only that one file was sent."
        ),
        remedy=(
            f"Ship '{module}' first (`client.upload_file('{module}.py')`), or both of them "
            "at once: as a zip or wheel, with `UploadDirectory`, or as a package that is "
            "installed on the workers. A retry without this change fails again."
        ),
        confidence="high",
        evidence=case.exception_evidence(),
    )


def _remedy_module_not_shipped(case: Case, own: OwnModule) -> str:
    if own.loaded_by_a_host:
        return (
            f"Pickle refers to functions at the top of {own.file_of_host} by its module "
            "name, which only the host can import. Define them inside the task's "
            "function, or in a package that is installed on the workers."
        )
    top = own.name.partition(".")[0]
    ship = (
        f"`client.register_plugin(UploadDirectory({top!r}))`"
        if own.folder
        else f"`client.upload_file({own.file!r})`"
    )
    return (
        f"Ship it before computing: {ship}. Or install it as a package on the workers, "
        f"or define the function {case.dialect.shipped}. A retry without this change "
        "fails again."
    )


# known-bug

_WARNING = 20  # the level: such lines come as INFO, too


@documented("known-bug")
def KNOWN_BUG(case: Case) -> Iterator[Finding]:
    installed = _installed(case)
    for bug in KNOWN_BUGS:
        version = installed.get(bug.package)
        if version is None or not bug.concerns(version):
            continue
        marks = _marks(case, bug)
        if marks:
            yield _finding(bug, version, marks)


def _finding(bug: KnownBug, version: str, marks: list[Evidence]) -> Finding:
    upgrade = f"Upgrade {bug.package} to {bug.fixed} or newer." if bug.fixed else ""
    return KNOWN_BUG.found(
        f"A known bug of {bug.package} {version}: {bug.name}",
        cause=(
            f"{bug.means} {bug.package} {version} has this bug, and the recording "
            f"shows it {counted(len(marks), 'time')}. See {bug.url}"
        ),
        remedy=upgrade or bug.instead,
        confidence="high",
        evidence=tuple(marks[:3]),
    )


def _installed(case: Case) -> dict[str, str]:
    for info in case.run.of(SchedulerInfo):
        found = {"dask": info.dask, "distributed": info.distributed}
        return {name: version for name, version in found.items() if version}
    return {}


def _marks(case: Case, bug: KnownBug) -> list[Evidence]:
    """Return where the recording bears the mark of a bug."""
    mark = bounded(bug.mark)
    logs = case.run.logs.filter(
        (pl.col("level") >= _WARNING) & pl.col("message").str.contains(bug.mark)
    )
    found = [
        Evidence(
            text=short(line["message"], 300), source="logs", at=line["at"].timestamp()
        )
        for line in logs.head(20).iter_rows(named=True)
    ]
    exception = case.exception
    if exception is not None and mark.search(
        f"{exception.message}\n{exception.traceback}"
    ):
        found.append(Evidence(text=short(exception.message, 300), source="driver"))
    return found
