"""Whatever lies in a store, readers stay within their memory, and one run hides no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader import Run
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.store import open_store
from dask_blackbox.tables import write_tables
from dask_blackbox.testing import a_log, recorded
from hostile_files import KINDS, mutated

_MEMORY = 3 * 2**30
_READERS = Path(__file__).parents[1] / "support" / "hostile_readers.py"
_SEEDS = range(40)
_ONE_OF_EACH = [
    "nested run.json",
    "FIFO table",
    "link of run.json to /etc/passwd",
    "a bomb of zeros",
    "a footer that lies",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with one good run."""
    folder = tmp_path / "store"
    _record(folder, "good", "g1")
    return folder


def _record(folder: Path, job: str, run_id: str) -> Path:
    """Write a whole recording; return its folder."""
    store = open_store(folder)
    address = recorded(
        store,
        *(a_log(f"hello {number}", at=number) for number in range(20)),
        job=job,
        run_id=run_id,
        heartbeat=1.8e9,
    )
    run = Run.at(store, address)
    for name, blob in write_tables(run).items():
        store.put(f"{address.folder}tables/{name}.parquet", blob)
    card = RunCard(
        job=job,
        run_id=run_id,
        attempt=1,
        state="succeeded",
        headline="it succeeded",
        completeness={"recorded": True, "complete": True},
    )
    store.put(f"{address.folder}card.json", card.to_json())
    store.put(f"{address.folder}report.html", b"<p>report")
    write_sketch(store, run, card)
    return folder / address.folder


def _read_by_everything(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(_READERS), str(store), str(_MEMORY)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "kinds",
    [
        _ONE_OF_EACH,  # each takes two seconds of CPU time
        *(
            pytest.param(list(KINDS)[start::4], marks=pytest.mark.nightly)
            for start in range(4)
        ),
    ],
)
def test_each_kind_of_hostile_file_is_refused_and_hides_nothing(
    store: Path, kinds: list[str]
) -> None:
    for number, kind in enumerate(kinds):
        KINDS[kind](_record(store, "bad", f"b{number}"))

    _read_by_everything(store)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seeds", [_SEEDS[start::4] for start in range(4)])
def test_random_changes_of_a_recording_hide_nothing(store: Path, seeds: range) -> None:
    for seed in seeds:
        mutated(_record(store, "bad", f"b{seed}"), seed)

    _read_by_everything(store)


def test_what_is_over_a_limit_is_reported_with_the_reason(store: Path) -> None:
    folder = _record(store, "bad", "b1")
    KINDS["null rows of logs"](folder)
    run = Run.at(open_store(store), RunAddress("bad", "b1", 1))

    assert run.logs.height == 20  # of the segments
    assert "left out, because its 30,000,000 rows" in run.damaged["tables/logs.parquet"]


def test_a_million_tasks_are_no_flood() -> None:
    from dask_blackbox.segments import Allowance

    bytes_of_a_task, columns = 20, 22
    Allowance(bytes_of_a_task * 1_000_000).take_cells(1_000_000, columns)


def test_a_document_that_is_nested_too_deeply_is_no_document(store: Path) -> None:
    folder = _record(store, "bad", "b1")
    KINDS["nested card.json"](folder)
    run = Run.at(open_store(store), RunAddress("bad", "b1", 1))

    assert run.stored_card().job == "bad"
    assert json.loads(run.stored_card().to_json())["state"] == "succeeded"
