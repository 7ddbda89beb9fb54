"""One row of the kill matrix: start it, kill somebody, and look at what was recorded.

Real processes, real signals.  What was said for certain before the death stands in files
that the tasks write themselves; what was recorded is compared with that.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask_blackbox import Run
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from flying import Home, begin, ended, until

__all__ = ["Row", "Seen", "kill_and_look"]

_SAID = re.compile(r"^said (\S+) (\d+)$")
_EXTERNAL = ("commands", "--no-nanny", "--nworkers", "dask spec", "--lifetime")
_LIMIT = "320MiB"
_STOPPED = ("SIGSTOP",)


@dataclass(frozen=True)
class Row:
    """One line of the matrix: who ends, how, on which cluster; and what must be seen.

    Attributes:
        what: Who is killed; `nobody` for what ends well.
        how: By what: a signal, the ending of a task, or something that Dask does.
        cluster: How the cluster was started.
        state: Of the run, at its end.
        verdict: Slug; None for a run that needs none.
        cause: Slug of what the victim died of; None if nobody died.
        code: The exit code on the certificate; None: nobody can know.
        certified: Whether somebody testifies to the death.
        stack: A function that Python's stack on the certificate names.
        words: Something that the verdict says.
    """

    what: str
    how: str
    cluster: str
    state: str
    verdict: str | None = None
    cause: str | None = None
    code: int | None = None
    certified: bool = True
    stack: str | None = None
    words: str = ""

    def __str__(self) -> str:
        return f"{self.what} · {self.how} · {self.cluster}"


@dataclass
class Seen:
    """What was seen of a row.

    Attributes:
        wrong: Sentences on what is not as it must be.
        facts: The columns, for people.
    """

    wrong: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def expect(self, name: str, seen: Any, expected: Any) -> None:
        """Note a fact, and whether it is what it must be."""
        self.facts[name] = seen
        if seen != expected:
            self.wrong.append(f"{name}: {seen!r}, not {expected!r}")


def kill_and_look(row: Row, home: Home, *, patience: float = 120.0) -> Seen:
    """Fly a row in a home of its own, and return what was seen."""
    with contextlib.ExitStack() as ends:
        address = None
        if row.cluster in _EXTERNAL:
            address = ends.enter_context(_cluster(row, home))
        store = str(home.folder / "store")
        work = _work_of(row)
        words = [store, row.cluster, work, *([address] if address else [])]
        process = begin(home, "kills.py", *words, **_environment(row))
        told, moment = _kill(row, home, address)
        flight = None
        if row.what == "everything":
            process.communicate()
        else:
            flight = ended(home, process, patience=patience)
        (home.folder / "release").touch()
        _wait_for_the_recorder(home, told["recording"])
        seen = _look(row, home, told, moment)
        if flight is not None and row.what != "driver":
            seen.expect("card's state", flight.told["card"]["state"], row.state)
    _look_at_what_is_left(row, home, seen)
    return seen


# Before


def _environment(row: Row) -> dict[str, str]:
    variables = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    if row.how == "SIGSTOP":
        variables["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "2s"
    return variables


def _work_of(row: Row) -> str:
    if row.what == "task":
        return f"die {row.how}"
    if row.what == "nobody":
        return row.how
    own = {"an exception": "raise_", "sys.exit(3)": "exit_3", "idle timeout": "idle"}
    return own.get(row.how, "chat")


@contextlib.contextmanager
def _cluster(row: Row, home: Home) -> Iterator[str]:
    """Start `dask scheduler` and workers as processes that don't hang on the driver."""
    environment = home.environment() | _environment(row)
    logs = home.folder / "logs"
    logs.mkdir(exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *command: str) -> None:
        with (logs / name).open("wb") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, *command],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=home.folder,
                    start_new_session=True,
                )
            )

    file = home.folder / "scheduler.json"
    idle = ["--idle-timeout", "4s"] if row.how == "idle timeout" else []
    start(
        "scheduler", "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0",
        "--no-dashboard", "--scheduler-file", str(file), *idle,
    )  # fmt: skip
    try:
        until(file.exists, "the scheduler's file")
        address = until(lambda: _address_in(file), "the scheduler")
        for i, command in enumerate(_workers(row, address, str(home.temporary))):
            start(f"worker-{i}", *command)
        yield address
    finally:
        for each in started:
            _end(each)


def _address_in(file: Path) -> str | None:
    try:
        return str(json.loads(file.read_text())["address"])
    except (OSError, ValueError, KeyError):
        return None


def _workers(row: Row, address: str, folder: str) -> Iterator[list[str]]:
    if row.cluster == "dask spec":
        options = {
            "nthreads": 1,
            "memory_limit": _LIMIT,
            "local_directory": folder,
        }
        spec = {"cls": "distributed.Nanny", "opts": options}
        for _ in range(2):
            yield ["-m", "dask", "spec", address, "--spec", json.dumps(spec)]
        return
    more = {
        "commands": [],
        "--no-nanny": ["--no-nanny"],
        "--nworkers": ["--nworkers", "2"],
        "--lifetime": ["--lifetime", "6s"],
    }[row.cluster]
    threads = "2" if row.cluster == "--nworkers" else "1"
    for i in range(1 if row.cluster == "--nworkers" else 2):
        # Both ways in which people start one.
        module = (
            ["-m", "dask", "worker"] if i else ["-m", "distributed.cli.dask_worker"]
        )
        yield [
            *module, address, "--host", "127.0.0.1", "--nthreads", threads,
            "--no-dashboard", "--memory-limit", _LIMIT, "--local-directory", folder,
            *more,
        ]  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGCONT, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# The deed


def _kill(row: Row, home: Home, address: str | None) -> tuple[dict[str, Any], float]:
    """Wait until all are at work, and some; then do it.  Return who was who, and when."""
    until(lambda: "links" in _told(home), "the recording's beginning")
    if row.what in ("task", "nobody") or row.how in ("an exception", "sys.exit(3)"):
        return _told(home), time.time()
    if row.how == "idle timeout":
        return _told(home), time.time()
    expected = 4 if row.cluster == "--nworkers" else 2
    until(lambda: len(_truth(home)) >= expected, "tasks at work")
    time.sleep(random.uniform(0, 3))
    told = _told(home)
    moment = time.time()
    _DEEDS.get(row.what, _signal_them)(row, home, told, address)
    return told, moment


def _signal_them(
    row: Row, home: Home, told: dict[str, Any], address: str | None
) -> None:
    if row.how == "client.shutdown":
        code = f"from distributed import Client; Client({address!r}).shutdown()"
        subprocess.run(
            [sys.executable, "-c", code], env=home.environment(), check=True,
            capture_output=True, timeout=60,
        )  # fmt: skip
        return
    number = signal.Signals[row.how]
    worker = min(told["workers"])
    pid = {
        "worker": told["workers"][worker],
        "nanny": told["nannies"].get(worker),
        "scheduler": told["scheduler"],
        "driver": told["driver"],
        "recorder": told["recorder"],
    }[row.what]
    os.kill(pid, number)


def _group(row: Row, home: Home, told: dict[str, Any], address: str | None) -> None:
    leader = told["driver"]
    if row.what == "nanny and worker":
        leader = told["nannies"][min(told["workers"])]
        if os.getpgid(leader) == os.getpgid(
            told["driver"]
        ):  # a cluster of the driver's
            os.kill(leader, signal.SIGKILL)
            os.kill(told["workers"][min(told["workers"])], signal.SIGKILL)
            return
    os.killpg(os.getpgid(leader), signal.Signals[row.how])


def _twice(row: Row, home: Home, told: dict[str, Any], address: str | None) -> None:
    os.kill(told["recorder"], signal.SIGKILL)
    another = until(lambda: _recorders(home) - {told["recorder"]}, "another recorder")
    until(lambda: _spool_has_two_writers(home), "its first segment")
    for pid in another:
        os.kill(pid, signal.SIGKILL)
    (home.folder / "release").touch()


def _once(row: Row, home: Home, told: dict[str, Any], address: str | None) -> None:
    os.kill(told["recorder"], signal.SIGKILL)
    until(lambda: _recorders(home) - {told["recorder"]}, "another recorder")
    time.sleep(random.uniform(0, 2))
    (home.folder / "release").touch()


def _everything(
    row: Row, home: Home, told: dict[str, Any], address: str | None
) -> None:
    victims = home.processes()
    for pid in victims:  # stopped first: nobody sees another one die
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    home.clear()


_DEEDS = {
    "driver's group": _group,
    "nanny and worker": _group,
    "recorder": _once,
    "recorder twice": _twice,
    "everything": _everything,
}


def _recorders(home: Home) -> set[int]:
    return {pid for pid, c in home.processes().items() if "dask_blackbox.record" in c}


def _spool_has_two_writers(home: Home) -> bool:
    found = home.temporary.glob("dask-blackbox-*/spool/*/segments/*.seg")
    return len({each.name.partition("-")[0] for each in found}) > 1


def _told(home: Home) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((home.folder / "told.json").read_text())
    except (OSError, ValueError):
        return {}
    return told


def _truth(home: Home) -> dict[str, list[tuple[float, int]]]:
    """Return what was said for certain: (when, number), by who said it."""
    found = {}
    for path in (home.folder / "truth").glob("*"):
        lines = [line.split() for line in path.read_text().splitlines()]
        if lines:
            found[path.name] = [(float(at), int(number)) for at, number in lines]
    return found


# Afterwards


def _wait_for_the_recorder(home: Home, recording: str) -> None:
    until(lambda: not _recorders(home), "the recorder's end")


def _look(row: Row, home: Home, told: dict[str, Any], moment: float) -> Seen:
    run = Run.open(told["links"]["recording"])
    seen = Seen()
    if row.what == "recorder twice":
        return _look_at_a_given_up(home, seen)
    if row.what == "everything":
        _look_at_a_lost(run, home, seen, moment)
    case = Case(run)
    card = run.card()
    seen.expect("state", card.state, row.state)
    verdict = card.verdict
    seen.expect("verdict", verdict.rule if verdict else None, row.verdict)
    seen.facts["headline"] = card.headline
    if row.words:
        said = f"{verdict.title} {verdict.cause}" if verdict else card.headline
        seen.expect(f"says {row.words!r}", row.words in said, expected=True)
        seen.facts["said"] = said
    deaths = [f"{case.cause_of(d).slug} {d.exit_code}" for d in case.deaths]
    seen.facts["deaths"] = deaths
    _look_at_lines(row, home, run, seen, moment)
    if row.cause is None:
        seen.expect("deaths", deaths, [])
    elif not case.deaths:
        seen.expect("deaths", deaths, [row.cause])
    else:
        _look_at_the_death(row, home, case, case.deaths[0], seen)
    return seen


def _look_at_the_death(
    row: Row, home: Home, case: Case, death: Death, seen: Seen
) -> None:
    cause = case.cause_of(death)
    seen.expect("cause", cause.slug, row.cause)
    seen.facts["because"] = cause.because
    seen.expect("certified", death.certified, row.certified)
    seen.expect("code", death.exit_code, row.code)
    key = "chatter"
    seen.expect("executing", any(key in k for k in death.at_work_on), expected=True)
    if row.certified:
        seen.expect("executing for sure", bool(death.executing), expected=True)
        seen.expect("memory", len(death.memory) > 1, expected=True)
        seen.expect("last words", bool(death.last_lines), expected=True)
    if row.stack:
        seen.expect(
            f"stack in {row.stack}", f"in {row.stack}" in death.stack, expected=True
        )


def _look_at_lines(row: Row, home: Home, run: Run, seen: Seen, moment: float) -> None:
    """Compare what was said with what was recorded, by who said it."""
    recorded: dict[str, set[int]] = {}
    for message in run.logs["message"].to_list():
        if found := _SAID.match(message):
            recorded.setdefault(found[1], set()).add(int(found[2]))
    lost, behind = 0, 0.0
    lives = run.workers.iter_rows(named=True)
    dead = {str(life["pid"]) for life in lives if life["exit_code"] is not None}
    over = _told(home).get("over", moment)
    at_once = row.what in ("scheduler", "everything", "driver", "driver's group")
    if at_once:
        over = min(over, moment)
    for who, lines in _truth(home).items():
        gone = [(at, n) for at, n in lines if n not in recorded.get(who, set())]
        if who.partition("-")[0] in dead and not at_once:
            lost += len(gone)
            continue
        # What was said after the end of what records is nobody's to keep.
        gone = [(at, n) for at, n in gone if at <= over]
        if gone and at_once:
            behind = max(behind, moment - gone[0][0])
        else:
            lost += len(gone)
    seen.facts["behind"] = round(behind, 2)
    limit = 10.0 if row.what == "everything" else 1.5
    if behind > limit:
        seen.wrong.append(f"the recording is {behind:.1f} s behind")
    seen.expect("lines lost", lost, 0)


def _look_at_a_given_up(home: Home, seen: Seen) -> Seen:
    card = _told(home)["card"]
    seen.expect("card's state", card["state"], "succeeded")
    told = card["completeness"]
    seen.expect("recorded", told["recorded"], expected=False)
    reason = str(told.get("reason"))
    seen.expect("says so", "died twice" in reason, expected=True)
    seen.expect("names the spool", str(home.temporary) in reason, expected=True)
    return seen


def _look_at_a_lost(run: Run, home: Home, seen: Seen, moment: float) -> None:
    until(lambda: run.state == "lost", "a stale heartbeat", patience=90)
    seen.expect("complete", run.completeness["complete"], expected=False)


def _look_at_what_is_left(row: Row, home: Home, seen: Seen) -> None:
    with contextlib.suppress(AssertionError):
        until(lambda: not home.processes(), "quiet", patience=20)
    seen.expect("processes left", sorted(home.processes().values()), [])
    home.clear()
    if row.what not in ("recorder twice", "everything"):
        seen.expect("files left", home.left_over(), [])
