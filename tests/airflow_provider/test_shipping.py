"""What a DAG file defines runs on workers that cannot import it, wherever they come from."""

from __future__ import annotations

import copyreg
import functools
import subprocess
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.shipping import (
    hidden_main,
    shipped_by_value,
    unimportable_module_of,
)

_DAG = """
import dataclasses, enum, functools, typing

FACTOR = 3

class Colour(enum.Enum):
    RED = 1

@dataclasses.dataclass
class Box:
    size: int
    lid: typing.ClassVar[str] = "oak"

    def larger(self):
        return Box(tripled(self.size))

class TooBigError(Exception): ...

def tripled(x):
    return x * FACTOR

def outer(x):
    return inner(x) + 1

def inner(x):
    return tripled(x)

def faculty(n):
    return 1 if n < 2 else n * faculty(n - 1)

@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

def add(x, y):
    return x + tripled(y)

def column(frame, times):
    return frame.assign(y=frame["x"].map(tripled) * times)

def is_odd(x):
    return x % 2 == 1

def refuse(x):
    raise TooBigError(f"{x} is too big")

def coloured(x):
    return Box(x).larger(), Colour.RED

def everything(client):
    import dask, dask.bag, dask.dataframe as dd, pandas as pd

    delayed = dask.delayed(outer)(dask.delayed(tripled)(2))
    frame = dd.from_pandas(pd.DataFrame({"x": range(6)}), npartitions=2)
    shuffled = frame.assign(g=frame.x % 2).shuffle("g")
    box, colour = client.submit(coloured, 5).result()
    try:
        client.submit(refuse, 9).result()
    except TooBigError as error:
        refused = str(error)

    @dataclasses.dataclass
    class Local:
        size: int

    return {
        "delayed": delayed.compute(),
        "submit": client.submit(faculty, 5).result(),
        "cached": client.submit(fibonacci, 90).result(),
        "lambda": client.submit(lambda x: tripled(x), 4).result(),
        "partial": client.gather(client.map(functools.partial(add, 1), range(3))),
        "method": client.submit(Box.larger, Box(4)).result().size,
        "class": isinstance(box, Box) and box.size,
        "enum": colour is Colour.RED,
        "exception": refused,
        "local class": client.submit(lambda: Local(2)).result().size,
        "partitions": int(frame.map_partitions(column, times=2).y.sum().compute()),
        "shuffle": int(shuffled.map_partitions(column, 1).y.sum().compute()),
        "apply": int(frame.x.apply(tripled, meta=("x", "i8")).sum().compute()),
        "bag": dask.bag.from_sequence(range(4)).map(tripled).filter(is_odd).compute(),
        "run": list(client.run(functools.partial(tripled, 7)).values()),
    }
"""

_ANSWERS = {
    "delayed": 19,
    "submit": 120,
    "cached": 2880067194370816120,
    "lambda": 12,
    "partial": [1, 4, 7],
    "method": 12,
    "class": 15,
    "enum": True,
    "exception": "9 is too big",
    "local class": 2,
    "partitions": 90,
    "shuffle": 45,
    "apply": 45,
    "bag": [3, 9],
    "run": [21],
}


def test_all_of_dasks_interfaces_reach_the_dag_files_functions(airflow: Any) -> None:
    ran = airflow.run(
        f"""{_DAG}
with DAG("interfaces"):
    DaskObservedOperator(
        task_id="everything", python_callable=everything, cluster_kwargs=TINY
    )
""",
        "interfaces",
    )

    assert ran.value == _ANSWERS


@pytest.fixture
def cluster_of_strangers(tmp_path: Path) -> Iterator[str]:
    """A scheduler and a worker started by hand, far from any DAG file; their address."""
    dask = str(Path(sys.executable).with_name("dask"))
    with ExitStack() as stack:

        def start(*arguments: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [dask, *arguments],
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        scheduler = start(
            *("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        )
        assert scheduler.stderr is not None
        address = next(
            line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line
        )
        stack.callback(scheduler.stderr.close)
        worker = start("worker", address, "--nworkers", "1", "--nthreads", "1")
        assert worker.stderr is not None
        next(line for line in worker.stderr if "Registered to:" in line)
        stack.callback(worker.stderr.close)
        yield address


@pytest.mark.nightly
def test_workers_started_by_hand_elsewhere_reach_them_too(
    airflow: Any, cluster_of_strangers: str
) -> None:
    ran = airflow.run(
        f"""{_DAG}
with DAG("strangers"):
    DaskObservedOperator(
        task_id="everything",
        python_callable=everything,
        cluster="{{{{ params.cluster }}}}",
        params={{"cluster": None}},
    )
""",
        "strangers",
        conf={"cluster": cluster_of_strangers},
    )

    assert ran.value == _ANSWERS


@pytest.mark.nightly
def test_a_worker_that_its_nanny_restarts_reaches_them_as_well(airflow: Any) -> None:
    ran = airflow.run(
        """
        def pid():
            import os
            return os.getpid()

        def after_a_death(client):
            import os, signal

            before = client.submit(pid, pure=False).result()
            os.kill(before, signal.SIGKILL)
            # Waits for as long as there is no worker.
            while (after := client.submit(pid, pure=False).result()) == before:
                pass
            return before != after

        with DAG("restarted"):
            DaskObservedOperator(
                task_id="after_a_death",
                python_callable=after_a_death,
                cluster_kwargs=TINY,
            )
        """,
        "restarted",
    )

    assert ran.value is True


def test_the_main_module_is_hidden_and_comes_back() -> None:
    main = sys.modules["__main__"]
    before = (main.__spec__, getattr(main, "__file__", None))

    with hidden_main(), hidden_main():
        assert (main.__spec__, getattr(main, "__file__", None)) == (None, None)
    assert (main.__spec__, getattr(main, "__file__", None)) == before


@pytest.fixture
def dag_file() -> Iterator[Any]:
    """A module as Airflow makes one of a DAG file, in `sys.modules` only."""
    module: Any = types.ModuleType("unusual_prefix_0123_dag")
    sys.modules[module.__name__] = module
    exec("def f(): return 1\nANSWER = 42", vars(module))
    yield module
    del sys.modules[module.__name__]


def test_only_a_dag_file_is_shipped(dag_file: Any) -> None:
    # Bound first: mypy takes `is dag_file` for news about what it is.
    f = dag_file.f
    assert unimportable_module_of(f) is dag_file
    assert unimportable_module_of(functools.partial(f)) is dag_file
    assert unimportable_module_of(print) is None
    assert unimportable_module_of(test_only_a_dag_file_is_shipped) is None


def test_everything_is_as_it_was_after_the_task(dag_file: Any) -> None:
    import cloudpickle

    reducers = dict(copyreg.dispatch_table)
    with shipped_by_value(dag_file):
        stand_in: Any = sys.modules[dag_file.__name__]
        # As a task inside another, or a hook in a task whose clients are recorded.
        for module in (stand_in, dag_file):
            with shipped_by_value(module):
                assert sys.modules[dag_file.__name__] is stand_in
        assert sys.modules[dag_file.__name__] is stand_in
        assert stand_in.ANSWER == 42
        assert not hasattr(stand_in, "f")
        assert vars(stand_in) is vars(dag_file)

    assert sys.modules[dag_file.__name__] is dag_file
    assert copyreg.dispatch_table == reducers
    assert dag_file.__name__ not in cloudpickle.cloudpickle._PICKLE_BY_VALUE_MODULES
