"""Which rank of an MPI job ended first, as its launcher says: it then ended all others."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.mpi import (
    EXIT_CODE_OF_FIRST_FAILURE,
    RANK_KILLED_BY_SIGNAL,
    RANK_OF_FIRST_FAILURE,
)
from dask_blackbox.run_tables import RunTables


class RankExit(NamedTuple):
    """The end of a rank that was not meant to end.

    Attributes:
        rank: Its number; dask-mpi names a worker by it.
        exit_code: As Python has it: below zero, the signal.
        at: When the launcher said so, epoch seconds.
    """

    rank: int
    exit_code: int
    at: float


def first_rank_exit(run: RunTables) -> RankExit | None:
    """Return the rank that ended first; None: no launcher has named one."""
    return run.once(_first_rank_exit)


def _first_rank_exit(run: RunTables) -> RankExit | None:
    for line in lines_of(run, RANK_KILLED_BY_SIGNAL).iter_rows(named=True):
        if said := RANK_KILLED_BY_SIGNAL.search(line["message"]):
            code = -int(said["signal"])
            return RankExit(int(said["rank"]), code, line["at"].timestamp())
    codes = lines_of(run, EXIT_CODE_OF_FIRST_FAILURE)
    for line in lines_of(run, RANK_OF_FIRST_FAILURE).iter_rows(named=True):
        rank = RANK_OF_FIRST_FAILURE.search(line["message"])
        below = codes.filter(
            (codes["source"] == line["source"]) & (codes["seq"] == line["seq"] + 1)
        )
        for message in below["message"]:
            code_of = EXIT_CODE_OF_FIRST_FAILURE.search(message)
            if rank and code_of:
                at = line["at"].timestamp()
                return RankExit(int(rank["rank"]), int(code_of["code"]), at)
    return None
