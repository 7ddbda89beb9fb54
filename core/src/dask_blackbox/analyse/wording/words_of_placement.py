"""Words for what had become of the worker that a waiting task asks for."""

from __future__ import annotations

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import died_running
from dask_blackbox.analyse.driver_output import PrintedFailure
from dask_blackbox.analyse.exit_causes import lifetime_of
from dask_blackbox.analyse.explanations import hint_on, printed_error
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.restrictions import NAMES_ARE_ADDRESSES
from dask_blackbox.analyse.side_effects import how_retired
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.analyse.worker_starts import port_text
from dask_blackbox.events import WorkerRemoved
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import capital, short

OR_ITS_PROGRAMS = " or that of its programs"
"""Whose output a command printed, after "the output of"."""

_UNRUN = "No worker could run that task"


def _asked_for(case: Case, key: str) -> str:
    return f"The worker that '{short(case.prefix_of(key), 40)}' asks for"


def of_death(case: Case, verdict: Finding, key: str, death: WorkerExit) -> Words:
    died, because = died_running(case, [death]), case.cause_of(death).because
    headline = f"{_asked_for(case, key)} {died}"
    nanny = f"Its nanny started it again at another address. {NAMES_ARE_ADDRESSES}."
    if death.nanny is None:
        nanny = (
            "It had no nanny; with one, it would have been started again, with the same "
            f"resources. {verdict.remedy}"
        )
    return Words(
        text=f"{headline}: {because}",
        headline=headline,
        effect=_UNRUN,
        account=f"{verdict.cause} That worker had {died}: {because}.",
        fix=f"Find out first why that worker died. {nanny}",
    )


def of_departure(
    case: Case, verdict: Finding, key: str, left: WorkerRemoved, *, lifetime: bool
) -> Words:
    """Return the words for the departure of the worker that a task asks for.

    Args:
        lifetime: It had reached the end of its lifetime.
    """
    how = f"was {how_retired(case, left)}"
    fix = (
        "Keep that worker until its tasks are done, or ask for something that other workers "
        f"have, too. {verdict.remedy}"
    )
    if lifetime:
        how = f"left at the end of its lifetime{lifetime_of(case.run, left.subject)}"
        fix = (
            "Give that worker a `--lifetime` that is longer than the work that only it can "
            "do, or `--lifetime-restart`, so that it comes back."
        )
    name = capital(case.name_of(left.subject))
    return Words(
        text=f"{name} {how}.",
        headline=f"{_asked_for(case, key)} {how}",
        effect=_UNRUN,
        account=f"{verdict.cause} {name} {how}, and was not replaced.",
        fix=fix,
    )


def of_failed_start(
    verdict: Finding, what: str, ended: PrintedFailure, printed: str
) -> Words:
    """Return the words for a command that did not start the worker that a task asks for.

    Args:
        what: What the task asks for.
        printed: What the command printed.
    """
    return Words(
        text=printed,
        headline=f"A worker with {short(what, 50)} failed to start: {printed_error(ended)}",
        account=f"{verdict.cause} The command that was to start such a worker had ended: "
        f"{short(ended.text, 240).rstrip('.')}.{port_text(ended.message, 'worker')}",
        fix=f"Correct how the run starts that worker. {hint_on(ended.text) or ''}".rstrip(),
    )
