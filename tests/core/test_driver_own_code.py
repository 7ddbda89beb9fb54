"""Where a driver has a module that was missing on a worker, and where its function is."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dask_blackbox.capture.driver.driver import code_of, describe_exception
from dask_blackbox.capture.own_modules import found_here
from dask_blackbox.driver import own_code
from dask_blackbox.driver.own_code import DriverCodeReporter, described
from distributed import LocalCluster


def test_a_file_beside_the_script_is_found_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps_of_ours").mkdir()
    (tmp_path / "steps_of_ours" / "clean.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(tmp_path)

    found = found_here("steps_of_ours.clean")

    assert found == {
        "module": "steps_of_ours.clean",
        "file": str(tmp_path / "steps_of_ours" / "clean.py"),
    }


def test_an_installed_module_is_reported_with_the_package_that_it_comes_from() -> None:
    found = found_here("yaml")

    assert found["package"].lower() == "pyyaml"
    assert found["version"]


def test_what_the_driver_has_not_either_is_not_found() -> None:
    assert found_here("nobody_has_this") == {}
    assert found_here("yaml.nobody_has_this") == {}


def test_the_module_is_looked_for_that_the_first_of_a_chain_misses() -> None:
    error = RuntimeError("the graph could not be read")
    error.__cause__ = ModuleNotFoundError("No module named 'yaml'")

    assert described(error)["found"]["module"] == "yaml"
    assert "found" not in described(KeyError("yaml"))


def test_the_address_at_which_another_process_listens_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(RuntimeError, match="Cluster failed to start") as raised:
            LocalCluster(n_workers=0, scheduler_port=port, dashboard_address=":0")

    error = raised.value
    assert described(error)["found"] == {"address": f"127.0.0.1:{port}"}


def test_an_exception_that_cannot_say_what_it_is_is_described_all_the_same() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert "found" not in described(MuteError())


def work(day: str = "") -> str:
    return day


class Job:
    def __call__(self) -> str:
        return work("Friday")


@pytest.mark.parametrize(
    ("called", "function"),
    [
        (work, work),
        (functools.cache(work), work),
        (functools.partial(functools.partial(work), "Friday"), work),
        (Job(), Job.__call__),
        (functools.partial(Job()), Job.__call__),
    ],
    ids=["function", "cached", "partial", "object", "partial of an object"],
)
def test_the_function_behind_what_is_called_is_what_its_host_reports(
    called: Callable[..., str], function: Callable[..., str]
) -> None:
    error = TypeError("returned an uncomputed value")
    error.dask_blackbox_about = called  # type: ignore[attr-defined]

    code, place = code_of(called), describe_exception(error)

    assert code == code_of(function)
    assert code["hash"] is not None
    assert (place["file"], place["line"]) == (__file__, code["line"])


def test_a_builtin_has_a_name_and_no_code() -> None:
    code = code_of(len)

    assert (code["name"], code["file"], code["hash"]) == ("len", None, None)


def test_code_that_was_not_read_by_the_end_of_the_run_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_code, "_TIMEOUT", 0.01)
    go_on = threading.Event()
    reported: list[dict[str, object]] = []

    def report(facts: dict[str, object]) -> None:
        if "modules" in facts:
            go_on.wait()
        reported.append(facts)

    reporter = DriverCodeReporter(report)

    reporter.start()
    reporter.finish()
    found = list(reported)
    go_on.set()

    assert found == [{"late": True}]
