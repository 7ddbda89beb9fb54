"""Which execution waited for which, and the longest chain of them.

Of each execution the scheduler's plugin records the input that was there last: when it
had finished, the task could run.  Following these from an execution back to one that
waited for nothing gives the chain that decided when it began.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.run_tables import FINISHED, RunTables

NO_INPUT = -1

Rows = NDArray[np.int64]
"""Numbers of rows."""


class Chain(NamedTuple):
    """Executions of which each could run when the one before had finished.

    Attributes:
        rows: Which rows of `executions_of`, the first execution first.
        seconds: For which they had their threads, altogether.
        took: Seconds from the begin of the first to the end of the last.
    """

    rows: tuple[int, ...]
    seconds: float
    took: float


class LastInputs(NamedTuple):
    """What the executions of a run waited for.

    Attributes:
        rows: For each row of `executions_of` the row of its last input, or `NO_INPUT`.
        longest: The chain with the most seconds of executing: no number of threads makes
            the run shorter than these.  None where no last input was recorded.
    """

    rows: Rows
    longest: Chain | None


def last_inputs_of(run: RunTables) -> LastInputs:
    """Return which execution each execution waited for last."""
    return run.once(_last_inputs)


def _last_inputs(run: RunTables) -> LastInputs:
    executions = executions_of(run)
    if executions["last_input"].is_null().all():
        return LastInputs(np.full(executions.height, NO_INPUT), None)
    rows = _rows(executions.with_row_index("row"))
    return LastInputs(rows, _longest_chain(executions, rows))


def _rows(executions: pl.DataFrame) -> Rows:
    inputs = np.full(executions.height, NO_INPUT, dtype=np.int64)
    waited = executions.filter(
        pl.col("last_input").fill_null("") != "", pl.col("begin").is_not_null()
    ).select("row", "last_input", "begin")
    ended = executions.filter(FINISHED, pl.col("stop").is_not_null()).select(
        pl.col("row").alias("input"), pl.col("key").alias("last_input"), "stop"
    )
    once = pl.len().over("last_input") == 1
    found = waited.join(ended.filter(once), on="last_input")
    inputs[found["row"].to_numpy()] = found["input"].to_numpy()
    for row, computed in _repeated_inputs(waited, ended.filter(~once)):
        inputs[row] = computed
    # Where clocks differ by so much that an input seems to begin later, nothing is known:
    # so that no execution can lead back to itself.
    begins = np.append(executions["begin"].dt.epoch("us").fill_null(0).to_numpy(), -1)
    inputs[begins[inputs] >= begins[:-1]] = NO_INPUT
    return inputs


def _repeated_inputs(
    waited: pl.DataFrame, ended: pl.DataFrame
) -> Iterator[tuple[int, int]]:
    """Return rows whose input was computed more than once, and the computation they saw.

    The one that ended last before they began; clocks of hosts may differ by a little, so
    that the first one counts where none seems to have ended by then.
    """
    ends: dict[str, list[tuple[object, int]]] = {}
    for row, key, stop in ended.sort("stop").iter_rows():
        ends.setdefault(key, []).append((stop, row))
    several = waited.filter(pl.col("last_input").is_in(list(ends)))
    for row, key, begin in several.iter_rows():
        place = bisect_right(ends[key], begin, key=itemgetter(0))
        yield row, ends[key][max(0, place - 1)][1]


def _longest_chain(executions: pl.DataFrame, inputs: Rows) -> Chain | None:
    counts = pl.col("begin").is_not_null() & FINISHED
    counted = executions.select(counts)["begin"].to_numpy()
    if not counted.any():
        return None
    until = np.where(counted, executions["seconds"].fill_null(0.0).to_numpy(), 0.0)
    before = np.append(inputs, NO_INPUT)
    until = np.append(until, 0.0)  # NO_INPUT is the last one
    # Each turn adds what lies twice as far back.
    while (before != NO_INPUT).any():
        until = until + until[before]
        before = before[before]
    last = int(np.argmax(np.where(counted, until[:-1], -1.0)))
    rows = [last]
    while (input_ := int(inputs[rows[-1]])) != NO_INPUT:
        rows.append(input_)
    rows.reverse()
    begin, stop = executions["begin"][rows[0]], executions["stop"][last]
    return Chain(tuple(rows), float(until[last]), (stop - begin).total_seconds())
