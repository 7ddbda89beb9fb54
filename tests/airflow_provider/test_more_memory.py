"""More memory for the next try, where the verdict was memory, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.operators.dask import DaskObservedOperator
from airflow_dask_blackbox.retries import earlier_cards
from airflow_dask_blackbox.stores import TaskStore
from dask_blackbox.card import RunCard
from dask_blackbox.layout import RunAddress
from dask_blackbox.more_memory import MoreMemory
from dask_blackbox.store import open_store
from retry_cards import a_card

_MIB = 1 << 20
_DOUBLE = MoreMemory("memory_limit", 2.0, "4 GiB")


def _memory(wanted: int | None = None, limit: float | None = None) -> RunCard:
    card = a_card(confidence="high", advice="memory")
    assert card.verdict is not None
    verdict = msgspec.structs.replace(card.verdict, worker_memory=wanted)
    numbers = {} if limit is None else {"memory_limit": limit}
    return msgspec.structs.replace(card, verdict=verdict, numbers=numbers)


_CODE = a_card(confidence="high", advice="code")


@pytest.mark.parametrize(
    ("given", "earlier", "expected"),
    [
        ({"memory_limit": "500 MiB"}, {1: _memory()}, "1000 MiB"),
        ({"memory_limit": 500 * _MIB}, {1: _memory()}, "1000 MiB"),
        ({"memory_limit": "500 MiB"}, {1: _memory(1500 * _MIB)}, "1500 MiB"),
        ({"memory_limit": "500 MiB"}, {1: _memory(600 * _MIB)}, "1000 MiB"),
        ({"memory_limit": "500 MiB"}, {1: _memory(), 2: _memory()}, "2000 MiB"),
        ({"memory_limit": "500 MiB"}, {1: _memory(), 2: _CODE}, "1000 MiB"),
        ({"memory_limit": "3 GiB"}, {1: _memory()}, "4096 MiB"),
        ({"memory_limit": "8 GiB"}, {1: _memory()}, "8192 MiB"),
        ({"memory_limit": "auto"}, {1: _memory(limit=700 * _MIB)}, "1400 MiB"),
        ({}, {1: _memory(wanted=900 * _MIB)}, "900 MiB"),
        ({"memory_limit": "500 MiB"}, {1: _CODE}, None),
        ({"memory_limit": "500 MiB"}, {1: None}, None),
        ({"memory_limit": "auto"}, {1: _memory()}, None),
        ({"memory_limit": "500 MiB"}, {}, None),
    ],
)
def test_the_argument_grows_by_each_verdict_of_memory_up_to_its_limit(
    given: dict[str, Any], earlier: dict[int, RunCard | None], expected: str | None
) -> None:
    grown = _DOUBLE.grown(given, earlier)

    assert grown.arguments.get("memory_limit") == expected
    assert bool(grown.text) == bool(expected)


@pytest.mark.parametrize(
    ("on_memory", "cluster", "problem"),
    [
        ("x2", None, "write the cluster's argument and its limit"),
        ({"memory_limit": "x2"}, None, "and its limit"),
        ({"most": "1 GiB"}, None, "write the cluster's argument"),
        ({"a": "x2", "b": "x2", "most": "1 GiB"}, None, "write the cluster's argument"),
        ({"memory_limit": "4 GiB", "most": "8 GiB"}, None, "no factor above 1"),
        ({"memory_limit": "x1", "most": "8 GiB"}, None, "no factor above 1"),
        ({"memory_limit": "x2", "most": "much"}, None, "most='much', which is no size"),
        ({"memory_limit": "x2", "most": "8 GiB"}, "tcp://a:1", "already exists"),
    ],
)
def test_what_cannot_work_is_refused_while_the_dag_is_parsed(
    on_memory: Any, cluster: Any, problem: str
) -> None:
    with pytest.raises(OperatorConfigurationError, match=problem):
        DaskObservedOperator(
            task_id="t", python_callable=print, cluster=cluster, on_memory=on_memory
        )


@pytest.mark.parametrize("factor", ["\N{MULTIPLICATION SIGN}2", "x2", "X 2", "*2.0"])
def test_factors_are_read_as_people_write_them(factor: str) -> None:
    more = MoreMemory.of({"worker_memory": factor, "most": "16GB"}, None)

    assert more == ("worker_memory", 2.0, "16GB")


def test_tries_before_a_task_was_cleared_do_not_count(tmp_path: Path) -> None:
    ti = SimpleNamespace(
        dag_id="d",
        task_id="t",
        run_id="r",
        map_index=-1,
        try_number=4,
        max_tries=4,
        task=SimpleNamespace(retries=2),
    )
    store = open_store(str(tmp_path))
    for attempt in (1, 2, 3):
        address = RunAddress.of("d.t", "r", attempt)
        store.put(f"{address.folder}card.json", _memory().to_json())

    assert list(earlier_cards({"ti": ti}, store=TaskStore(str(tmp_path)))) == [3]


def test_a_task_grows_after_a_memory_error_until_it_succeeds(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""
        def need(client):
            from distributed import get_worker

            def limit():
                had = get_worker().memory_manager.memory_limit
                if had < 900 * 2**20:
                    raise MemoryError(f"{{had}} bytes are too few")
                return had // 2**20

            return client.submit(limit).result()

        with DAG("growing"):
            DaskObservedOperator(
                task_id="work", python_callable=need, store={str(tmp_path)!r},
                cluster_kwargs={{**TINY, "memory_limit": "500 MiB"}},
                retries=3, retry_delay=timedelta(0),
                on_memory={{"memory_limit": "x2", "most": "16 GiB"}})
        """,
        "growing",
    )

    ran = airflow.run_dag(dag)

    assert (ran.state, ran.value) == ("success", 1000)
    told = [line for line in ran.messages if "failed of too little memory" in line]
    assert told == [
        "memory_limit=1000 MiB instead of '500 MiB', because try 1 failed of too little memory"
    ]
