"""What pandas, Dask, Arrow and S3 raise most often: real failures, and what the card says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.manifest import DriverException, Ending
from dask_blackbox.run_tables import RunTables
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from scenario_runs import Home, ScenarioRun, run_scenario

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

_ALIKE = re.compile(r" \(\d+ of \d+ tasks failed in the same way\)$")


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home], s3_of_the_job: EmbeddedS3) -> ScenarioRun:
    home = homes()
    folder = home.folder / "orders"
    folder.mkdir()
    store = str(home.folder / "store")
    return run_scenario(
        home, "named_failures.py", store, str(folder), s3_of_the_job.endpoint,
        AWS_ACCESS_KEY_ID=s3_of_the_job.key,
        AWS_SECRET_ACCESS_KEY=s3_of_the_job.secret,
        AWS_DEFAULT_REGION=s3_of_the_job.region,
    )  # fmt: skip


@pytest.fixture(scope="module")
def s3_of_the_job() -> Any:
    with embedded_s3() as server:
        yield server


@pytest.fixture(scope="module")
def run(finished: ScenarioRun) -> Run:
    return finished.run


@pytest.fixture(scope="module")
def card(finished: ScenarioRun, run: Run) -> Callable[[str], RunCard]:
    """Return the card of a run that one of the failures ends."""

    def card(name: str) -> RunCard:
        alone = ended_by(run, **finished.reported["raised"][name])
        return card_of(alone, findings_in(alone))

    return card


def ended_by(run: RunTables, *, ended: float, exception: dict[str, Any]) -> RunTables:
    """Return a run as if this failure had been the only one, and had ended it."""
    same = pl.col("message") == exception["message"]
    frames = {
        "tasks": run.tasks,
        "logs": run.logs,
        "metrics": run.metrics,
        "events": run.events,
        "errors": run.errors.filter(same),
    }
    reported = msgspec.convert(exception, DriverException)
    ending = Ending(state="failed", ended=ended, exception=reported)
    return RunTables(run.manifest, ending, frames, url=run.url)


@pytest.mark.parametrize(
    ("name", "headline"),
    [
        ("dtypes", "ValueError in 'read-csv': column 'qty' is str in part-1.csv, int64 expected"),
        ("columns", "ValueError in 'renamed': column 'quantity' where `meta` has column 'qty'"),
        ("dtype of meta", "ValueError in 'fromdelayed': column 'qty' is int64 in part-{0}.csv, str in `meta`"),
        ("from_delayed", "ValueError in 'fromdelayed': column 'qty' (int64) in part-{0}.csv is not in `meta`"),
        ("key error", "KeyError in 'clean': no column 'quantity' in part-{0}.csv"),
        ("usecols", "ValueError in 'selected': no column 'quantity' in part-0.csv"),
        ("not in index", "KeyError in 'several': no column 'quantity' in part-0.csv"),
        ("missing column", "AttributeError in the driver: no column 'weight'"),
        ("merge", "ValueError in 'joined': merge key 'order' is int64 on one side, str on the other"),
        ("arrow names", "ValueError in 'typed': column 'city' not in the schema in part-0.csv"),
        ("not parquet", "ArrowInvalid in 'damaged': bad.parquet is not a readable Parquet file: it is truncated or has another format"),
        ("divisions", "ValueError in the driver: the divisions of the data frame are unknown"),
        ("text", "KeyError in 'priced': no column 'price' in part-0.csv"),
        ("no such key", "ClientError in 'fetch': s3://shop/part-17.csv does not exist (GetObject)"),
        ("no such bucket", "ClientError in 'fetch': the bucket of s3://nowhere/part-17.csv does not exist (GetObject)"),
        ("refused", "EndpointConnectionError in 'fetch': cannot connect to http://127.0.0.1:9"),
        ("no table", "OperationalError in 'query': no table 'orders' in orders.sqlite"),
    ],
)  # fmt: skip
def test_the_headline_names_the_thing(
    card: Callable[[str], RunCard], name: str, headline: str
) -> None:
    found = card(name)

    # Which of two equal partitions fails first is open; the card says which one did.
    assert found.verdict is not None
    part = re.search(r"partition (\d)", found.verdict.remedy)
    at = re.search(r"data from \S+/part-(\d)", found.verdict.cause)
    number = (at or part or "00")[1]
    # How many partitions had failed by then is open, too.
    assert _ALIKE.sub("", found.headline) == headline.format(number)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("dtypes", "`dtype={'qty': 'str'}`"),
        ("dtype of meta", "`df.astype({'qty': 'str'})`"),
        ("usecols", "/orders/csv/part-0.csv', nrows=0).columns`"),
        ("merge", "`df['order'].astype('int64')`"),
        ("divisions", "`df = df.set_index('<column>')`"),
        ("save", "`os.makedirs(…, exist_ok=True)`"),
    ],
)
def test_the_fix_is_code(card: Callable[[str], RunCard], name: str, code: str) -> None:
    verdict = card(name).verdict

    assert verdict is not None
    assert code in verdict.remedy


def test_a_message_is_reported_without_its_table(
    card: Callable[[str], RunCard],
) -> None:
    found = card("dtypes")

    assert found.verdict is not None
    assert "+--" not in found.verdict.cause
    assert "| Column" not in found.verdict.cause
    assert "+--" not in found.verdict.evidence[0].text


@pytest.mark.parametrize(
    ("name", "asked"), [("key error", True), ("no such key", False), ("save", False)]
)
def test_replay_is_named_once_where_the_data_is_the_question(
    card: Callable[[str], RunCard], name: str, *, asked: bool
) -> None:
    found = card(name)

    assert found.verdict is not None
    assert found.verdict.remedy.count("dask blackbox replay") == int(asked)
    assert ("`blackbox.capture.values: true`" in found.verdict.remedy) == asked


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("dtypes", "/mixed/part-1.csv"),
        ("usecols", "/csv/part-0.csv"),
        ("not parquet", "/bad.parquet"),
        ("no such key", "s3://shop/part-17.csv"),
        ("no table", "/orders.sqlite"),
        ("presigned", "http://127.0.0.1:9/a/b.csv"),
    ],
)
def test_the_file_that_a_task_was_reading_is_named(
    card: Callable[[str], RunCard], name: str, file: str
) -> None:
    verdict = card(name).verdict

    assert verdict is not None
    assert "while reading " in verdict.cause
    assert file in verdict.cause


def test_the_file_that_the_data_came_from_is_named(
    card: Callable[[str], RunCard],
) -> None:
    verdict = card("key error").verdict

    assert verdict is not None
    assert "on data from " in verdict.cause
    assert "/csv/part-" in verdict.cause


def test_the_file_that_a_task_was_writing_is_named(
    card: Callable[[str], RunCard],
) -> None:
    verdict = card("save").verdict

    assert verdict is not None
    assert "while writing " in verdict.cause
    assert "/no/such/part-1.csv" in verdict.cause


def test_neither_password_nor_signature_of_a_url_is_recorded_as_its_file(
    run: Run,
) -> None:
    files = run.events.filter(pl.col("kind") == "task-files")["detail"].str.join("\n")

    assert "http://127.0.0.1:9/a/b.csv" in files[0]
    assert "pa55word" not in files[0]
    assert "5ecre7" not in files[0]
