"""What the user's code did: programs that failed, files it removed or did not find."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType

import msgspec
import pytest
from conditions import until
from dask_blackbox import Run, RunCard
from dask_blackbox.capture.driver.client_calls import DriverCalls
from dask_blackbox.capture.files import (
    RemovedFiles,
    missing_file_facts,
    missing_file_of,
)
from dask_blackbox.capture.programs import note_ends
from dask_blackbox.events import (
    ActorMethod,
    ClientDisconnected,
    DriverCallFailed,
    DriverCancel,
    DriverRaised,
    DriverSignalled,
    DriverSkipped,
    FileRemoved,
    ProgramFailed,
    decoded,
)
from distributed import Client, Event, LocalCluster, as_completed
from distributed.comm import CommClosedError
from runs_from_rows import (
    START,
    a_run,
    a_worker,
    an_event,
    an_exception,
    raised_in,
    the_verdict,
)
from scenario_runs import SCENARIOS, Home, begin_command, ended

pytestmark = pytest.mark.processes

FAILS = [sys.executable, "-c", "import sys; sys.exit(3)"]


# What is recorded of results


@pytest.mark.parametrize("reason", ["scheduler-connection-lost", "stale inputs"])
def test_a_driver_that_reads_a_status_has_seen_what_dask_cancelled(
    reason: str, rows: list[list[object]]
) -> None:
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        calls = DriverCalls(lambda _, row: rows.append(row))
        calls.start()
        futures = client.map(abs, range(2))
        for each in futures:
            client.futures[each.key].cancel(reason=reason)  # as the client itself does
        seen = [futures[0].status, futures[1].cancelled()]
        calls.stop()

    assert seen == ["cancelled", True]
    failed = [str(row[3]) for row in rows if row[1] == "driver-call-failed"]
    assert len({text for text in failed if reason in text}) == (
        2 if reason == "scheduler-connection-lost" else 0
    )


# What is recorded of programs


@pytest.fixture
def rows() -> Iterator[list[list[object]]]:
    """Return what is reported of the driver's acts while a test runs."""
    taken = list[list[object]]()
    calls = DriverCalls(lambda _, row: taken.append(row))
    calls.start()
    yield taken
    calls.stop()


def programs(rows: list[list[object]]) -> list[ProgramFailed]:
    """Return the programs that were reported."""
    found = [decoded(*row) for row in rows if row[1] == "program-failed"]  # type: ignore[arg-type]
    assert all(isinstance(each, ProgramFailed) for each in found)
    return [each for each in found if isinstance(each, ProgramFailed)]


def with_run() -> None:
    subprocess.run(FAILS, check=False)


def with_call() -> None:
    subprocess.call(FAILS)


def with_check_call() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.check_call(FAILS)


def with_poll() -> None:
    process = subprocess.Popen(FAILS)
    until(lambda: process.poll() is not None, "the program has exited")


def with_a_shell() -> None:
    subprocess.run("exit 3", shell=True, check=False)


def with_os_system() -> None:
    os.system("exit 3")


def with_a_thread() -> None:
    thread = threading.Thread(target=subprocess.run, args=(FAILS,))
    thread.start()
    thread.join()


def with_asyncio() -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(*FAILS)
        await process.wait()

    asyncio.run(run())


@pytest.mark.parametrize(
    "start",
    [with_run, with_call, with_check_call, with_poll, with_a_shell, with_os_system,
     with_asyncio],
)  # fmt: skip
def test_a_program_that_fails_is_reported_once(
    rows: list[list[object]], start: Callable[[], None]
) -> None:
    start()

    found = programs(rows)
    assert [each.code for each in found] == [3]
    assert found[0].file == __file__
    assert found[0].pid == os.getpid()
    assert "exit" in found[0].command


def test_a_program_whose_thread_runs_no_code_of_the_job_is_not_reported(
    rows: list[list[object]],
) -> None:
    with_a_thread()

    assert programs(rows) == []


def test_the_last_line_of_errors_that_the_driver_read_is_reported(
    rows: list[list[object]],
) -> None:
    code = "import sys; print('first\\nno licence', file=sys.stderr); sys.exit(2)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert [each.error for each in programs(rows)] == ["no licence"]


def raises_on_odd(number: int) -> int:
    if number % 2:
        raise ValueError(number)
    return number


def skipped(rows: list[list[object]]) -> list[DriverSkipped]:
    found = [decoded(*row) for row in rows if row[1] == "driver-skipped"]  # type: ignore[arg-type]
    return [each for each in found if isinstance(each, DriverSkipped)]


def test_results_that_the_driver_leaves_out_are_reported_with_line_and_keys(
    rows: list[list[object]],
) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(raises_on_odd, range(3))
        assert client.gather(futures, errors="skip") == [0, 2]
        assert client.gather(futures[:1], errors="skip") == [0]  # nothing is left out

    assert [(each.skipped, each.futures, each.keys) for each in skipped(rows)] == [
        (1, 3, (futures[1].key,))
    ]
    assert [Path(each.file or "").name for each in skipped(rows)] == [
        "test_side_effects.py"
    ]


def test_results_that_an_asynchronous_driver_leaves_out_are_reported(
    rows: list[list[object]],
) -> None:
    async def drive() -> list[int]:
        async with (
            LocalCluster(
                n_workers=1, processes=False, dashboard_address=":0", asynchronous=True
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):
            futures = client.map(raises_on_odd, range(3))
            return list(await client.gather(futures, errors="skip"))

    assert asyncio.run(drive()) == [0, 2]
    assert [(each.skipped, each.futures, each.file) for each in skipped(rows)] == [
        (1, 3, None)
    ]


def test_what_the_driver_cancels_is_reported_with_line_and_reason(
    rows: list[list[object]],
) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        first, *others = client.map(wait_for_go, range(3))
        client.cancel(others, reason="no budget left")
        first.cancel()
        Event("go").set()

    found = [decoded(*row) for row in rows if row[1] == "driver-cancel"]  # type: ignore[arg-type]
    calls = [each for each in found if isinstance(each, DriverCancel)]
    assert [(each.futures, each.reason) for each in calls] == [
        (2, "no budget left"),
        (1, None),
    ]
    assert {Path(each.file or "").name for each in calls} == {"test_side_effects.py"}


def test_a_client_that_loses_its_scheduler_reports_the_work_that_was_left(
    rows: list[list[object]],
) -> None:
    with (
        # Dask's own client may raise these when it closes.
        suppress(CommClosedError, RuntimeError),
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        done = client.map(abs, range(2))
        client.gather(done)
        waiting = client.map(wait_for_go, range(3))
        Event("go").set()
        client.gather(waiting)
        Event("go").clear()
        left = client.map(wait_for_go, range(3, 6))
        seen = as_completed(left, with_results=True)
        cluster.scheduler.client_comms[client.id].abort()
        assert len([future for future, _ in seen]) == len(left)  # it raises nothing

    found = [decoded(*row) for row in rows if row[1] == "client-disconnected"]  # type: ignore[arg-type]
    lost = [each for each in found if isinstance(each, ClientDisconnected)]
    assert (lost[0].pending, lost[0].futures) == (3, 8)
    assert lost[0].scheduler == cluster.scheduler_address


def test_a_signal_to_itself_is_sent_for_the_error_that_its_function_received(
    rows: list[list[object]],
) -> None:
    signal.signal(signal.SIGUSR1, lambda *_: None)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        future = client.submit(raises_on_odd, 1)

        def ask() -> None:
            assert isinstance(future.exception(), ValueError)
            os.kill(os.getpid(), signal.SIGUSR1)

        ask()
        os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)

    found = [decoded(*row) for row in rows]  # type: ignore[arg-type]
    received = [each.id for each in found if isinstance(each, DriverCallFailed)]
    sent = [each.received for each in found if isinstance(each, DriverSignalled)]
    assert sent == [received[0], None]


def wait_for_go(number: int) -> int:
    Event("go").wait()
    return number


def test_a_watched_function_is_pickled_by_its_name(rows: list[list[object]]) -> None:
    assert isinstance(os.system, FunctionType)  # it is watched
    assert pickle.loads(pickle.dumps(os.system)) is os.system
    assert rows == []


def test_a_program_that_succeeds_is_not_reported(rows: list[list[object]]) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)
    os.system("exit 0")

    assert programs(rows) == []


def test_a_program_for_which_nobody_waited_is_reported_at_the_end() -> None:
    taken = list[list[object]]()
    calls = DriverCalls(lambda _, row: taken.append(row))
    calls.start()
    process = subprocess.Popen(FAILS)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert programs(taken) == []

    calls.stop()

    assert [each.code for each in programs(taken)] == [3]
    assert process.wait() == 3  # it can still be waited for


def test_a_program_has_the_moment_at_which_it_was_seen_to_have_ended() -> None:
    taken = list[list[object]]()
    calls = DriverCalls(lambda _, row: taken.append(row))
    calls.start()
    process = subprocess.Popen(FAILS)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    note_ends()
    seen = time.time()
    until(lambda: time.time() > seen + 0.05, "a later moment")

    assert process.wait() == 3

    calls.stop()
    [[at, *_]] = [row for row in taken if row[1] == "program-failed"]
    assert isinstance(at, float)
    assert at <= seen


def test_a_program_of_a_library_is_not_reported(rows: list[list[object]]) -> None:
    code = compile(
        "import subprocess\ndef run(args): subprocess.run(args)\n",
        "/opt/env/lib/python3.11/site-packages/tool/__init__.py",
        "exec",
    )
    names: dict[str, Callable[[list[str]], None]] = {}
    exec(code, names)
    names["run"](FAILS)

    assert programs(rows) == []


def test_very_many_programs_are_bounded(rows: list[list[object]]) -> None:
    for _ in range(130):
        os.system("exit 1")

    assert len(programs(rows)) == 100


def test_what_popen_raises_is_what_it_raised_before(rows: list[list[object]]) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        process.wait(0.01)
    process.communicate(b"\n")

    files = [str(each.path) for each in raised.traceback]
    assert not any("dask_blackbox" in file for file in files)
    assert programs(rows) == []


# What is recorded of files


def a_removal(tmp_path: Path, name: str = "trades.csv") -> tuple[RemovedFiles, str]:
    removed = RemovedFiles()
    file = str(tmp_path / name)
    removed.take("os.remove", (file, -1), sys._getframe())
    return removed, file


def test_a_removal_is_reported_once_to_an_error_that_names_the_file(
    tmp_path: Path,
) -> None:
    removed, file = a_removal(tmp_path)
    text = f"[Errno 2] No such file or directory: '{file}'"

    [reported] = removed.named_in(text)

    assert (reported.path, reported.action) == (file, "removed")
    assert reported.place["file"] == __file__
    assert removed.named_in(text) == []


def test_a_folder_that_was_removed_is_reported_for_the_files_in_it(
    tmp_path: Path,
) -> None:
    removed, folder = a_removal(tmp_path, "day=1")

    [reported] = removed.named_in(f"cannot read {folder}/part.0.parquet")

    assert reported.path == folder


def test_an_error_that_names_another_file_reports_none(tmp_path: Path) -> None:
    removed, file = a_removal(tmp_path)

    assert removed.named_in(f"no file {file}.gz") == []
    assert removed.named_in("no file trades.csv") == []


def test_removals_are_bounded(tmp_path: Path) -> None:
    removed, first = a_removal(tmp_path)
    for number in range(2_000):
        removed.take("os.remove", (f"{first}.{number}", -1), sys._getframe())

    assert removed.named_in(f"no {first}") == []
    assert len(removed.named_in(f"no {first}.1999")) == 1


def _open(path: str | Path) -> FileNotFoundError:
    with pytest.raises(FileNotFoundError) as raised:
        Path(path).open()  # noqa: SIM115 - there is none
    return raised.value


def test_the_missing_file_of_an_error_is_found_in_what_it_follows_from(
    tmp_path: Path,
) -> None:
    file = tmp_path / "day=1" / "in.csv"
    error = RuntimeError("no prices")
    error.__cause__ = _open(file)

    assert missing_file_of(error) == str(file)
    assert missing_file_of(RuntimeError("no prices")) is None
    assert missing_file_of(FileNotFoundError("Failed to open '/data/in.csv'")) == (
        "/data/in.csv"
    )


def test_a_missing_program_is_no_missing_file() -> None:
    with pytest.raises(FileNotFoundError) as raised:
        subprocess.run(["nobodys-program"], check=False)

    assert missing_file_of(raised.value) is None


def test_the_nearest_folder_above_a_missing_file_is_described(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("1")
    os.utime(tmp_path, (1_000.0, 1_000.0))

    found = missing_file_facts(f"{tmp_path}/day=1/hour=2/in.csv")

    assert found == {
        "path": f"{tmp_path}/day=1/hour=2/in.csv", "relative": False, "moved": None,
        "exists": False,
        "folder": str(tmp_path), "changed": 1_000.0, "entries": 1,
    }  # fmt: skip


def test_a_relative_path_is_reported_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = missing_file_facts("in.csv")

    assert (found["path"], found["relative"]) == (str(tmp_path / "in.csv"), True)


def test_a_relative_path_may_exist_in_the_drivers_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers, workers = tmp_path / "driver", tmp_path / "worker"
    for folder in (drivers / "stock", workers):
        folder.mkdir(parents=True)
    (drivers / "stock/cork.csv").write_text("1")
    monkeypatch.chdir(workers)

    there = missing_file_facts("stock/cork.csv", str(drivers))
    nowhere = missing_file_facts("stock/bray.csv", str(drivers))

    assert there["with_driver"] == str(drivers / "stock/cork.csv")
    assert "with_driver" not in nowhere


def test_a_working_directory_that_is_gone_ends_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    removed = RemovedFiles()
    removed.take("os.remove", ("in.csv",), sys._getframe())

    assert [each.path for each in removed.named_in("no in.csv")] == ["in.csv"]
    assert missing_file_facts("in.csv") == {
        "path": "in.csv", "relative": True, "moved": None, "exists": False
    }  # fmt: skip


# What is concluded

MISSING = "[Errno 2] No such file or directory: '/data/in.csv'"
FAILED = raised_in("load-1", an_exception("FileNotFoundError", MISSING), at=10.0)
PROGRAM = an_event(
    "program-failed", "driver", at=5.0, pid=1, program_pid=77, command="extract in.csv", code=3,
    error="no licence", file="/job.py", line=4, function="main",
)  # fmt: skip
REMOVED = an_event(
    "file-removed", "driver", at=8.0, pid=1, path="/data/in.csv", action="removed",
    file="/job.py", line=9, function="clean",
)  # fmt: skip


def test_a_program_that_failed_comes_before_the_file_that_is_missing() -> None:
    run = a_run(a_worker("tcp://w1"), PROGRAM, FAILED)
    found = the_verdict(run)
    assert found.confidence == "medium"
    assert found.title.startswith(
        "Program “extract in.csv” of the driver exited with code 3: no licence; then "
        "FileNotFoundError in 'load'"
    )
    assert [each.text for each in found.before] == [
        "Program “extract in.csv” of the driver exited with code 3: no licence"
    ]
    assert found.own_title.startswith("FileNotFoundError in 'load'")


def test_a_program_that_the_driver_itself_ended_is_no_failure() -> None:
    signalled = an_event(
        DriverSignalled.kind, "driver", at=4.0, pid=1, target=77, signal="SIGTERM"
    )
    run = a_run(a_worker("tcp://w1"), signalled, PROGRAM, FAILED)
    found = the_verdict(run)
    assert found.confidence == "high"
    assert found.before == ()


def test_the_line_of_the_driver_that_removed_a_file_is_named() -> None:
    run = a_run(a_worker("tcp://w1"), REMOVED, FAILED)
    found = the_verdict(run)
    assert found.confidence == "high"
    assert found.title.startswith(
        "job.py:9 removed /data/in.csv; then FileNotFoundError"
    )
    assert "2.0 s before, at /job.py:9 in clean" in found.cause


def test_a_file_that_was_removed_after_the_failure_is_no_reason() -> None:
    later = an_event(FileRemoved.kind, "driver", at=11.0, path="/data/in.csv")
    run = a_run(a_worker("tcp://w1"), later, FAILED)
    found = the_verdict(run)
    assert "removed" not in found.title


def test_what_failed_after_a_file_was_cleaned_up_is_why_it_is_missing() -> None:
    cleaned = an_event(
        "file-removed", "driver", at=3.0, pid=1, path="/data/in.csv", action="removed",
        file="/job.py", line=2, function="clean",
    )  # fmt: skip
    run = a_run(a_worker("tcp://w1"), cleaned, PROGRAM, FAILED)
    found = the_verdict(run)
    assert found.title.startswith("Program “extract in.csv” of the driver exited")
    assert found.confidence == "medium"


def test_the_folder_of_another_file_reports_nothing() -> None:
    other = an_event(
        "missing-file", "load-1", at=9.0, path="/data/prices.csv", folder="/data",
        changed=START - 86_400, entries=3,
    )  # fmt: skip
    run = a_run(a_worker("tcp://w1"), other, FAILED)
    found = the_verdict(run)
    assert "Nothing in this run changed" not in (found.remedy or "")


def test_a_relative_path_that_the_driver_finds_is_no_file_that_was_removed() -> None:
    message = "[Errno 2] No such file or directory: 'stock/cork.csv'"
    missing = an_event(
        "missing-file", "load-1", at=9.5, path="/spool/w1/stock/cork.csv", relative=True,
        folder="/spool/w1", changed=START + 5, entries=0, exists=False,
        with_driver="/jobs/stock/cork.csv",
    )  # fmt: skip
    error = an_exception("FileNotFoundError", message)
    run = a_run(a_worker("tcp://w1"), missing, raised_in("load-1", error, at=10.0))
    found = the_verdict(run)
    assert found.confidence == "high"
    assert (
        "exists in the driver's working directory: /jobs/stock/cork.csv." in found.cause
    )
    assert "Something wrote" not in (found.remedy or "")
    assert "use an absolute one" in (found.remedy or "")


REMOVED_BY_TASK = an_event(
    "file-removed", "purge-7", at=8.0, path="/data/in.csv", action="removed",
    file="/job.py", line=9, function="purge",
)  # fmt: skip


def test_the_task_that_removed_a_file_is_named() -> None:
    run = a_run(a_worker("tcp://w1"), REMOVED_BY_TASK, FAILED)
    found = the_verdict(run)
    assert found.title.startswith("Task 'purge' removed /data/in.csv; then FileNotF")
    assert "Task 'purge' had removed /data/in.csv 2.0 s before" in found.cause
    assert "Make this task depend on them." in (found.remedy or "")


@pytest.mark.parametrize(
    ("command", "named"), [("convert /raw/in.raw", True), ("grep x /etc/hosts", False)]
)
def test_programs_that_concern_the_missing_file_begin_the_headline(
    *, command: str, named: bool
) -> None:
    program = an_event(
        "program-failed", "convert-3", at=5.0, program_pid=78, command=command, code=2
    )
    run = a_run(a_worker("tcp://w1"), program, FAILED)
    found = the_verdict(run)
    assert found.title.startswith("Program “convert in.raw” of task 'convert'") == named
    assert found.confidence == "medium"
    assert f"A program of task 'convert', {command}, had exited with code 2" in [
        each.text for each in found.evidence
    ]


@pytest.mark.parametrize(
    ("changed", "exists", "confidence", "remedy"),
    [
        (-86_400.0, False, "high", "Nothing in this run changed /data"),
        (9.0, False, "medium", "Something wrote to or removed from /data during the run"),
        (10.1, True, "medium", "Have the task that reads the file depend on"),
    ],
)  # fmt: skip
def test_what_the_folder_of_a_missing_file_looked_like_decides_how_sure_it_is(
    *, changed: float, exists: bool, confidence: str, remedy: str
) -> None:
    folder = an_event(
        "missing-file", "load-1", at=10.1, path="/data/in.csv", folder="/data",
        changed=START + changed, entries=3, exists=exists,
    )  # fmt: skip
    run = a_run(a_worker("tcp://w1"), folder, FAILED)
    found = the_verdict(run)
    assert found.confidence == confidence
    assert remedy in found.remedy
    # It is what is advised of the file, in the place of what is advised of any.
    for once in (remedy, "exists", "check what should have", "removes files"):
        assert found.remedy.count(once) <= 1
    assert "something removed or renamed it" not in found.remedy


# On real clusters


@pytest.fixture
def card_of_command(homes: Callable[[], Home]) -> Callable[[str, int], RunCard]:
    """Return the card of a recorded command of `scenarios/side_effects.py`."""

    def card(how: str, code: int) -> RunCard:
        home = homes()
        file = home.folder / "card.json"
        words = ["--store", str(home.folder / "store"), "--card", str(file), "--"]
        words += [sys.executable, str(SCENARIOS / "side_effects.py")]
        process = begin_command(home, "blackbox", "run", *words, how, str(home.folder))
        run = ended(home, process)
        assert run.code == code, run.errors
        return msgspec.json.decode(file.read_bytes(), type=RunCard)

    return card


COMMANDS = [
    ("removed_file", 1, ["side_effects.py:", " removed ", "trades.csv; then"], "high"),
    ("signals_itself", 1, ["received SIGKILL from task 'end_worker'"], "high"),
]  # fmt: skip
# Each takes four seconds of CPU time, for a way that is like one of those above.
MORE_COMMANDS = [
    ("reused_keys", 1, ["Different tasks had the same key, 'toll-1'", "then LookupError"], "medium"),
    ("looks_at_status", 1, ["LookupError in 'refuse'", "; then the command exited with code 1"], "medium"),
    ("program_of_a_task", 1, ["of task 'convert' exited with code 3", "books.csv"], "medium"),
    ("module_of_one_worker", 1, ["One worker imports another 'tariffs' than worker", "/old/tariffs.py"], "high"),
    ("restarts", 1, ["The cluster was restarted during the run, by the run itself at side_effects.py:"], "high"),
    ("ignored_program", 1, ["exited with code 3: no licence left", "books.csv"], "medium"),
    ("removing_task", 1, ["Task 'purge' removed ", "trades.csv; then"], "high"),
    ("ended_service", 1, ["of the driver exited with code 3; then Connection"], "medium"),
    ("clean_up_first", 1, ["FileNotFoundError in 'load': ", "trades.csv"], "medium"),
    ("file_of_yesterday", 1, ["FileNotFoundError in 'load'", "trades.csv"], "high"),
    ("moving_task", 1, ["Task 'unpack' changed the working directory; then", "rates.csv"], "high"),
    ("another_module", 1, ["Workers import another 'tariffs' than the driver"], "high"),
    ("another_class", 1, ["Workers import another 'tariffs' than the driver"], "high"),
    ("hidden_module", 1, ["Workers import another 'statistics' than the driver: ", "statistics.py"], "medium"),
    ("unprintable", 1, ["OrderError in 'cancel_order': its text raises IndexError"], "high"),
    ("closes_client", 1, ["the check failed", "; then the client was closed while"], "medium"),
    ("again", 1, ["ZeroDivisionError in 'export'", "; then FileExistsError in 'export'"], "medium"),
    ("uses_up", 1, ["' printed “strip is incomplete: [Errno 27]", "; then ValueError"], "medium"),
    ("changed_timeout", 1, ["timeout of sockets in the worker's process had been changed from none to 0.5 s; then TimeoutError in 'listen_to'"], "medium"),
    ("shared_block", 1, ["A Python process that ended removed the shared memory", "then FileNotFoundError"], "medium"),
    ("lost_asyncio_task", 1, ["IndexError in the asyncio task 'feed' of the driver"], "medium"),
    ("locked", 1, ["MemoryError: index is too large in a program of the driver; then RuntimeError in 'append_to'"], "medium"),
    ("closed_cluster", 1, ["The driver could not connect to ", ": it had closed that cluster"], "high"),
    ("signalled_group", 143, ["Task 'give_up' sent SIGTERM to the driver's process group at ", "side_effects.py:"], "high"),
    ("interrupts_itself", 130, ["The job's own code interrupted the driver (SIGINT)"], "high"),
    ("stops_from_a_callback", 143, ["LookupError in 'refuse'", "no price for A"], "high"),
    ("another_python", 1, ["ModuleNotFoundError in the driver: No module named 'ledger_of_"], "high"),
    ("actors_wait", 1, ["The driver waited for '", ".settle', a method of an actor that waited for an actor"], "medium"),
    ("exits", 4, ["LookupError in 'refuse'", "no price for A7"], "high"),
    ("restarts_after_failure", 1, ["LookupError in 'refuse'", "; then the cluster was restarted during the run, by the run itself at side_effects.py:"], "medium"),
    ("tries_again", 1, ["LookupError in 'refuse'", "; then "], "medium"),
    ("holds_a_lock", 5, ["The graph could not be pickled: it holds a _thread.lock; then the command called sys.exit(5) at side_effects.py:"], "medium"),
    ("leaves_at_once", 7, ["LookupError in 'refuse'"], "high"),
    ("logs_its_own_error", 3, ["ZeroDivisionError in the driver: division by zero", "; then the command called sys.exit(3) at side_effects.py:"], "medium"),
    ("counts", 1, ["LookupError in 'refuse'", "; then the command called sys.exit(1) at side_effects.py:"], "medium"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("how", "code", "title", "confidence"),
    [
        *COMMANDS,
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in MORE_COMMANDS),
    ],
)
def test_a_recorded_command(
    card_of_command: Callable[[str, int], RunCard],
    how: str,
    code: int,
    title: list[str],
    confidence: str,
) -> None:
    verdict = card_of_command(how, code).verdict

    assert verdict is not None
    assert [each for each in title if each not in verdict.title] == [], verdict
    assert verdict.confidence == confidence


@pytest.mark.nightly
def test_workers_get_the_path_of_dasks_configuration_as_without_a_recording(
    card_of_command: Callable[[str, int], RunCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)

    assert card_of_command("configures_path", 0).state == "succeeded"


@pytest.mark.parametrize(
    "how",
    ["exits_with_text", pytest.param("tries_again", marks=pytest.mark.nightly)],
)
def test_an_exit_is_reported_once_though_it_closes_client_and_cluster(
    card_of_command: Callable[[str, int], RunCard], how: str
) -> None:
    run = Run.open(card_of_command(how, 1).links["recording"])

    assert [each.exception for each in run.of(DriverRaised)] == ["SystemExit"]


@pytest.mark.nightly
def test_a_forked_process_that_the_driver_waited_for_is_named(
    card_of_command: Callable[[str, int], RunCard],
) -> None:
    verdict = card_of_command("forked_client", 1).verdict

    assert verdict is not None
    assert (verdict.rule, verdict.confidence) == ("driver-exception", "medium")
    assert "it had been waiting for a process that it had started at " in verdict.cause
    assert "(`child.join(9)`) for " in verdict.cause
    assert "The driver had forked a process at " in verdict.cause
    assert "get_context('spawn')" in (verdict.remedy or "")


@pytest.mark.nightly
def test_an_exception_that_the_driver_asked_for_is_received(
    card_of_command: Callable[[str, int], RunCard],
) -> None:
    card = card_of_command("asks_for_exceptions", 0)

    (found,) = (each for each in card.findings if each.rule == "task-exception")
    assert found.severity == "notice"


@pytest.mark.nightly
def test_calls_of_an_actor_in_a_row_are_not_taken_for_one(
    card_of_command: Callable[[str, int], RunCard],
) -> None:
    card = card_of_command("busy_actor", 1)

    run = Run.open(card.links["recording"])
    assert run.of(ActorMethod) == ()
    assert card.verdict is not None
    assert card.verdict.title.startswith("LookupError in the driver: no entry in the")


@pytest.mark.nightly
def test_a_worker_that_a_process_without_a_client_ended_was_ended_by_the_script(
    card_of_command: Callable[[str, int], RunCard],
) -> None:
    verdict = card_of_command("rotates_worker", 1).verdict

    assert verdict is not None
    assert verdict.rule == "data-lost"
    assert "the run's own script sent it (at " in verdict.cause
    assert "side_effects.py:" in verdict.cause


def test_what_a_command_prints_as_it_exits_is_recorded(
    card_of_command: Callable[[str, int], RunCard],
) -> None:
    card = card_of_command("prints_last", 0)

    logs = Run.open(card.links["recording"]).logs
    printed = logs.filter((logs["role"] == "driver") & (logs["logger"] == "stdout"))
    assert [line[:16] for line in printed["message"]] == ["printed last, of"]
