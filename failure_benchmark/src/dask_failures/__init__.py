"""Failed Dask runs with known causes: sets, a loader, a judge, and `dask-failures score`.

Nothing here depends on a tool that explains failures: recordings are JSON and Arrow.
"""

from dask_failures.answer import Answer, parsed
from dask_failures.case import Case, Signal
from dask_failures.causes import CAUSES, GROUPS, UNKNOWN
from dask_failures.diagnoser import Request
from dask_failures.errors import DaskFailuresError
from dask_failures.judge import Judgement, judge
from dask_failures.recording import Recording
from dask_failures.scored import score
from dask_failures.scoring import Result, Score
from dask_failures.sets import FailureSet, SetInfo, all_sets, write_archive

__all__ = [
    "CAUSES",
    "GROUPS",
    "UNKNOWN",
    "Answer",
    "Case",
    "DaskFailuresError",
    "FailureSet",
    "Judgement",
    "Recording",
    "Request",
    "Result",
    "Score",
    "SetInfo",
    "Signal",
    "all_sets",
    "judge",
    "parsed",
    "score",
    "write_archive",
]
