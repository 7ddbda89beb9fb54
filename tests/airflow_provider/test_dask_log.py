"""What Dask logs a hundred times over does not bury the verdict in a task's log."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.dask_log import DaskLines, folded_dask_log


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.lines = list[str]()

    def info(self, event: str, /, *args: Any) -> None:
        self.lines.append(event % args)

    warning = error = info


@pytest.fixture
def at_once() -> Any:
    """What a handler of the process's root logger gets."""
    taken = list[str]()

    class Taking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            taken.append(record.getMessage())

    handler = Taking()
    logging.getLogger().addHandler(handler)
    yield taken
    logging.getLogger().removeHandler(handler)


def test_warnings_of_a_kind_are_shown_twice_and_then_in_the_fold(
    at_once: list[str],
) -> None:
    log = Lines()
    nanny = logging.getLogger("distributed.nanny.memory")

    with folded_dask_log(log):
        for port in range(200):
            nanny.warning(f"Worker tcp://10.0.0.1:{port} exceeded 95% memory budget")
        nanny.warning("Worker tcp://10.0.0.1:7 is slow to terminate")

    assert at_once == [
        "Worker tcp://10.0.0.1:0 exceeded 95% memory budget",
        "Worker tcp://10.0.0.1:1 exceeded 95% memory budget",
        "Worker tcp://10.0.0.1:7 is slow to terminate",
    ]
    head, *folded, end = log.lines
    assert head == "::group::Dask's own log, with 198 repeated warnings"
    assert len(folded) == 198
    assert folded[-1].endswith(
        "WARNING distributed.nanny.memory: "
        "Worker tcp://10.0.0.1:199 exceeded 95% memory budget"
    )
    assert end == "::endgroup::"


def test_a_line_that_lists_what_a_worker_had_is_cut(at_once: list[str]) -> None:
    lost = "caused the cluster to lose already computed task(s): " + "'bake-1', " * 500
    log = Lines()

    with folded_dask_log(log):
        logging.getLogger("distributed.scheduler").warning(lost)

    (shown,) = at_once
    assert shown.startswith(lost[:1000])
    assert shown.endswith(f" … cut {len(lost) - 1000} characters")


def test_warnings_that_are_not_dasks_are_all_shown(at_once: list[str]) -> None:
    with folded_dask_log(Lines()):
        for _ in range(5):
            logging.getLogger("shop.orders").warning("no orders")

    assert at_once == ["no orders"] * 5


def test_repeated_warnings_that_a_command_prints_are_kept_for_the_fold() -> None:
    lines, begin = (
        DaskLines(),
        "2026-11-26 19:12:51,558 - distributed.nanny - WARNING - ",
    )

    kept = [lines.add_if_dasks(f"{begin}Restarting worker {n}") for n in range(4)]

    assert kept == [False, False, True, True]


_JOB = """
def refuse(number):
    raise ValueError(f"row {number} is wrong")

def miss(number):
    raise KeyError("price")

if __name__ == "__main__":
    from airflow_dask_blackbox.clusters import prepared, started
    from distributed import Client, wait

    kwargs = {"n_workers": 1, "threads_per_worker": 1}
    with started(prepared(None, kwargs, None)) as cluster, Client(cluster) as client:
        wait(client.map(refuse, range(20)))
        wait(client.map(miss, range(20)))
        print("done")
"""


@pytest.mark.nightly
def test_a_worker_process_prints_one_failed_task_of_a_kind(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(_JOB)

    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )

    assert "done\n" in ran.stdout
    printed = ran.stderr
    assert printed.count("Compute Failed") == 2
    assert printed.count("Exception: \"ValueError('row ") == 1
    assert printed.count("Exception: \"KeyError('price')") == 1
    assert printed.count("(This worker prints no more warnings like this.)") == 2
