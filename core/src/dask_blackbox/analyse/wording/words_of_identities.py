"""Words for what an identity ties to a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import died_running, how_died, name_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.analyse.wording.words_of_tasks import remedy_of_deaths
from dask_blackbox.events import WorkerRemoved
from dask_blackbox.formatting import capital, counted, quoted_key, short


def ran_again(tasks: int) -> str:
    """Return a step: so many finished tasks ran again."""
    return f"{counted(tasks, 'finished task')} ran again"


def of_lost_result(
    case: Case, key: str, left: WorkerRemoved, deaths: Sequence[WorkerExit], again: int
) -> Words:
    """Return the words for the end of a worker for which Dask ran a finished task again.

    Args:
        deaths: Of that worker; none: it left.
        again: How many tasks ran again.
    """
    how = f" {died_running(case, deaths)}" if deaths else " left"
    return Words(
        text=f"{capital(case.name_of(left.subject))}, which held the results of finished "
        f"tasks, had{how}; {ran_again(again)}, and {quoted_key(key)} had finished before",
        headline=f"A worker{how}",
        because="A task whose result is lost with its worker runs again, and finds what its "
        "first execution had left.",
        remedy="Make the task safe to run again, as Dask may run any task again: it should "
        "not move or delete its input, write a file under another name and rename it, and "
        "use `insert or ignore`. Or release its future as soon as its result is not needed.",
    )


def of_named_worker(case: Case, death: WorkerExit, *, by_address: bool) -> Words:
    how = how_died(case, [death])
    what = f"the address {death.address}" if by_address else f"the process {death.pid}"
    return Words(
        text=f"{capital(name_of(case, death))} had died{how} "
        f"({case.cause_of(death).because})",
        headline=f"A worker died{how}",
        because=f"The exception names {what}, which is that worker's.",
        remedy=remedy_of_deaths(case, [death]),
    )


def of_emptied_folder(who: str, folder: str, workers: int) -> Words:
    """Return the words for spilled results that were deleted.

    Args:
        workers: How many workers met that.
    """
    several = f", and {counted(workers, 'worker')} met it" if workers > 1 else ""
    return Words(
        text=f"The files with spilled results had been deleted from the local directory of {who}, "
        f"{short(folder, 160)}{several}",
        headline="Spilled results were deleted from the local directory of a worker",
        because="The path is in that worker's own local directory, the worker was still "
        "running, and no code of the run is known to have deleted it.",
        remedy="Find what deletes old files there (`systemd-tmpfiles`, `tmpwatch`, a cleaning "
        "job), and exclude the folder, or have workers use another one "
        "(`--local-directory`, `temporary-directory`).",
    )
