"""Which execution waited for which, and the longest chain of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dask_blackbox.analyse.facts.critical_path import (
    NO_INPUT,
    last_inputs_of,
)
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import a_run, a_task, a_worker, succeeded
from scenario_runs import Home, run_scenario

pytestmark = pytest.mark.processes


def inputs(run: RunTables) -> dict[str, str]:
    """Return the keys of executions and of the inputs that were there last."""
    keys = executions_of(run)["key"].to_list()
    return {
        keys[row]: keys[last]
        for row, last in enumerate(last_inputs_of(run).rows)
        if last != NO_INPUT
    }


def chain_of(run: RunTables) -> list[str]:
    chain = last_inputs_of(run).longest
    assert chain is not None
    return executions_of(run)["key"][list(chain.rows)].to_list()


def test_the_chain_with_the_most_work_is_the_longest() -> None:
    run = a_run(
        a_worker(),
        a_task("load-1", start=1, compute=5, last_input=""),
        a_task("load-2", start=1, compute=1, last_input=""),
        a_task("clean-2", start=2, compute=1, last_input="load-2"),
        a_task("join-2", start=3, compute=1, last_input="clean-2"),
        a_task("join-1", start=7, compute=1, last_input="load-1"),
        succeeded(at=10),
    )
    chain = last_inputs_of(run).longest

    assert chain is not None
    assert (chain.seconds, chain.took) == (6.0, 7.0)
    assert chain_of(run) == ["load-1", "join-1"]


def test_without_any_that_is_recorded_no_chain_is_known() -> None:
    run = a_run(a_worker(), a_task("load-1"), a_task("load-2"), succeeded())

    assert last_inputs_of(run).longest is None
    assert last_inputs_of(a_run(a_worker(), succeeded())).longest is None


def test_the_computation_before_counts_for_an_input_computed_twice() -> None:
    run = a_run(
        a_worker(),
        a_task("load-1", start=1, compute=1, last_input=""),
        a_task("join-1", start=2.5, compute=1, last_input="load-1"),
        a_task("load-1", start=4, compute=1, last_input=""),
        a_task("join-2", start=6, compute=1, last_input="load-1"),
        succeeded(at=10),
    )
    rows = executions_of(run).with_row_index("row")
    starts = dict(rows.select("row", "key").iter_rows())

    assert {
        starts[row]: last
        for row, last in enumerate(last_inputs_of(run).rows.tolist())
        if last != NO_INPUT
    } == {
        "join-1": _row(run, "load-1", 0),
        "join-2": _row(run, "load-1", 1),
    }


def _row(run: RunTables, key: str, place: int) -> int:
    keys = executions_of(run).sort("start")["key"].to_list()
    assert keys == executions_of(run)["key"].to_list()  # in order of time
    return [row for row, each in enumerate(keys) if each == key][place]


def test_inputs_that_wait_for_each_other_end_no_reader() -> None:
    run = a_run(
        a_worker(),
        a_task("a-1", start=1, last_input="b-1"),
        a_task("b-1", start=1, last_input="a-1"),
        a_task("c-1", start=3, last_input="c-1"),
        succeeded(at=10),
    )

    assert inputs(run) == {}
    assert len(chain_of(run)) == 1


@pytest.mark.nightly
def test_the_input_that_a_task_waited_for_is_recorded(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    run = run_scenario(home, "chains.py", str(home.folder / "store")).run

    assert dict(run.tasks.select("key", "last_input").iter_rows()) == {
        "early": "",
        "late": "",
        "joined": "late",
        "saved": "joined",
        "again": "",
    }
    assert inputs(run) == {"joined": "late", "saved": "joined"}
    assert chain_of(run) == ["late", "joined", "saved"]
