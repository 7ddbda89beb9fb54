"""Functions of the standard library that are wrapped on workers behave as before."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from dask_blackbox.capture import os_calls

pytestmark = pytest.mark.processes

Calls = list[tuple[str, tuple[Any, ...]]]


@pytest.fixture
def calls() -> Iterator[Calls]:
    """Return what is reported while a test runs."""
    taken: Calls = []

    def listener(event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        if frame.f_code.co_filename == __file__:
            taken.append((event, args))

    os_calls.listen(listener)
    yield taken
    os_calls.listen(None)


def test_what_removes_files_is_reported_with_its_path(
    calls: Calls, tmp_path: Path
) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    Path(one).write_text("1")
    os.rename(one, other)  # noqa: PTH104 - what is wrapped
    os.unlink(other)  # noqa: PTH108 - likewise
    shutil.rmtree(tmp_path)

    assert calls == [
        ("os.rename", (one, other)),
        ("os.remove", (other,)),
        ("shutil.rmtree", (tmp_path,)),
    ]
    assert not tmp_path.exists()


def test_a_new_working_directory_is_reported(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path.cwd())  # comes back
    calls.clear()
    os.chdir(tmp_path)

    assert calls == [(os_calls.MOVED, (tmp_path,))]


def test_a_program_is_reported_once_it_has_started(calls: Calls) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert calls == [(os_calls.STARTED, (process,))]


def test_nothing_is_reported_once_nobody_listens(calls: Calls, tmp_path: Path) -> None:
    os_calls.listen(None)
    (tmp_path / "one").write_text("1")
    os.remove(tmp_path / "one")  # noqa: PTH107 - what is wrapped

    assert calls == []


def test_an_error_has_no_frame_of_ours(calls: Calls, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as removed:
        os.remove(tmp_path / "none")  # noqa: PTH107 - what is wrapped
    with pytest.raises(FileNotFoundError) as started:
        subprocess.Popen(["nobodys-program"])

    assert calls == []  # nothing was removed or started
    for raised in (removed, started):
        files = [each.filename for each in traceback.extract_tb(raised.tb)]
        assert os_calls.__file__ not in files


def test_a_folder_that_was_not_there_has_not_been_removed(
    calls: Calls, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    (tmp_path / "none").unlink(missing_ok=True)

    assert calls == []


def test_a_signal_is_reported_before_it_may_end_this_process(calls: Calls) -> None:
    taken: Calls = []

    def handler(number: int, frame: object) -> None:
        taken.extend(calls)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert taken == [("os.kill", (os.getpid(), signal.SIGUSR1))]


def test_a_wrapped_function_is_pickled_by_its_name(calls: Calls) -> None:
    assert calls == []
    assert pickle.loads(pickle.dumps(os.remove)) is os.remove
    assert b"os_calls" not in pickle.dumps(os.rename)


def test_libraries_find_what_the_functions_can_do(calls: Calls) -> None:
    assert calls == []
    assert {os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
