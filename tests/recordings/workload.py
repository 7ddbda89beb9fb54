"""Workloads: jobs reported on real clusters, and what must and may be found of them.

The modules `healthy_*.py` and `with_findings.py` hold them; `healthy.py` and `with_findings.py` are
commands that run them all, or those that are named, and print what was found:

    python tests/recordings/healthy.py [NAME …] [--set N] [--store FOLDER] [--diagnose-only]

Those that need the same cluster are reported one after the other on one, as jobs share
long-lived clusters.  With `--diagnose-only`, nothing is run; existing recordings are diagnosed again.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import dask
from dask_blackbox.analyse.case import Case
from dask_blackbox.finding import Finding
from dask_blackbox.reader import Run
from distributed import Client, LocalCluster
from staging import Stage
from starting import processes
from workload_list import HEALTHY, Workload

__all__ = [
    "all_healthy",
    "all_workloads",
    "judged",
    "main",
    "newest",
    "with_fixed",
]

_TWO = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GiB"}
_PATIENCE = 1200
_TOGETHER = 8
_LONGEST = 150
_FIXED = "-fixed"


@contextmanager
def _client(workload: Workload) -> Iterator[Client]:
    if "processes_of" in workload.cluster:
        options = {**workload.cluster}
        words = options.pop("processes_of")
        here = {"PYTHONPATH": str(Path(__file__).parent)}
        with (
            processes(options.get("n_workers", 2), *words, environment=here) as started,
            Client(started.address) as client,
        ):
            client.wait_for_workers(options.get("n_workers", 2), timeout=60)
            yield client
        return
    cluster = {**_TWO, **workload.cluster}
    with (
        LocalCluster(dashboard_address=None, **cluster) as local,
        Client(local) as client,
    ):
        yield client


def _run(names: Sequence[str], workloads: Mapping[str, Workload], store: str) -> None:
    """Run workloads in this process, on one cluster, each recorded."""
    from dask_blackbox.driver import recording

    data, first = Path(store) / "data", workloads[names[0]]
    if first.whole:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            first.run(Stage(names[0], str(Path(store).absolute()), Path(folder)))
        return
    with dask.config.set(dict(first.settings)), _client(first) as client:
        reported = [(name, night) for name in names for night in workloads[name].nights]
        for name, night in reported:
            _prepare(workloads[name], data)
            run_id = _fresh(store, name)
            try:
                with recording(
                    client, store=store, job=name, run_id=run_id, parameters=night
                ):
                    workloads[name].run(client, data, **night)
            except Exception:  # noqa: BLE001 - the others shall be reported all the same
                traceback.print_exc()


def _prepare(workload: Workload, data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    if workload.needs is not None:
        workload.needs(data)
    for written in data.glob("out-*"):
        shutil.rmtree(written)


def _fresh(store: str, name: str) -> str:
    return f"{name}-{len(list(Path(store).glob(f'runs/job={name}/*'))) + 1}"


def newest(store: str, name: str, number: int) -> list[Run]:
    """Return the newest recordings of a job in a folder."""
    found = sorted(
        Path(store).glob(f"runs/job={name}/*/*/run.json"),
        key=lambda path: path.stat().st_mtime,
    )
    return [Run.open(each.parent) for each in found[-number:]]


def judged(
    workload: Workload, findings: tuple[Finding, ...]
) -> tuple[str, Counter[str]]:
    """Return what is wrong with the findings of a run, or nothing."""
    found = Counter(finding.rule for finding in findings)
    wrong = [rule for rule in found if rule not in {*workload.must, *workload.may}]
    missing = [rule for rule in workload.must if rule not in found]
    sentences = [f"false: {', '.join(wrong)}"] if wrong else []
    sentences += [f"missing: {', '.join(missing)}"] if missing else []
    return "; ".join(sentences), found


def all_healthy() -> Mapping[str, Workload]:
    """Return the healthy workloads, which the modules `healthy_*` put into a list."""
    for module in sorted(Path(__file__).parent.glob("healthy_*.py")):
        importlib.import_module(module.stem)
    return HEALTHY


def all_workloads() -> dict[str, Mapping[str, Workload]]:
    """Return all workloads, by the archive that keeps them and by name."""
    found: dict[str, dict[str, Workload]] = {}
    for name, each in all_healthy().items():
        found.setdefault(f"healthy_{each.set:02d}", {})[name] = each
    others = importlib.import_module("with_findings").WITH_FINDINGS
    return {**dict(sorted(found.items())), "with_findings": others}


def with_fixed(workloads: Mapping[str, Workload]) -> dict[str, Workload]:
    """Return workloads, each followed by itself as it is when fixed."""
    found: dict[str, Workload] = {}
    for name, each in workloads.items():
        found[name] = each
        if each.fixed is not None or each.elsewhere is not None:
            found[f"{name}{_FIXED}"] = each._replace(
                run=each.fixed or each.run,
                cluster=each.cluster if each.elsewhere is None else each.elsewhere,
                must=(),
                fixed=None,
                elsewhere=None,
            )
    return found


def _print_savings(workloads: Mapping[str, Workload], store: str) -> None:
    """Print what findings say that they cost, beside what it saved to fix it."""
    for name, each in workloads.items():
        before, after = newest(store, name, 1), newest(store, name + _FIXED, 1)
        costs = [
            f.cost.amount
            for run in before
            for f in run.card().findings
            if f.rule in each.must and f.cost is not None
        ]
        if costs and after:
            was, now = (Case(run).loads.all_capacity for run in (*before, *after))
            print(
                f"{name:32}{each.must[0]:22}said {costs[0]:7.1f} core-seconds, "
                f"fixing it saved {was - now:7.1f} of {was:7.1f}"
            )


def main(file: str, workloads: Mapping[str, Workload]) -> int:
    """Run the workloads that are asked for, or all, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--store", default=tempfile.gettempdir() + "/workloads")
    parser.add_argument(
        "--diagnose-only", action="store_true", help="what is recorded already"
    )
    parser.add_argument("--set", type=int, metavar="N")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        _run(asked.run, workloads, asked.store)
        return 0
    wanted = [
        name
        for name in asked.names or workloads
        if asked.set in {None, workloads[name].set}
    ]
    names = [name for name in wanted if not workloads[name].missing]
    for name in set(wanted) - set(names):
        print(f"{name} cannot be recorded here: it needs {workloads[name].missing}")
    for group in () if asked.diagnose_only else _groups(names, workloads):
        begun = time.monotonic()
        error = _apart(file, group, asked.store)
        took = time.monotonic() - begun
        print(f"{took:4.0f} s for {' '.join(group)}  {error}", flush=True)
    wrong = _judge(names, workloads, asked.store)
    _print_savings({name: workloads[name] for name in names}, asked.store)
    return wrong


def _groups(
    names: Sequence[str], workloads: Mapping[str, Workload]
) -> Iterator[list[str]]:
    """Return the workloads that share a cluster, together."""
    alike: dict[str, list[str]] = {}
    for name in names:
        each = workloads[name]
        if each.alone or each.whole:
            yield [name]
        else:
            alike.setdefault(f"{each.cluster}{each.settings}", []).append(name)
    for group in alike.values():
        yield from (group[n : n + _TOGETHER] for n in range(0, len(group), _TOGETHER))


def _judge(names: Sequence[str], workloads: Mapping[str, Workload], store: str) -> int:
    """Say what is found in the newest recording of each workload."""
    wrong, fired = 0, Counter[str]()
    for name in names:
        runs = newest(store, name, len(workloads[name].nights))
        findings = tuple(finding for run in runs for finding in run.card().findings)
        problem, found = judged(workloads[name], findings)
        problem = problem if runs else "not recorded"
        wrong, fired = wrong + bool(problem), fired + found
        print(f"{'WRONG' if problem else 'right':6}{name:36}{problem}")
        for each in findings:
            print(f"        {each.rule}: {each.title}"[:_LONGEST], flush=True)
    print(f"\n{len(names) - wrong} of {len(names)} right. Findings, by rule:")
    for rule, number in sorted(fired.items()):
        print(f"  {rule:28}{number:4}")
    return 1 if wrong else 0


def _apart(file: str, names: Sequence[str], store: str) -> str:
    """Run workloads in a process of its own; return what went wrong, or nothing."""
    command = [sys.executable, file, "--store", store, "--run", *names]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {_PATIENCE} s"
    return done.stderr[-800:] if "Traceback" in done.stderr else ""
