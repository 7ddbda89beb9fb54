"""What a driver's graphs read and write, as the calls to Dask were given it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import fsspec
import pandas as pd
import pytest
from dask_blackbox.capture.driver import graph_data
from dask_blackbox.capture.driver.client_calls import DriverCalls
from dask_blackbox.capture.driver.graph_data import GraphData, data_of
from dask_blackbox.events import DataNamed, of_kind
from dask_blackbox.recorder.left_out import LeftOut
from distributed import Client

pytestmark = [
    pytest.mark.processes,
    # Dask's writing of Parquet, with the newest pandas.
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        yield client


@pytest.fixture
def named(client: Client) -> Iterator[Callable[[], list[DataNamed]]]:
    """Return what is reported while a test runs."""
    rows: list[list[Any]] = []
    calls = DriverCalls(lambda _kind, row: rows.append(row))
    calls.start()

    def found() -> list[DataNamed]:
        own = [row for row in rows if row[1] == DataNamed.kind]
        return [of_kind(DataNamed, row[0], *row[2:]) for row in own]

    yield found
    calls.stop()


@pytest.fixture
def orders() -> Any:
    frame = pd.DataFrame({"day": range(4), "amount": 1.0})
    return dd.from_pandas(frame, npartitions=2)


def test_parquet_is_named_by_its_folders(
    named: Callable[[], list[DataNamed]], orders: Any, tmp_path: Path
) -> None:
    orders.to_parquet(tmp_path / "in")
    read = dd.read_parquet(tmp_path / "in", columns=["amount"])
    read[read.amount > 0].to_parquet(str(tmp_path / "out"))
    read.amount.sum().compute()

    found = [(each.reads, each.writes) for each in named()]

    assert found == [
        ((), (f"{tmp_path}/in",)),
        ((f"{tmp_path}/in",), (f"{tmp_path}/out",)),
    ]
    assert not any(each.more for each in named())


def test_text_files_are_named_one_by_one(
    named: Callable[[], list[DataNamed]],
    orders: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    written = orders.to_csv("csv-*.csv")
    dd.read_csv("csv-*.csv").amount.sum().compute()
    db.read_text("csv-*.csv").count().compute()
    db.from_sequence(["a", "b"], npartitions=1).to_textfiles("text-*.txt")

    reads = {path for each in named() for path in each.reads}
    writes = {path for each in named() for path in each.writes}

    both = {f"{tmp_path}/csv-0.csv", f"{tmp_path}/csv-1.csv"}
    assert {str(Path(each).absolute()) for each in written} == both
    assert reads == both
    assert writes == both | {f"{tmp_path}/text-0.txt"}


def test_places_that_are_no_folders_of_this_machine_are_urls(
    named: Callable[[], list[DataNamed]], orders: Any
) -> None:
    fsspec.filesystem("memory").mkdir("/lake")

    orders.to_parquet("memory://lake/orders")
    dd.read_parquet("memory://lake/orders").amount.sum().compute()

    found = [(each.reads, each.writes) for each in named()]
    assert found == [
        ((), ("memory://lake/orders",)),
        (("memory://lake/orders",), ()),
    ]


def test_what_the_users_own_functions_are_given_is_not_taken_for_data(
    client: Client, named: Callable[[], list[DataNamed]]
) -> None:
    def load(path: str) -> int:
        return len(path)

    dask.delayed(load)("/data/in/a.csv").compute()
    client.submit(load, "/data/in/b.csv").result()
    client.gather(client.map(load, ["/data/in/c.csv", "/data/in/d.csv"]))
    da.ones(10, chunks=5).sum().compute()

    assert named() == []


def test_an_array_of_zarr_is_named_by_its_store(
    named: Callable[[], list[DataNamed]], tmp_path: Path
) -> None:
    pytest.importorskip("zarr", reason="NOT TESTED: arrays of Zarr, not installed")
    da.ones((4, 4), chunks=2).to_zarr(tmp_path / "in.zarr")
    (da.from_zarr(tmp_path / "in.zarr") + 1).to_zarr(tmp_path / "out.zarr")

    reads = [path for each in named() for path in each.reads]
    writes = [path for each in named() for path in each.writes]

    assert reads == [f"{tmp_path}/in.zarr"]
    assert writes == [f"{tmp_path}/in.zarr", f"{tmp_path}/out.zarr"]


def test_secrets_in_urls_are_not_recorded() -> None:
    read = fsspec.core.OpenFile(
        fsspec.filesystem("memory"), "https://ada:secret@shop.example/a.csv?token=x"
    )

    assert data_of([read])[0] == ["https://shop.example/a.csv"]


def test_a_graph_of_very_many_parts_is_looked_at_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph_data, "_MOST_VISITED", 10)
    fs = fsspec.filesystem("memory")
    files = [fsspec.core.OpenFile(fs, f"/lake/{n}.csv") for n in range(100)]

    reads, _, more = data_of(files)

    assert len(reads) == 9
    assert more


def test_a_recording_names_a_limited_number_of_paths() -> None:
    fs = fsspec.filesystem("memory")
    noted: list[dict[str, object]] = []
    data = GraphData(noted.append)

    for n in range(300):
        data.sent([fsspec.core.OpenFile(fs, f"/lake/{n}.csv")])

    assert len(data.reads) == len(noted) == 200


def test_paths_are_left_out_with_the_arguments() -> None:
    row = [1.0, DataNamed.kind, "driver", json.dumps({"reads": ["/data/in"]})]

    assert LeftOut(["arguments"]).rows("event", [row]) == []
    assert LeftOut(["log lines"]).rows("event", [row]) != []
