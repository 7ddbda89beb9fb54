"""Run a job that fails in many ways on many clusters, and look whether the diagnosis holds.

    python tests/recordings/combinations/run.py --store FOLDER [--seed N] [--only PARTS…]
    python tests/recordings/combinations/run.py --store FOLDER --judge     # current rules
    python tests/recordings/combinations/run.py --list

Each combination has a fault, a cluster, a driver (how it waits and what it does with errors) and
what happened before.  The set covers each pair of a fault with each of the others at least once;
`--seed` chooses another set.  What must be reported depends on the fault alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_HERE = Path(__file__).parent

CLUSTERS = (
    "local",
    "two-threads",
    "in-process",
    "subprocesses",
    "commands",
    "no-nanny",
)
DRIVERS = (
    "gather",
    "delayed",
    "pytest",
    "counted",
    "budget",
    "reraised",
    "code",
    "again",
    "complete",
    "async",
    "async-counted",
    "attempts",
    "report",
    "threads",
    "consumer",
    "group",
    "skipped",
    "callbacks",
    "command",
    "left",
    "summary",
    "alarm",
    "executor",
    "child",
    "bag",
)
BEFORE = (
    "nothing",
    "handled",
    "restarted",
    "retired",
    "recovered",
    "beside",
    "earlier-cluster",
)
_NANNIES = ("local", "two-threads", "subprocesses", "commands")
_OWN = ("local", "two-threads", "subprocesses", "commands", "no-nanny")
_COMMANDS = ("commands", "no-nanny")


class Fault(NamedTuple):
    """What goes wrong, and what must be reported of it.

    Attributes:
        slugs: Verdicts that are right.
        names: Patterns, each of which headline, title, cause or evidence must contain.
        clusters: Where it can happen.
        drivers: Whose driver can meet it; none: it fails before the driver waits.
        before: What can have happened before.
    """

    slugs: tuple[str, ...]
    names: tuple[str, ...]
    clusters: tuple[str, ...] = CLUSTERS
    drivers: tuple[str, ...] = DRIVERS
    before: tuple[str, ...] = BEFORE


_SYNC = tuple(each for each in DRIVERS if not each.startswith("async"))
_FUTURES = tuple(each for each in _SYNC if each not in ("delayed", "bag", "executor"))
_START = {"drivers": ("gather",), "before": ("nothing", "earlier-cluster")}

FAULTS: Mapping[str, Fault] = {
    "exception": Fault(("task-exception",), ("negative volume", "level_negative")),
    "all-exceptions": Fault(("task-exception",), ("density table", "level_all_neg")),
    "missing-file": Fault(("task-exception",), (r"tank_3\.csv", "level_without_file")),
    "memory-error": Fault(("task-memory-error",), ("level_too_large",)),
    "memory-limit": Fault(("worker-memory-limit",), ("level_growing",), _NANNIES),
    "segfault": Fault(("worker-segfault",), ("level_native",), _OWN),
    "abort": Fault(("worker-abort",), ("level_abort",), _OWN),
    "exit": Fault(("worker-exit",), ("level_exit", r"\b5\b"), _OWN),
    "frozen": Fault(("worker-heartbeat-timeout", "stalled"), ("level_frozen",), _NANNIES),
    "sigkill": Fault(("worker-signalled",), ("SIGKILL", "level_slow"), _OWN),
    "sigterm": Fault(("worker-signalled", "worker-preempted"), ("SIGTERM",), _OWN),
    "scheduler-killed": Fault(("scheduler-lost",), ("SIGKILL|killed",), _COMMANDS),
    "cancelled": Fault(("cancelled",), ("cancel",), drivers=_FUTURES),
    "event": Fault(("stalled",), ("valve_closed", "level_after_event")),
    "lock": Fault(("stalled",), ("gauge_port", "level_with_lock")),
    "resource": Fault(("no-valid-worker",), ("GPU",), drivers=_FUTURES),
    "result": Fault(
        ("result-not-serializable",), ("level_handle", "lock"), _OWN
    ),
    "argument": Fault(("graph-not-serializable",), ("lock",), _OWN),
    "setstate": Fault(
        ("graph-not-deserializable", "task-exception", "environment-mismatch"), ("gauge 3",), _OWN, _FUTURES
    ),
    "module": Fault(("environment-mismatch", "module-not-shipped"), ("strapping",), _COMMANDS),
    "variable": Fault(("task-exception", "environment-mismatch"), ("GAUGE_TOKEN",), _COMMANDS),
    "scattered": Fault(
        ("data-lost", "worker-signalled"), ("SIGKILL|killed|scatter",), _OWN, _FUTURES
    ),
    "driver-bug": Fault(
        ("driver-exception",), ("south",), drivers=tuple(d for d in DRIVERS if d != "command")
    ),
    "program": Fault(("task-exception",), ("calibration lapsed|status 1", "level_program")),
    "silent": Fault(("stalled",), ("level_silent",)),
    "nested": Fault(("nested-client-deadlock", "stalled"), ("level_nested",)),
    "sysexit": Fault(("worker-exit", "task-exception"), ("level_sysexit",)),
    "fault": Fault(("task-exception", "result-not-serializable"), ("no echo|GaugeFault", "level_fault")),
    "typed": Fault(("task-exception",), ("level_typed", "str|TypeError")),
    "recursive": Fault(("task-exception",), ("level_recursive", "recursion")),
    "lifetime": Fault(("worker-lifetime",), ("lifetime",), _COMMANDS),
    "plugin": Fault(("worker-start-failed", "driver-exception", "task-exception"), ("licence file lapsed",)),
    "preload": Fault(("worker-start-failed",), ("licence server",), _COMMANDS, **_START),
    "option": Fault(("worker-start-failed",), ("nprocs|extra argument",), _COMMANDS, **_START),
    "address": Fault(
        ("workers-never-arrived", "cannot-connect", "worker-start-failed"),
        (r"127\.0\.0\.1:9\b",),
        _COMMANDS,
        **_START,
    ),
}  # fmt: skip


class Parts(NamedTuple):
    """One combination."""

    fault: str
    cluster: str
    driver: str
    before: str

    @property
    def possible(self) -> bool:
        fault = FAULTS[self.fault]
        if self.before == "recovered" and self.cluster not in _NANNIES:
            return False  # a worker that falls is not started again
        if self.before == "restarted" and self.cluster not in _NANNIES:
            return False  # Client.restart needs nannies
        if self.before == "retired" and (
            self.cluster == "in-process" or self.fault == "scattered"
        ):
            return False  # one worker at least must be there
        if self.driver == "pytest" and self.cluster in _COMMANDS:
            return False  # their workers cannot import the test's module
        return (
            self.cluster in fault.clusters
            and self.driver in fault.drivers
            and self.before in fault.before
        )

    @property
    def env(self) -> dict[str, str]:
        deaths = "1" if self.before == "recovered" else "0"
        env = {
            "PARTS": ",".join(self),
            "GAUGE_TOKEN": "known",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": deaths,
        }
        if self.fault == "frozen":
            env["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "6 s"
        return env


def covering(seed: int) -> list[Parts]:
    """Return combinations in which each possible pair of a fault and another part occurs."""
    random_ = random.Random(seed)
    every = [
        parts
        for parts in itertools.starmap(
            Parts, itertools.product(FAULTS, CLUSTERS, DRIVERS, BEFORE)
        )
        if parts.possible
    ]
    random_.shuffle(every)
    chosen: list[Parts] = []
    covered: set[tuple[str, str]] = set()
    for wanted in (3, 2, 1):
        for parts in every:
            pairs = {(parts.fault, f"{n}{part}") for n, part in enumerate(parts[1:])}
            if len(pairs - covered) >= wanted:
                chosen.append(parts)
                covered |= pairs
    return sorted(chosen)


def _scripts() -> ModuleType:
    """Return the module that runs held-out scripts, for how it records one."""
    sys.path.insert(0, str(_HERE.parent))
    spec = importlib.util.spec_from_file_location(
        "script_runner", _HERE.parent / "scripts/run.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["script_runner"] = module
    spec.loader.exec_module(module)
    return module


def _case(scripts: ModuleType, parts: Parts) -> object:
    fault = FAULTS[parts.fault]
    test = parts.driver == "pytest"
    return scripts.Case(
        text=",".join(parts),
        slugs=fault.slugs,
        names=fault.names,
        state=("failed", "aborted"),
        argv=("python", "-m", "pytest", "-x", "{file}")
        if test
        else ("python", "{file}"),
        rename="test_tank_farm.py" if test else "tank_farm.py",
        env=parts.env,
        bound=40.0,
    )


def _name(parts: Parts) -> str:
    return "-".join(parts)


def _record(scripts: ModuleType, store: Path, parts: Parts) -> None:
    """Record a combination, unless the store has it."""
    place = store / _name(parts)
    if (place / "done.json").exists():
        return
    case = _case(scripts, parts)
    done = scripts.run_case("../combinations/job", case, place, bare=False)
    print(_name(parts), done, flush=True)


def _judged(scripts: ModuleType, store: Path, chosen: Sequence[Parts]) -> Iterator[Any]:
    for parts in chosen:
        case = _case(scripts, parts)
        yield scripts.judge(_name(parts), case, store / _name(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="at once")
    parser.add_argument("--only", nargs="*", default=[], help="words of combinations")
    parser.add_argument("--judge", action="store_true", help="with the current rules")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path, help="JSON of the results")
    args = parser.parse_args()
    chosen = [
        parts
        for parts in covering(args.seed)
        if not args.only or any(re.search(each, _name(parts)) for each in args.only)
    ]
    if args.list:
        print(*map(_name, chosen), len(chosen), sep="\n")
        return
    scripts = _scripts()
    if not args.judge:
        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(lambda parts: _record(scripts, args.store, parts), chosen))
    results = list(_judged(scripts, args.store, chosen))
    for each in results:
        if each.kind != "right":
            print(
                f"{each.kind:8} {each.name}\n    {each.problem}\n    {each.slug} {each.confidence}: {each.headline}"
            )
    print(Counter(each.kind for each in results))
    if args.out:
        args.out.write_text(json.dumps([each._asdict() for each in results], indent=1))


if __name__ == "__main__":
    main()
