"""Tasks, mapped instances and tries of one DAG run: each name leads to one recording."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.store import open_store

pytestmark = pytest.mark.nightly

_TASKS = """
from airflow.sdk import task

IN_THREADS = {{"n_workers": 1, "threads_per_worker": 1, "processes": False}}

def price(row, least):
    if row == 3 and least:
        raise KeyError("currency")
    return row

def compute(client, least=1):
    return sum(client.gather(client.map(price, range(5), least=least)))

with DAG("one_each"):

    @task.dask_observed(cluster_kwargs=IN_THREADS, store={store!r})
    def left(client):
        return compute(client)

    @task.dask_observed(cluster_kwargs=IN_THREADS, store={store!r})
    def right(client):
        return compute(client)

    @task.dask_observed(
        cluster_kwargs=IN_THREADS, store={store!r}, retries=1, retry_delay=timedelta(0)
    )
    def mapped(least, client):
        return compute(client, least)

    @task(retries=1, retry_delay=timedelta(0))
    def plain(least):
        from dask_blackbox import recording
        from distributed import Client

        with (
            Client(processes=False, dashboard_address=":0") as client,
            recording(client, store={store!r}),
        ):
            return compute(client, least)

    left()
    right()
    mapped.expand(least=[0, 1])
    plain.expand(least=[0, 1])
"""


def _commands(value: Any) -> Iterator[list[str]]:
    """Yield the words of each command on a card."""
    if isinstance(value, dict):
        for name, inside in value.items():
            if name == "see" and inside:
                yield shlex.split(inside)
            yield from _commands(inside)
    elif isinstance(value, list):
        for each in value:
            yield from _commands(each)


def test_every_command_on_a_card_names_the_one_recording_it_is_about(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(_TASKS.format(store=str(tmp_path)), "one_each")
    run = dag.test()

    folders = [each.parent for each in tmp_path.glob("runs/*/*/*/card.json")]
    found = {}
    for folder in folders:
        host = json.loads((folder / "run.json").read_text())["host"]
        key = (host["task_id"], host["map_index"], host["try_number"])
        assert key not in found
        assert folder.name == f"attempt={host['try_number']}"
        assert host["run_id"] == run.run_id
        found[key] = folder
    assert sorted(found) == [
        ("left", -1, 1),
        ("mapped", 0, 1),
        ("mapped", 1, 1),
        ("mapped", 1, 2),
        ("plain", 0, 1),
        ("plain", 1, 1),
        ("plain", 1, 2),
        ("right", -1, 1),
    ]

    store, number = open_store(str(tmp_path)), 0
    for folder in folders:
        for words in _commands(json.loads((folder / "card.json").read_text())):
            assert words[:2] == ["dask", "blackbox"]
            if words[2] != "logs":
                continue
            number += 1
            opened = find_run(store, words[3])
            assert opened.address.folder == f"{folder.relative_to(tmp_path)}/"
    assert number
