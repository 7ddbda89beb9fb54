"""Does the code lie in a file of the driver's that workers cannot import?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.accusing import verdict_on_failure
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.modules import (
    OwnModule,
    missing_elsewhere,
    missing_module,
    own_module,
)
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Finding

__all__ = ["MODULE_NOT_SHIPPED"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, "environment-mismatch")
    if deaths:
        wanted = missing_module(" ".join(case.cause_of(d).because for d in deaths))
        own = own_module(case, wanted) if wanted else None
        if own is not None:
            yield from verdict_on_deaths(
                case,
                MODULE_NOT_SHIPPED,
                deaths,
                did="left",
                how=f"for want of the driver's own file '{own.name}'",
                more=own.told(),
                remedy=_remedy(own),
            )
        return
    failure = case.blame.failure
    if failure is not None and not failure.killed and not case.explained:
        yield from _of_a_task(case, failure)
    elif missing_elsewhere(case):
        yield from _of_something_else(case)


def _of_a_task(case: Case, failure: TaskFailure) -> Iterator[Finding]:
    wanted = missing_module(failure.message)
    own = own_module(case, wanted) if wanted else None
    if own is None:
        return
    on = case.name_of(failure.worker) if failure.worker else "a worker"
    yield verdict_on_failure(
        case,
        MODULE_NOT_SHIPPED,
        failure,
        f"cannot import '{own.name}', a file of the driver's own",
        cause=(
            f"'{short(failure.key, 80)}' failed on {on} with {short(str(failure))}. "
            f"{own.told()}"
        ),
        remedy=_remedy(own),
    )


def _of_something_else(case: Case) -> Iterator[Finding]:
    """Yield that an uploaded file, a plugin or a `client.run` missed a file."""
    wanted = missing_elsewhere(case)
    own = own_module(case, wanted) if wanted else None
    if own is None or case.exception is None:
        return
    frame = user_frame(case.exception.traceback)
    at = f" at {frame}" if frame else ""
    yield MODULE_NOT_SHIPPED.found(
        f"The cluster cannot import '{own.name}', a file of the driver's own",
        cause=(
            f"Code that the driver had sent to the cluster, outside of tasks, failed there{at} "
            f"with ModuleNotFoundError: {short(case.exception.message)}. {own.told()}"
        ),
        remedy=_remedy(own),
        confidence="high",
        evidence=case.exception_evidence(),
    )


def _remedy(own: OwnModule) -> str:
    if own.loaded_by_a_host:
        return (
            "Functions that stand at the top of a DAG or flow file are pickled by that file's "
            "name, and only the host can import it. Define them inside the task's function, "
            "or put them into a package that is installed on the workers."
        )
    top = own.name.partition(".")[0]
    ship = (
        f"`client.register_plugin(UploadDirectory({top!r}))`"
        if own.folder
        else f"`client.upload_file({own.file!r})`"
    )
    return (
        f"Ship it before the work: {ship}; or make it a package "
        "that is installed on the workers, or define the function in the script itself. "
        "Trying again in the same way fails again."
    )


MODULE_NOT_SHIPPED = Rule(
    slug="module-not-shipped",
    title="A file of the driver's own is not on the workers",
    question="Does a function lie in a file that only the driver can import?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A function of a module that lies beside the driver's script, or of the DAG or "
            "flow file itself. Pickle only writes down the module's name; workers that cannot "
            "import it close themselves, one after another, or the task raises "
            "ModuleNotFoundError."
        ),
        evidence=(
            "The missing module that workers name, and that the driver had imported it from a "
            "file that is not of an installed package (or by a name that only a host's loader "
            "gives). Silent for packages, which the workers' image lacks "
            "(`environment-mismatch`), and where the scheduler already could not read the "
            "graph (`graph-not-deserializable`)."
        ),
        remedy="`upload_file`, a package, or a function inside the task.",
        before="from cleaning import clean        # cleaning.py lies beside the DAG\nclient.map(clean, paths)",
        after='client.upload_file("cleaning.py")\nclient.map(clean, paths)',
    ),
)
