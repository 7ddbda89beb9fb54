"""Messages of libraries, raised by the installed ones, and what the catalogue makes of them."""

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import operator
import os
import pickle
import signal
import socket
import sqlite3
import subprocess
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import fsspec
import msgpack
import numpy as np
import pandas as pd
import pytest
import requests
from botocore.config import Config
from dask.dataframe.backends import pyarrow_schema_dispatch
from dask_blackbox.analyse.explanations import Context, explained
from dask_blackbox.analyse.signatures import SIGNATURES
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from distributed.protocol.serialize import _is_dumpable

pa: Any = importlib.import_module("pyarrow")  # its types are incomplete
pq: Any = importlib.import_module("pyarrow.parquet")
ORDERS = pd.DataFrame({"order": [1, 2], "qty": [3, 4]})
INTS = pa.table({"qty": [1, 2]})
TEXTS = pa.table({"qty": ["a", "b"]})


def read_csv(folder: Path, text: str | bytes, **how: Any) -> Any:
    path = folder / "orders.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return pd.read_csv(path, **how)


def write_both(folder: Path) -> None:
    with pq.ParquetWriter(folder / "a.parquet", INTS.schema) as writer:
        writer.write_table(TEXTS)


def refuse(folder: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))  # nobody listens
        socket.create_connection(listening.getsockname(), timeout=5)


def _in_a_thread(call: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


def _iterated(coroutine: Any) -> None:
    try:
        list(coroutine)
    finally:
        coroutine.close()


def _positive() -> Any:
    numbers = da.arange(4, chunks=2)
    return numbers[numbers > 1]


def _unpacked(packed: bytes, **limits: int) -> object:
    unpack: Callable[..., object] = vars(msgpack)["unpackb"]  # msgpack has no types
    return unpack(packed, **limits)


def _deep() -> int:
    return 1 + _deep()


def _closed_pool() -> ThreadPoolExecutor:
    with ThreadPoolExecutor(1) as pool:
        return pool


def locked(folder: Path) -> None:
    path = folder / "orders.sqlite"
    with sqlite3.connect(path) as first, sqlite3.connect(path, timeout=0) as second:
        first.execute("create table orders (qty)")
        first.execute("begin exclusive")
        second.execute("select * from orders")


RAISE: dict[str, Callable[[Path], Any]] = {
    "AXES_OF_OTHER_NUMBER": lambda _: np.transpose(np.arange(3), (0, 1)),
    "USECOLS_NOT_FOUND": lambda f: read_csv(f, "a,b\n1,2\n", usecols=["c"]),
    "COLUMNS_NOT_IN_INDEX": lambda _: ORDERS[["order", "city"]],
    "COLUMN_IS_MISSING": lambda _: ORDERS["city"],
    "NO_SUCH_ATTRIBUTE_OF_FRAME": lambda _: ORDERS.city,
    "MERGE_KEYS_DIFFER": lambda _: ORDERS.merge(ORDERS.astype(str), on="order"),
    "CSV_FIELDS_DIFFER": lambda f: read_csv(f, "a,b\n1,2\n1,2,3\n"),
    "CSV_TEXT_NOT_CLOSED": lambda f: read_csv(f, 'a,b\n1,"x\ny'),
    "ARRAY_IS_READ_ONLY": lambda _: np.broadcast_to(np.ones(1), 3).__setitem__(0, 2),
    "NO_EVENT_LOOP": lambda _: _in_a_thread(asyncio.get_event_loop),
    "COROUTINE_NOT_AWAITED": lambda _: _iterated(asyncio.sleep(0)),
    "ASYNCHRONOUS_CLIENT_IN_SYNCHRONOUS_CODE": lambda _: vars(dask.base)[
        "_ensure_not_async"
    ](SimpleNamespace(asynchronous=True)),
    "SIGNAL_OUTSIDE_MAIN_THREAD": lambda _: _in_a_thread(
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    ),
    "FILE_EXISTS": lambda f: f.mkdir(),
    "CSV_IS_EMPTY": lambda f: read_csv(f, ""),
    "NO_SUCH_FOLDER": lambda f: ORDERS.to_csv(f / "no" / "orders.csv"),
    "NOT_THAT_ENCODING": lambda f: read_csv(f, "a\nKöln\n".encode("latin-1")),
    "NOT_A_NUMBER": lambda _: pd.Series(["N/A"]).astype(float),
    "NOT_A_DECIMAL": lambda _: Decimal("12,50"),
    "NOT_A_PARQUET_FILE": lambda f: pq.read_table(_written(f, "a,b\n1,2\n")),
    "ARROW_FIELD_TYPES_DIFFER": lambda _: pa.unify_schemas([INTS.schema, TEXTS.schema]),
    "ARROW_FIELD_NAMES_DIFFER": lambda _: INTS.cast(pa.schema([("n", pa.int64())])),
    "ARROW_TABLE_SCHEMA_DIFFERS": write_both,
    "ARROW_SCHEMAS_DIFFER": lambda _: pa.concat_tables([INTS, TEXTS]),
    "ARROW_VALUE_NOT_CONVERTED": lambda _: pa.Table.from_pandas(
        pd.DataFrame({"qty": [1, "three"]}, dtype=object)
    ),
    "ARROW_TYPE_OF_MADE_UP_OBJECT": lambda _: pyarrow_schema_dispatch(
        pd.DataFrame({"qty": [object()]})
    ),
    "ARROW_TYPE_NOT_KNOWN": lambda _: pa.Table.from_pandas(
        pd.DataFrame({"qty": [object()]})
    ),
    "ARROW_FIELD_NOT_FOUND": lambda _: INTS.select(["city"]),
    "NO_SUCH_FILE": lambda f: (f / "orders.csv").read_text(),
    "CONNECTION_REFUSED": refuse,
    "NO_SUCH_TABLE": lambda _: sqlite3.connect(":memory:").execute(
        "select * from orders"
    ),
    "NO_SUCH_SQL_COLUMN": lambda _: sqlite3.connect(":memory:").execute(
        "select qty from (select 1 as n)"
    ),
    "DATABASE_LOCKED": locked,
    "PROGRAM_FAILED": lambda _: subprocess.run(
        ["false", "no such table: a"], check=True
    ),
    "MODULE_MISSING": lambda _: importlib.import_module("no_such_module"),
    "NAME_NOT_IN_MODULE": lambda _: exec("from json import no_such_name"),
    "CANNOT_PICKLE": lambda _: pickle.dumps(sys._getframe()),
    "NOT_ALLOCATED": lambda _: np.ones((10**7, 10**7)),
    "CHUNK_SIZES_UNKNOWN": lambda _: _positive()[0],
    "DELAYED_USED_AS_TRUTH": lambda _: bool(dask.delayed(1)),
    "DELAYED_ITERATED": lambda _: list(dask.delayed([1])),
    "RECURSION_TOO_DEEP": lambda _: _deep(),
    "POOL_SHUT_DOWN": lambda _: _closed_pool().submit(len, ""),
    "MESSAGE_TOO_LARGE": lambda _: _unpacked(b"\xc4\x02ab", max_bin_len=1),
    "FILE_SYSTEM_NOT_INSTALLED": lambda _: fsspec.filesystem("gcs"),
    "INDEX_HAS_DUPLICATES": lambda _: pd.Series([1, 2], index=[0, 0]).reindex([0, 1]),
    "CATEGORY_IS_NEW": lambda _: pd.Categorical(["a"]).__setitem__(0, "b"),
    "DATE_OUT_OF_BOUNDS": lambda _: pd.to_datetime(["4998-01-01"]).as_unit("ns"),
    "ARROW_WOULD_LOSE_DATA": lambda _: pa.array([1], pa.timestamp("ns")).cast(
        pa.timestamp("us")
    ),
    "NOT_COMPRESSED_SO": lambda _: zlib.decompress(b"a,b"),
}
"""What raises a row's message, in a folder of its own."""


def _written(folder: Path, text: str) -> Path:
    path = folder / "orders.parquet"
    path.write_text(text)
    return path


def raised(action: Callable[[], Any]) -> tuple[str, Context]:
    """Return the message that an action ends with, and where it came from."""
    try:
        action()
    except Exception as error:  # noqa: BLE001
        text = "".join(traceback.format_exception(error))
        return str(error), Context(
            exception=type(error).__name__, message=str(error), traceback=text
        )
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize("name", RAISE)
def test_the_library_raises_what_the_row_finds(name: str, tmp_path: Path) -> None:
    message, _ = raised(lambda: RAISE[name](tmp_path))

    assert SIGNATURES[name].search(message), message


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("USECOLS_NOT_FOUND", "c"),
        ("COLUMNS_NOT_IN_INDEX", "city"),
        ("COLUMN_IS_MISSING", "city"),
        ("NO_SUCH_ATTRIBUTE_OF_FRAME", "city"),
        ("MERGE_KEYS_DIFFER", "order"),
        ("ARROW_FIELD_TYPES_DIFFER", "qty"),
        ("ARROW_FIELD_NAMES_DIFFER", "n"),
        ("ARROW_TABLE_SCHEMA_DIFFERS", "qty"),
        ("ARROW_SCHEMAS_DIFFER", "qty"),
        ("ARROW_VALUE_NOT_CONVERTED", "qty"),
        ("ARROW_TYPE_NOT_KNOWN", "qty"),
        ("ARROW_FIELD_NOT_FOUND", "city"),
    ],
)
def test_the_explanation_of_a_real_message_names_the_column(
    name: str, column: str, tmp_path: Path
) -> None:
    reported = explained(raised(lambda: RAISE[name](tmp_path))[1])

    assert reported is not None
    assert reported.column == column
    assert f"'{column}'" in reported.headline


def test_a_text_that_is_no_decimal_is_reported_in_words() -> None:
    reported = explained(raised(lambda: Decimal("12,50"))[1])

    assert reported is not None
    assert reported.headline == "a text is not a decimal number"


LIST = [sys.executable, "-c", "import sys; sys.exit(int(sys.argv[1]))", "3"]
SLEEP = ["sleep", "30"]


@pytest.mark.parametrize(
    ("run", "headline"),
    [
        (
            lambda: subprocess.run(LIST, check=True),
            f"{Path(sys.executable).name} returned exit status 3: {LIST}",
        ),
        (
            lambda: subprocess.run("echo a | exit 4", shell=True, check=True),
            "the shell returned exit status 4: echo a | exit 4",
        ),
        (
            lambda: subprocess.run(["sh", "-c", "kill -9 $$"], check=True),
            "sh was killed by SIGKILL: ['sh', '-c', 'kill -9 $$']",
        ),
        (
            lambda: subprocess.run(SLEEP, timeout=0.1, check=True),
            f"sleep exceeded its timeout of 0.1 s: {SLEEP}",
        ),
    ],
    ids=["status", "shell", "signal", "timeout"],
)
def test_a_program_is_named_before_its_command(
    run: Callable[[], Any], headline: str
) -> None:
    reported = explained(raised(run)[1])

    assert reported
    assert reported.headline == headline


def pickled(action: Callable[[], Any]) -> Context:
    """Return what an action raises as Dask's driver gets it: pickled, with its chain's text."""
    try:
        action()
    except Exception as error:  # noqa: BLE001
        got = pickle.loads(pickle.dumps(error))
        text = "".join(traceback.format_exception(error.__cause__ or error.__context__))
        return Context(exception=type(got).__name__, message=str(got), traceback=text)
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize("how", [raised, pickled])
def test_a_service_that_does_not_answer_has_its_address(
    how: Callable[..., Any],
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host, port = silent.getsockname()
        got = how(lambda: requests.get(f"http://{host}:{port}/rates", timeout=0.2))
    reported = explained(got[1] if how is raised else got)

    assert reported
    assert reported.headline == f"{host}:{port} sent nothing within 0.2 s"


def test_a_service_whose_address_was_lost_has_the_line_that_asked() -> None:
    """Where Dask pickles the whole chain, urllib3's exceptions lose their pool."""
    reported = explained(
        Context(
            exception="ReadTimeout",
            message="None: Read timed out. (read timeout=3)",
            traceback=(
                "Traceback (most recent call last):\n"
                '  File "/jobs/quotes.py", line 10, in quote\n'
                "    return requests.get(url, timeout=3).json()\n"
                "requests.exceptions.ReadTimeout: None: Read timed out. (read timeout=3)\n"
            ),
        )
    )

    assert reported
    assert reported.headline == (
        "the service sent nothing within 3 s at `return requests.get(url, timeout=3).json()`"
    )


def test_a_service_that_refuses_has_its_address_after_pickling() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens
        host, port = closed.getsockname()
        got = pickled(lambda: requests.get(f"http://{host}:{port}/rates", timeout=5))
    reported = explained(got)

    assert reported
    assert reported.headline == f"{host}:{port} refused the connection"


def test_a_key_that_a_plain_dictionary_lacks_is_no_column() -> None:
    empty: dict[str, int] = {}

    assert explained(raised(lambda: empty["city"])[1]) is None


@pytest.fixture(scope="module")
def s3() -> Iterator[EmbeddedS3]:
    with embedded_s3() as server:
        yield server


@pytest.mark.parametrize(
    ("key", "bucket", "headline"),
    [
        ("no/such/key.csv", None, "s3://{bucket}/no/such/key.csv does not exist"),
        ("a.csv", "nowhere", "the bucket of s3://nowhere/a.csv does not exist"),
    ],
)
def test_boto_raises_what_the_row_finds(
    s3: EmbeddedS3, key: str, bucket: str | None, headline: str
) -> None:
    client = boto3.client(
        "s3", endpoint_url=s3.endpoint, region_name=s3.region,
        aws_access_key_id=s3.key, aws_secret_access_key=s3.secret,
    )  # fmt: skip
    where = bucket or s3.bucket

    message, context = raised(lambda: client.get_object(Bucket=where, Key=key))
    reported = explained(
        Context(
            exception=context.exception, message=message, file=f"s3://{where}/{key}"
        )
    )

    assert SIGNATURES["AWS_REFUSED"].search(message)
    assert reported is not None
    assert reported.headline.startswith(headline.format(bucket=where))


def test_boto_without_a_server_raises_what_the_row_finds() -> None:
    client = boto3.client(
        "s3", endpoint_url="http://127.0.0.1:9", region_name="us-east-1",
        aws_access_key_id="a", aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 0}),
    )  # fmt: skip

    message, _ = raised(client.list_buckets)

    assert SIGNATURES["AWS_UNREACHABLE"].search(message)


def test_boto_without_credentials_raises_what_the_row_finds(tmp_path: Path) -> None:
    script = (
        "import boto3; boto3.client('s3', region_name='us-east-1',"
        " endpoint_url='http://127.0.0.1:9').list_buckets()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert SIGNATURES["AWS_NO_CREDENTIALS"].search(done.stderr)


@pytest.mark.parametrize("make", [Path.mkdir, os.makedirs])
def test_a_folder_that_is_made_twice_may_be_there_already(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    reported = explained(raised(lambda: make(tmp_path))[1])

    assert reported is not None
    assert "exist_ok=True" in (reported.fix or "")


def test_a_file_that_exists_is_no_folder_that_is_made_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()

    assert (
        explained(raised(lambda: (tmp_path / "a.csv").touch(exist_ok=False))[1]) is None
    )


def _of_objects() -> Any:
    column = pd.Series([{"flour": 1}, {"flour": 2}]).astype(str)
    return column.map(lambda each: each.values())


def _of_unknown_divisions() -> Any:
    frames = (
        dd.from_pandas(ORDERS, npartitions=2),
        dd.from_pandas(ORDERS, npartitions=2),
    )
    one, other = (
        each.groupby("order").qty.sum(split_out=number)
        for number, each in enumerate(frames, start=2)
    )
    return (one == other).compute(scheduler="sync")


def _of_lines(folder: Path) -> Any:
    (folder / "all.json").write_text('[\n{"seats": 1}\n]')
    lines = db.read_text(str(folder / "all.json")).map(json.loads)
    return lines.count().compute(scheduler="sync")


@pytest.mark.parametrize(
    ("action", "fix"),
    [
        (lambda _: _of_objects(), "dataframe.convert-string"),
        (lambda _: _of_unknown_divisions(), "`set_index` them first"),
        (_of_lines, "JSON Lines"),
    ],
    ids=["text for an object", "divisions", "lines"],
)
def test_what_dask_did_to_the_data_explains_a_message_of_pythons(
    action: Callable[[Path], Any], fix: str, tmp_path: Path
) -> None:
    reported = explained(raised(lambda: action(tmp_path))[1])

    assert reported is not None
    assert fix in (reported.fix or "")


@pytest.mark.parametrize(
    "action", [lambda _: _of_objects(), _of_lines], ids=["text for an object", "lines"]
)
def test_an_explanation_of_what_was_read_names_the_file(
    action: Callable[[Path], Any], tmp_path: Path
) -> None:
    context = replace(raised(lambda: action(tmp_path))[1], file="/in/events-4.jsonl")
    reported = explained(context)

    assert reported is not None
    assert reported.headline.endswith(" in events-4.jsonl")


@pytest.mark.parametrize(
    "action",
    [
        lambda: operator.attrgetter("values")("a"),
        lambda: sorted([None, 1]),  # type: ignore[type-var]
        lambda: json.loads("[1"),
    ],
    ids=["text", "none", "json"],
)
def test_the_same_message_of_other_code_is_not_dasks(
    action: Callable[[], Any],
) -> None:
    assert explained(raised(action)[1]) is None


def test_rows_of_libraries_that_are_installed_are_raised_by_them() -> None:
    """Those of XGBoost, HTTP libraries, database servers and TLS have frozen examples."""
    tried = {"pandas", "pyarrow", "numpy"}
    known = {name for name, row in SIGNATURES.items() if row.source in tried}

    assert known - set(RAISE) == set()


REPORTED = {
    "NO_EVENT_LOOP": ("dask/dask#9738", "asyncio.run"),
    "ARRAY_IS_READ_ONLY": ("dask/distributed#1978", "copy()"),
    "CSV_TEXT_NOT_CLOSED": ("dask/dask#10465", "blocksize=None"),
    "HDF5_FILE_LOCKED": ("dask/dask#7926", "one file for each task"),
    "XARRAY_HAS_NO_ENGINE": ("pydata/xarray#6335", "exists where the workers run"),
    "GPU_MEMORY_EXHAUSTED": ("NVIDIA/cudf#6087", "threads_per_worker=1"),
    "COROUTINE_NOT_AWAITED": ("dask/dask#8840", "`await` it"),
    "ASYNCHRONOUS_CLIENT_IN_SYNCHRONOUS_CODE": ("dask/dask#8840", "await client"),
    "SIGNAL_OUTSIDE_MAIN_THREAD": ("JohannesBuchner/PyMultiNest#178", "threads"),
    "NOT_AN_HDF5_FILE": ("pydata/xarray#4004", "cut off"),
    "NO_GPU": ("NVIDIA/cudf#8948", "nvidia-smi"),
    "GOOGLE_WITHOUT_CREDENTIALS": (
        "dask/dask-cloudprovider#211",
        "not only the driver",
    ),
    "AZURE_WITHOUT_CREDENTIALS": ("dask/dask-cloudprovider#340", "AZURE_CLIENT_ID"),
    "CHUNK_SIZES_UNKNOWN": ("dask/dask#3293", "compute_chunk_sizes()"),
    "DELAYED_USED_AS_TRUTH": ("dask/dask#2329", "dask.delayed("),
    "DELAYED_ITERATED": ("dask/dask#6060", "nout="),
    "FUTURE_WITHOUT_CLIENT": ("dask/distributed#7746", "as an argument"),
    "DATASET_EXISTS": ("dask/dask#6531", "override=True"),
    "ZARR_CHUNKS_OVERLAP": ("pydata/xarray#4380", "encoding['chunks']"),
    "XARRAY_CHUNKS_INCONSISTENT": ("pydata/xarray#9267", "unify_chunks()"),
    "CORE_DIMENSION_IN_CHUNKS": ("PyPSA/atlite#324", "=-1"),
    "ZARR_ARRAY_EXISTS": ("pangeo-data/rechunker#78", "delete the target"),
    "RECURSION_TOO_DEEP": ("dask/distributed#7188", "combine many at once"),
    "MODULE_IS_NO_PACKAGE": ("dask/dask#8719", "rename it"),
    "AXES_OF_OTHER_NUMBER": ("pydata/xarray#6372", "input_core_dims"),
    "NO_SAMPLES": ("dask/dask-ml#911", "repartition"),
    "THREADS_EXHAUSTED": ("dask/dask#1780", "ulimit -u"),
    "POOL_SHUT_DOWN": ("dask/distributed#6087", "with LocalCluster()"),
    "MESSAGE_TOO_LARGE": ("dask/distributed#5581", "client.scatter"),
    "FILE_SYSTEM_NOT_INSTALLED": ("dask/dask#6325", "on the workers"),
    "INDEX_HAS_DUPLICATES": ("dask/dask#8800", "unique index"),
    "CATEGORY_IS_NEW": ("shakedzy/dython#140", "add_categories"),
    "DATE_OUT_OF_BOUNDS": ("dask/dask#2845", "errors='coerce'"),
    "ARROW_WOULD_LOSE_DATA": ("dask/dask#7977", "allow_truncated_timestamps"),
    "NETCDF_READ_FAILED": ("pydata/xarray#7990", "threads_per_worker=1"),
    "NOT_COMPRESSED_SO": ("Incapsula/logs-downloader#34", "compression=None"),
    "CONNECTION_USED_TWICE": ("spotify/luigi#3313", "in the task"),
    "TOO_MANY_DATABASE_CONNECTIONS": ("spotify/luigi#3313", "Semaphore"),
    "S3_TOKEN_EXPIRED": ("fsspec/s3fs#632", "each worker"),
    "FILE_HANDLE_STALE": ("DataBiosphere/toil#3867", "rename the complete"),
    "NO_LOCKS_AVAILABLE": ("dask/distributed#1707", "temporary-directory"),
    "MOUNT_NOT_SERVED": ("s3fs-fuse/s3fs-fuse#2176", "fusermount -u"),
    "NUMBA_CANNOT_CACHE": ("ratt-ru/montblanc#253", "NUMBA_CACHE_DIR"),
    "FUTURE_IN_PLACE_OF_ITS_VALUE": ("dask/distributed#3113", "future.result()"),
}
"""Threads in which people met a message, and what of the fix helped there."""


def test_delayed_objects_as_options_of_compute_are_no_condition_of_the_jobs() -> None:
    """As in dask/distributed#3011."""
    call = 'File "/x/distributed/client.py", line 3589, in compute\n'
    message = SIGNATURES["DELAYED_USED_AS_TRUTH"].example
    meaning = explained(Context(exception="TypeError", message=message, traceback=call))

    assert meaning is not None
    assert "client.compute([a, b])" in (meaning.fix or "")


@pytest.mark.parametrize(
    "check",
    [
        "p_info->Size() % n_samples == 0 (250 vs. 0) : Invalid size for `label`:(700,1).",
        "labels_.Size() == num_row_ (900 vs. 450) : Size of labels must equal to number of rows.",
    ],
)
def test_labels_that_are_divided_elsewhere_than_the_rows_have_a_fix(check: str) -> None:
    """As in dmlc/xgboost#7239."""
    message = f"[12:01:02] /workspace/src/data/data.cc:583: Check failed: {check}"
    meaning = explained(Context(exception="XGBoostError", message=message))

    assert meaning is not None
    assert "another number of labels than of rows" in meaning.headline
    assert "features.divisions" in (meaning.fix or "")


class _Settings:
    def __init__(self) -> None:
        self._values = {"scale": 2}

    def __getattr__(self, name: str) -> int:
        return self._values[name]


def _walked(tree: dict[str, Any]) -> int:
    return 1 + sum(_walked(each) for each in tree["children"])


def _nested(deep: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(deep):
        nested = [nested]
    return nested


def _tree_in_itself() -> dict[str, Any]:
    tree: dict[str, Any] = {"children": []}
    tree["children"].append(tree)
    return tree


@pytest.mark.parametrize(
    ("action", "says", "fix"),
    [
        (
            lambda: pickle.loads(pickle.dumps(_Settings())),
            "`__getattr__` at ",
            "raise AttributeError for names with underscores",
        ),
        (
            lambda: _walked(_tree_in_itself()),
            "'_walked' at ",
            "an object that contains itself",
        ),
        (
            lambda: _is_dumpable(_tree_in_itself()),
            "'_is_dumpable' of distributed calls itself",
            "contains itself",
        ),
        (
            lambda: copy.deepcopy(_nested(9_999)),
            "'deepcopy' of copy calls itself",
            "nested hundreds deep",
        ),
        (
            lambda: str(_nested(99_999)),
            "Python's limit of recursion",
            "combine many at once",
        ),
    ],
    ids=["unpickled", "of the job", "of a library", "of Python's", "in C"],
)
def test_what_calls_itself_until_the_limit_is_named(
    action: Callable[[], Any], says: str, fix: str
) -> None:
    """As in dask/dask#11215 and dask/distributed#8704."""
    try:
        action()
    except RecursionError as error:
        text = "".join(traceback.format_exception(error))
        context = Context(
            exception="RecursionError", message=str(error), traceback=text
        )
    meaning = explained(context)

    assert meaning is not None
    assert meaning.headline.startswith(says)
    assert fix.lower() in (meaning.fix or "").lower()


def test_a_module_of_pythons_that_is_no_package_is_no_file_of_the_jobs() -> None:
    def meaning(module: str) -> Any:
        text = f"No module named '{module}.distributed'; '{module}' is not a package"
        return explained(Context(exception="ModuleNotFoundError", message=text))

    assert "dask.py" in meaning("dask").headline
    assert "email.py" in meaning("email").headline
    assert meaning("string") is None


@pytest.mark.parametrize("name", REPORTED)
def test_what_people_report_has_the_fix_that_helped(name: str) -> None:
    thread, fix = REPORTED[name]
    meaning = explained(
        Context(exception="ValueError", message=SIGNATURES[name].example)
    )

    assert meaning is not None, thread
    assert fix in (meaning.fix or ""), thread
