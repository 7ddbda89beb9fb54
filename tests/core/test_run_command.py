"""`dask blackbox run`: a command of people who have never heard of us, recorded."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import bare_environments
import msgspec
import polars as pl
import pytest
from _pytest.mark import ParameterSet
from conditions import scaled
from dask_blackbox import Run, RunCard
from dask_blackbox.autorecord import command
from dask_blackbox.driver.kept_lines import KeptLines
from scenario_runs import (
    SCENARIOS,
    Home,
    ScenarioRun,
    begin_command,
    ended,
    messages,
)
from stored_events import details

pytestmark = pytest.mark.processes

ScenarioRuns = Callable[[str], ScenarioRun]
SCRIPT = str(SCENARIOS / "user_script.py")
ENDS = {
    # what it does: its exit code, its output, the state, the verdict
    "fine": (0, "sum 380\nfine 2\n", "succeeded", None),
    "nest": (0, "sum 380\nnested 18\n", "succeeded", None),
    "never_close": (0, "sum 380\n", "succeeded", None),
    "no_client": (0, "bytes \udcff that are no text\n", "succeeded", None),
    "children": (0, "child 18\nchild 18\n", "succeeded", None),
    "before_any_client": (1, "", "failed", "driver-exception"),
    "under_another_hook": (1, "", "failed", "driver-exception"),
    "before_its_child": (1, "", "failed", "driver-exception"),
    "exit_5": (5, "sum 380\n", "failed", "driver-exception"),
    "give_up": (1, "sum 380\n", "failed", "driver-exception"),
    "fail": (1, "sum 380\n", "failed", "driver-exception"),
    "kill_a_worker": (1, "sum 380\n", "failed", "worker-exit"),
    "lose_the_recorder": (0, "sum 380\ntripled 18\n", "succeeded", None),
    "kill_itself": (137, "sum 380\n", "aborted", "driver-killed"),
}
NIGHTLY_ENDS = (
    "no_client",
    "under_another_hook",
    "before_any_client",
    "kill_a_worker",
    "nest",
    "never_close",
    "before_its_child",
    "give_up",
    "exit_5",
    "children",
    "lose_the_recorder",
    "isolated",
)
COMMANDS: dict[str, tuple[list[str], int, str, str]] = {
    "no Python": (
        ["/bin/sh", "-c", "echo hi; echo no licence left >&2; exit 4"],
        4,
        "hi\n",
        "failed",
    ),
    "not found": (["no-such-command"], 127, "", "failed"),
    "not executable": (["/etc/hostname"], 126, "", "failed"),
}


def run_of(home: Home, *command: str) -> list[str]:
    """Return the words of `dask blackbox run` for a command."""
    options = ["--store", str(home.folder / "store")]
    options += ["--card", str(home.folder / "cards" / "card.json")]
    return ["blackbox", "run", *options, "--", *command]


def card_in(home: Home) -> RunCard:
    """Return the card that was written."""
    text = (home.folder / "cards" / "card.json").read_bytes()
    return msgspec.json.decode(text, type=RunCard, strict=True)


def recording_in(home: Home) -> Run:
    return Run.open(card_in(home).links["recording"])


@pytest.mark.parametrize(
    ("script", "redirected"),
    [
        pytest.param("fine", "2>&-", marks=pytest.mark.nightly),
        ("exit_5", "2>/dev/full <&- >&-"),
        pytest.param("fine", "2>/dev/full", marks=pytest.mark.nightly),
        pytest.param("exit_5", "2>/dev/full", marks=pytest.mark.nightly),
        pytest.param("fine", "2>/dev/full <&- >&-", marks=pytest.mark.nightly),
        pytest.param("exit_5", "2>&-", marks=pytest.mark.nightly),
    ],
)
def test_a_standard_error_that_takes_nothing_changes_neither_exit_code_nor_card(
    homes: Callable[[], Home], script: str, redirected: str
) -> None:
    home = homes()
    words = [
        sys.executable,
        "-m",
        "dask",
        *run_of(home, sys.executable, SCRIPT, script),
    ]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirected}', "sh", *words],
        env=home.environment(), capture_output=True, check=False, timeout=scaled(120),
    )  # fmt: skip
    card = card_in(home)

    code, _, state, _ = ENDS[script]
    assert (done.returncode, card.state) == (code, state)
    assert card.completeness == {"recorded": True, "kept": "store", "complete": True}


def test_the_lines_of_a_driver_whose_folder_was_deleted_are_recorded(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    script = home.folder / "folder_deleted.py"
    script.write_text(
        "import os, tempfile\n"
        "folder = tempfile.mkdtemp()\n"
        "os.chdir(folder)\n"
        "os.rmdir(folder)\n"
        "from dask_blackbox import recording\n"
        "with recording():\n"
        "    print('still here')\n"
    )
    store = str(home.folder / "store")
    done = subprocess.run(
        [sys.executable, str(script)],
        env=home.environment(DASK_BLACKBOX__STORE__URL=store),
        capture_output=True, text=True, check=True, timeout=scaled(120),
    )  # fmt: skip
    [folder] = (home.folder / "store").glob("runs/*/*/*")
    run = Run.open(folder)

    assert "continued without" not in done.stderr
    assert messages(run.logs, "still here") == ["still here"]
    assert run.card().completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_environments.python_with("distributed", tmp_path_factory.mktemp("venv"))


@pytest.fixture(scope="module")
def finished_runs(homes: Callable[[], Home], bare_python: Path) -> ScenarioRuns:
    """Return what runs a command, once."""
    commands = {how: [sys.executable, SCRIPT, how] for how in ENDS}
    commands |= {name: command for name, (command, *_) in COMMANDS.items()}
    commands["isolated"] = [sys.executable, "-I", SCRIPT, "fine"]
    commands["uninstalled"] = [str(bare_python), SCRIPT, "fine"]

    @cache
    def finished(name: str) -> ScenarioRun:
        home = homes()
        return ended(home, begin_command(home, *run_of(home, *commands[name])))

    return finished


def ends(*more: str) -> list[ParameterSet]:
    """Return the ways in which the script ends, and more, as parameters."""
    return [
        pytest.param(each, marks=[pytest.mark.nightly] * (each in NIGHTLY_ENDS))
        for each in (*ENDS, *more)
    ]


@pytest.mark.parametrize("how", ends())
def test_exit_code_and_output_are_the_commands_own(
    finished_runs: ScenarioRuns, how: str
) -> None:
    finished = finished_runs(how)

    assert (finished.code, finished.output) == ENDS[how][:2]


@pytest.mark.parametrize("name", COMMANDS)
def test_any_command_can_be_run(finished_runs: ScenarioRuns, name: str) -> None:
    finished = finished_runs(name)
    _, code, output, state = COMMANDS[name]

    assert (finished.code, finished.output) == (code, output)
    assert card_in(finished.home).state == state


@pytest.mark.parametrize("how", ends())
def test_the_card_reports_how_it_ended(finished_runs: ScenarioRuns, how: str) -> None:
    card = card_in(finished_runs(how).home)
    _, _, state, rule = ENDS[how]

    assert card.state == state
    assert (card.verdict.rule if card.verdict else None) == rule
    assert card.completeness["recorded"]
    # Who kills himself takes along what his own scheduler still held.
    assert card.completeness["complete"] == (how != "kill_itself")
    assert card.job == "user_script"


@pytest.mark.parametrize("how", ends())
def test_the_card_is_printed_beside_the_output(
    finished_runs: ScenarioRuns, how: str
) -> None:
    finished = finished_runs(how)

    assert card_in(finished.home).headline.split(":")[0] in finished.errors
    assert card_in(finished.home).run_id in finished.errors


@pytest.mark.parametrize(
    ("how", "exception", "line"),
    [
        ("fail", "KeyError", "'after the work'"),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (
                ("before_any_client", "FileNotFoundError", "before any client"),
                ("under_another_hook", "LookupError", "under another hook"),
                ("give_up", "SystemExit", "no input files for today"),
                (
                    "kill_a_worker",
                    "distributed.scheduler.KilledWorker",
                    r"Attempted to run task .* on \d+ different workers, but .*",
                ),
            )
        ),
    ],
)
def test_the_exception_that_ended_the_command_is_recorded(
    finished_runs: ScenarioRuns, how: str, exception: str, line: str
) -> None:
    finished = finished_runs(how)
    ending = recording_in(finished.home).ending

    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.exception == exception
    assert re.fullmatch(line, ending.exception.message, re.DOTALL)
    assert ending.exit_code == 1
    # Python still prints it, once.
    assert finished.errors.count("Traceback (most recent call last)\n") <= 1
    assert exception.rpartition(".")[2] in finished.errors


@pytest.mark.nightly
def test_an_exception_of_a_child_that_came_later_did_not_end_the_command(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("before_its_child")
    run = recording_in(finished.home)

    raised = [each["exception"] for each in details(run, "driver-exception")]
    assert raised == ["ConnectionError", "RuntimeError"]
    assert run.ending is not None
    assert run.ending.exception is not None
    assert run.ending.exception.message == "the parent, first"


def test_what_a_failed_command_wrote_at_last_is_in_its_logs(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("no Python")

    logs = recording_in(finished.home).logs

    assert "no licence left\n" in finished.errors  # as it always was
    assert logs.select("role", "logger", "message").rows() == [
        ("driver", "stderr", "no licence left")
    ]


def test_a_command_with_much_own_code_is_recorded_to_its_end(
    finished_runs: ScenarioRuns,
) -> None:
    run = recording_in(finished_runs("fail").home)

    reported = run.events.filter(pl.col("kind") == "driver-code")["detail"]
    # More than fits into a buffer of asyncio's.
    assert max(len(detail) for detail in reported.to_list()) > 2**16
    assert run.ending is not None
    assert run.ending.exception is not None


def test_clients_of_the_command_are_recorded(finished_runs: ScenarioRuns) -> None:
    run = recording_in(finished_runs("fine").home)

    assert run.tasks["prefix"].to_list() == ["double"] * 21
    [driver] = [each for each in details(run, "driver-attached") if "cwd" in each]
    assert driver["argv"] == [SCRIPT, "fine"]


@pytest.mark.nightly
def test_nothing_is_lost_if_a_command_does_not_close_its_cluster(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("never_close")

    assert recording_in(finished.home).tasks.height == 20
    assert "dask-blackbox went on without" not in finished.errors


@pytest.mark.nightly
def test_a_recorder_that_takes_over_records_the_clients_that_are_there(
    finished_runs: ScenarioRuns,
) -> None:
    run = recording_in(finished_runs("lose_the_recorder").home)

    assert run.tasks.filter(pl.col("prefix") == "triple").height == 4


@pytest.mark.nightly
def test_clients_of_python_children_are_recorded(finished_runs: ScenarioRuns) -> None:
    run = recording_in(finished_runs("children").home)

    assert run.tasks["prefix"].to_list() == ["triple"] * 8
    assert run.tasks["worker"].n_unique() == 2
    assert len(details(run, "scheduler-info")) == 2


@pytest.mark.nightly
def test_a_client_within_a_task_changes_nothing_for_the_tasks_lines(
    finished_runs: ScenarioRuns,
) -> None:
    run = recording_in(finished_runs("nest").home)
    [line] = run.logs.filter(pl.col("logger") == "job").iter_rows(named=True)

    assert line["role"] == "worker"
    assert line["key"].startswith("sum_on_the_cluster")
    assert run.tasks.filter(pl.col("prefix") == "triple").height == 4
    argv = [each["argv"] for each in details(run, "driver-attached") if "argv" in each]
    assert [each for each in argv if "multiprocessing" in str(each)] == []


@pytest.mark.nightly
def test_a_python_that_ignores_its_environment_is_not_harmed(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("isolated")

    assert (finished.code, finished.output) == ENDS["fine"][:2]
    assert card_in(finished.home).state == "succeeded"


def test_a_python_without_us_is_not_harmed_and_said_to_be_unrecorded(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("uninstalled")
    card = card_in(finished.home)

    assert (finished.code, finished.output) == ENDS["fine"][:2]
    assert finished.errors.count("dask-blackbox is not installed for") >= 1
    assert card.completeness["complete"] is False
    assert "is not installed for" in str(card.completeness["missing"])


def test_a_recorder_that_starts_later_hears_of_a_python_without_us() -> None:
    preload = Path(command.__file__).with_name("dask_blackbox_preload.py")
    code = f"""
import runpy, sys
sys.modules["dask_blackbox"] = None
runpy.run_path({str(preload)!r})
"""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as ours:
        control = str(Path(folder) / "control")
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", code],
            env={"DASK_BLACKBOX_CONTROL": control},
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        assert b"is not installed for" in process.stderr.readline()
        ours.bind(control)
        ours.listen()
        ours.settimeout(60)
        with ours.accept()[0] as line, line.makefile() as printed:
            [row] = json.loads(printed.readline())["rows"]["event"]
        process.stderr.close()
        assert process.wait(60) == 0

    assert row[1] == "capture-failed"


@pytest.mark.parametrize("name", ends(*COMMANDS, "isolated", "uninstalled"))
def test_nothing_is_left_behind(finished_runs: ScenarioRuns, name: str) -> None:
    finished = finished_runs(name)
    finished.home.quiet()

    assert finished.home.left_over() == []


def test_what_the_user_had_in_the_environment_still_runs(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("MARK = 'of the user'\n")
    preload = tmp_path / "mine.py"
    preload.write_text("import os; os.environ['PRELOADED'] = 'yes'\n")
    home = homes()
    process = begin_command(
        home,
        *run_of(home, sys.executable, SCRIPT, "environment"),
        PYTHONPATH=str(tmp_path),
        DASK_DISTRIBUTED__CLIENT__PRELOAD=repr([str(preload)]),
    )
    finished = ended(home, process)
    reported: dict[str, Any] = json.loads(finished.output)

    assert finished.code == 0
    assert reported["mark"] == "of the user"
    assert str(tmp_path) in reported["path"]
    assert reported["PYTHONPATH"].endswith(f"{os.pathsep}{tmp_path}")
    assert reported["preloaded"] == "yes"
    assert reported["preloads"] == ["mine.py", "dask_blackbox_preload.py"]
    assert recording_in(home).workers.height == 1


_STARTS_A_WORKER = """
import subprocess, sys
from distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address]
        with open("worker.log", "wb") as log:
            worker = subprocess.Popen([*command, "--nprocs", "1"], stdout=log, stderr=log)
        with Client(cluster) as client:
            worker.wait()
            raise RuntimeError("no workers")
"""


@pytest.mark.nightly
def test_a_workers_options_that_were_refused_in_a_log_of_its_own_are_named(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_STARTS_A_WORKER)
    home = homes()

    ended(home, begin_command(home, *run_of(home, sys.executable, str(script))))

    verdict = card_in(home).verdict
    assert verdict is not None
    assert verdict.rule == "worker-start-failed"
    assert verdict.title.startswith(
        "A worker failed to start: No such option '--nprocs'"
    )


_READS_A_FILE_OF_YESTERDAY = """
import json
import os
import socket
import time
from distributed import Client

with socket.socket() as nobody:
    nobody.bind(("127.0.0.1", 0))
    address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
with open("scheduler.json", "w") as file:
    json.dump({"type": "Scheduler", "address": address}, file)
os.utime("scheduler.json", (time.time() - 90_000,) * 2)
Client(scheduler_file="scheduler.json", timeout=1)
"""


@pytest.mark.nightly
def test_a_scheduler_file_of_an_earlier_run_is_named(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_READS_A_FILE_OF_YESTERDAY)
    home = homes()

    ended(home, begin_command(home, *run_of(home, sys.executable, str(script))))

    verdict = card_in(home).verdict
    assert verdict is not None
    assert verdict.rule == "cannot-connect"
    assert verdict.title.endswith("the address in scheduler.json")
    assert "which was written 1 d 01 h before the run began" in verdict.cause


_STARTS_A_SITE = """
import os
import subprocess
import sys
from distributed import Client, LocalCluster

if __name__ == "__main__":
    with open("site_settings.py", "w") as file:
        file.write("raise LookupError('no vessel register')")
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        script = (
            f"PYTHONPATH=. {sys.executable} -m dask worker {cluster.scheduler_address} "
            "--preload site_settings.py > worker.log 2>&1"
        )
        with Client(cluster) as client:
            subprocess.run(["bash", "-c", script])
            raise RuntimeError("no workers")
"""


@pytest.mark.nightly
def test_why_a_worker_of_a_site_ended_is_read_from_its_log(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_STARTS_A_SITE)
    home = homes()

    ended(home, begin_command(home, *run_of(home, sys.executable, str(script))))

    verdict = card_in(home).verdict
    assert verdict is not None
    assert verdict.rule == "worker-start-failed"
    assert "LookupError: no vessel register" in verdict.title
    assert "site_settings.py:1" in verdict.cause


@pytest.mark.parametrize(
    ("send", "code", "says"),
    [
        # A terminal's Ctrl-C goes to all; a host that ends its task knows one process.
        (lambda pid: os.killpg(pid, signal.SIGINT), 130, "Ctrl-C or SIGINT"),
        pytest.param(
            lambda pid: os.kill(pid, signal.SIGTERM),
            143,
            "ended by SIGTERM",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            lambda pid: os.killpg(pid, signal.SIGHUP),
            129,
            "terminal or session was",
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["Ctrl-C", "SIGTERM", "closed terminal"],
)
def test_signals_reach_the_command_and_the_card_is_written_all_the_same(
    homes: Callable[[], Home], send: Callable[[int], None], code: int, says: str
) -> None:
    home = homes()
    # Tests may run under `nohup`, and what is ignored here is ignored by their programs.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = begin_command(home, *run_of(home, sys.executable, SCRIPT, "wait"))
    signal.signal(signal.SIGHUP, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    send(process.pid)
    finished = ended(home, process)
    home.quiet()

    assert finished.code == code
    assert card_in(home).state == "aborted"
    assert says in card_in(home).headline
    assert recording_in(home).state == "aborted"
    assert home.left_over() == []


@pytest.mark.nightly
def test_a_closed_terminal_ends_no_command_that_ignores_it(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    process = begin_command(home, *run_of(home, sys.executable, SCRIPT, "wait"))
    signal.signal(signal.SIGHUP, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    os.killpg(process.pid, signal.SIGHUP)
    os.kill(process.pid, signal.SIGTERM)
    finished = ended(home, process)
    home.quiet()

    assert finished.code == 143
    assert "ended by SIGTERM" in card_in(home).headline
    assert not recording_in(home).events["detail"].str.contains("SIGHUP").any()


def test_a_run_that_must_be_recorded_does_not_begin(homes: Callable[[], Home]) -> None:
    home = homes()
    words = ["blackbox", "run", "--store", "/proc/nowhere", "--required", "--"]
    finished = ended(home, begin_command(home, *words, "/bin/echo", "I ran"))

    assert finished.code not in (0, None)
    assert finished.output == ""
    assert "/proc/nowhere" in finished.errors
    assert "Traceback" not in finished.errors


_FREED_AT_THE_END = """
import asyncio, sys

class Held:
    def __del__(self):
        print("Held was freed", file=sys.stderr)

async def feed():
    raise IndexError("nobody awaits this")

async def main():
    held = Held()
    task = asyncio.create_task(feed(), name="feed")
    await asyncio.sleep(0)
    raise TimeoutError("no orders")

asyncio.run(main())
"""


def test_what_the_last_exception_holds_is_freed_at_the_end_and_prints_as_without_us(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    script = home.folder / "freed.py"
    script.write_text(_FREED_AT_THE_END)
    words = [sys.executable, str(script)]

    plain = subprocess.run(words, capture_output=True, text=True, check=False)
    run = ended(home, begin_command(home, *run_of(home, *words)))

    lines = [each for each in plain.stderr.splitlines() if not each.startswith(" ")]
    assert "Held was freed" in lines
    assert "Task exception was never retrieved" in lines
    assert [each for each in lines if each not in run.errors] == []


def test_a_store_that_does_not_work_changes_nothing_for_the_command(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    words = ["blackbox", "run", "--store", "/proc/nowhere", "--card", "card.json"]
    finished = ended(home, begin_command(home, *words, "--", "/bin/echo", "I ran"))
    card = msgspec.json.decode((home.folder / "card.json").read_bytes(), type=RunCard)

    assert (finished.code, finished.output) == (0, "I ran\n")
    assert card.completeness["recorded"] is False


def printed_in_a_command(code: str) -> subprocess.CompletedProcess[str]:
    """Run code as a Python process of a command whose recorder is gone."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=command.environment_for("/nowhere", "recording-1"),
        capture_output=True,
        text=True,
        check=True,
    )


def test_dask_logs_nothing_on_our_preload() -> None:
    done = printed_in_a_command(
        "import dask, distributed; from distributed import preloading as p; "
        "named = dask.config.get('distributed.client.preload'); "
        "p.process_preloads(None, named, []); p.process_preloads(None, named, []); "
        "p.process_preloads(None, [p.__file__], [])"
    )

    assert "dask_blackbox" not in done.stderr
    assert "Creating preload" in done.stderr  # of others


def test_python_processes_of_a_command_start_as_quickly_as_others() -> None:
    named = "import sys; print(*sys.modules)"
    bare = subprocess.run(
        [sys.executable, "-c", named], capture_output=True, text=True, check=True
    )

    added = set(printed_in_a_command(named).stdout.split()) - set(bare.stdout.split())

    assert added <= {
        "__future__",
        "_warnings",
        "atexit",
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "importlib.machinery",
        "sitecustomize",
        "warnings",
    }


def test_a_cluster_that_closes_need_not_wait_for_the_next_pull(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    words = run_of(home, sys.executable, SCRIPT, "fine")
    ended(home, begin_command(home, *words, DASK_BLACKBOX__CAPTURE__INTERVAL="1h"))

    assert card_in(home).completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert len(details(recording_in(home), "scheduler-closing")) == 1


def _kept(lines: list[str]) -> list[str]:
    kept = KeptLines()
    for number, line in enumerate(lines):
        kept.add(float(number), line)
    return [text for _, text in kept.lines()]


def test_few_lines_of_a_command_are_all_kept() -> None:
    few = [f"line {number}" for number in range(500)]

    assert _kept(few) == few


def test_of_many_lines_the_first_and_the_last_and_those_of_a_failed_thread_are_kept() -> (
    None
):
    failure = [
        "Exception in thread publisher:",
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 43, in parse',
        "ValueError: could not convert string to float: '1,07'",
    ]
    before, after = ([f"line {number}" for number in range(2_000)] for _ in range(2))

    assert _kept([*before, *failure, *after]) == [
        *before[:100],
        "dask-blackbox: 1,900 lines are left out here",
        *failure,
        "dask-blackbox: 1,600 lines are left out here",
        *after[-400:],
    ]
