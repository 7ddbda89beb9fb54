"""Runs on a real Slurm (`tests/support/slurm_cluster.py`), with dask-jobqueue in its environment.

Without Debian's packages `slurm-wlm` and `munge`, nothing here is tested, and says so.
"""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import slurm_cluster
from conditions import flag_of, scaled, until
from dask_blackbox.events import ManagerAsked, UnitState
from dask_blackbox.finding import Confidence, RetryAdvice
from dask_blackbox.managers.asking import MOST_CALLS
from dask_blackbox.reader import Run
from environments_with_core import python_with_core
from slurm_cluster import Slurm, slurm

ROOT = Path(__file__).parents[2]
NO_CGROUPS = slurm_cluster.missing_cgroups()
PACKAGES = ("dask-jobqueue==0.9.0",)
SCRIPT = ROOT / "tests" / "support" / "slurm_run.py"
ASKING = ("squeue", "scontrol", "sacct")
_MISSING = slurm_cluster.missing_programs()

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        bool(_MISSING), reason=f"NOT TESTED: Slurm (no {', '.join(_MISSING)})"
    ),
]


class Expected(NamedTuple):
    """What a run must be said to have failed for."""

    rule: str
    says: str
    retry: RetryAdvice
    confidence: Confidence = "high"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package and dask-jobqueue."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


@pytest.fixture(scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="module")
def cgroups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Give a Slurm that limits the memory of jobs by cgroups."""
    with slurm(tmp_path_factory.mktemp("cgroups"), cgroups=True) as running:
        yield running


@pytest.fixture
def cluster(_cluster: Slurm) -> Iterator[Slurm]:
    """Give a Slurm without jobs, all of whose nodes are there."""
    yield _cluster
    _cluster.end_jobs()


def command(python: Path, folder: Path, ending: str) -> list[str]:
    """Return the command that records a run."""
    run = (python.parent / "dask", "blackbox", "run", "--store", folder / "store")
    name = ("--job", "nightly", "--run-id", ending)
    return [*map(str, (*run, *name, "--", python, SCRIPT, folder, ending))]


def started(
    python: Path, cluster: Slurm, folder: Path, ending: str, path: str = ""
) -> subprocess.Popen[str]:
    """Start a run that is recorded; `path` replaces where its programs are found."""
    environ = cluster.environ | ({"PATH": path} if path else {})
    with (folder / "output").open("w") as output:
        return subprocess.Popen(
            command(python, folder, ending), env=environ, cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip


def recorded_by_itself(python: Path, cluster: Slurm, folder: Path, ending: str) -> Run:
    """Return the recording that the scheduler, which is in the driver's process, makes."""
    own = {
        "DISTRIBUTED__SCHEDULER__PRELOAD": "['dask_blackbox.preload']",
        "BLACKBOX__STORE__URL": str(folder / "store"),
        "BLACKBOX__JOB": "nightly",
    }
    environ = cluster.environ | {f"DASK_{name}": value for name, value in own.items()}
    with (folder / "output").open("w") as output:
        subprocess.run(
            [str(python), str(SCRIPT), str(folder), ending], env=environ, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            timeout=scaled(400), check=False,
        )  # fmt: skip
    complete = "store/runs/job=nightly/*/attempt=1/complete.json"
    [found] = until(
        lambda: [*folder.glob(complete)],
        "its recording",
        describe=(folder / "output").read_text,
    )
    return Run.open(str(found.parent))


def recorded(running: subprocess.Popen[str], folder: Path, ending: str) -> Run:
    """Return the recording of a run, once it is over."""
    running.wait(scaled(400))
    recording = folder / "store" / "runs" / "job=nightly" / f"run={ending}"
    return Run.open(str(recording / "attempt=1"))


def is_the_verdict(run: Run, expected: Expected) -> None:
    """Check what a run is said to have failed for."""
    found = run.findings()
    failures = [each for each in found if each.severity == "failure"]
    assert [each.rule for each in failures][:1] == [expected.rule], found
    verdict = failures[0]
    assert expected.says in verdict.title
    said = (verdict.confidence, verdict.retry_advice)
    assert said == (expected.confidence, expected.retry)


@pytest.mark.parametrize(
    "ending", ["close", "scale-down", "retire", "shutdown", "adaptive"]
)
def test_nothing_is_found_in_a_run_that_ends_its_workers(
    python: Path, cluster: Slurm, tmp_path: Path, ending: str
) -> None:
    run = recorded(started(python, cluster, tmp_path, ending), tmp_path, ending)

    assert run.state == "succeeded", (tmp_path / "output").read_text()
    assert run.findings() == ()


@pytest.mark.parametrize(
    "ending", ["close", "scale-down", "retire", "shutdown", "adaptive"]
)
def test_nothing_is_found_in_a_run_that_its_scheduler_records(
    python: Path, cluster: Slurm, tmp_path: Path, ending: str
) -> None:
    run = recorded_by_itself(python, cluster, tmp_path, ending)

    assert run.state == "succeeded", (tmp_path / "output").read_text()
    assert run.findings() == ()


def test_a_scheduler_that_records_has_slurm_say_why_workers_ended(
    python: Path, cluster: Slurm, tmp_path: Path
) -> None:
    run = recorded_by_itself(python, cluster, tmp_path, "time-limit")

    says = "at the time limit of 1 m 00 s of"
    # What ended the driver, its scheduler does not know.
    is_the_verdict(run, Expected("worker-time-limit", says, "environment", "medium"))


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (
            "time-limit",
            Expected(
                "worker-time-limit", "at the time limit of 1 m 00 s of", "environment"
            ),
        ),
        ("memory", Expected("worker-job-memory", "used too much memory, at", "memory")),
        (
            "partition-down",
            Expected("workers-pending", "(PartitionDown)", "environment"),
        ),
        ("too-much", Expected("workers-pending", "(PartitionConfig)", "environment")),
        (
            "interpreter",
            Expected("worker-start-failed", "Workers did not start: ", "environment"),
        ),
        (
            "module",
            Expected("worker-start-failed", "module: command not found", "environment"),
        ),
    ],
)
def test_what_slurm_says_is_the_verdict(
    python: Path, cluster: Slurm, tmp_path: Path, ending: str, expected: Expected
) -> None:
    run = recorded(started(python, cluster, tmp_path, ending), tmp_path, ending)

    is_the_verdict(run, expected)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("cancelled", Expected("worker-cancelled", "cancelled", "unknown")),
        ("preempted", Expected("worker-preempted", "preempted by Slurm", "transient")),
        (
            "node-failed",
            Expected("worker-node-failed", "because a node of Slurm job", "transient"),
        ),
    ],
)
def test_what_was_done_to_its_jobs_is_the_verdict(
    python: Path, cluster: Slurm, tmp_path: Path, ending: str, expected: Expected
) -> None:
    running = started(python, cluster, tmp_path, ending)
    flag_of(tmp_path / "started", describe=(tmp_path / "output").read_text)
    jobs = cluster.jobs("running")
    if ending == "cancelled":
        cluster.ask("scancel", *jobs)
    elif ending == "preempted":
        cluster.ask("sbatch", "--partition=urgent", *all_nodes(tmp_path))
    else:
        for node in {cluster.node_of(job) for job in jobs}:
            down = (f"nodename={node}", "state=down", "reason=test")
            cluster.ask("scontrol", "update", *down)

    is_the_verdict(recorded(running, tmp_path, ending), expected)


def test_two_drivers_are_told_of_their_own_jobs(
    python: Path, cluster: Slurm, tmp_path: Path
) -> None:
    ill, well = (tmp_path / name for name in ("ill", "well"))
    ill.mkdir()
    well.mkdir()
    first = started(python, cluster, ill, "cancelled")
    flag_of(ill / "started", describe=(ill / "output").read_text)
    jobs = {*cluster.jobs("running")}
    second = started(python, cluster, well, "scale-down")
    until(lambda: {*cluster.jobs("running")} - jobs, "a job of the other driver")
    cluster.ask("scancel", *jobs)

    failed = recorded(first, ill, "cancelled")
    is_the_verdict(failed, Expected("worker-cancelled", "cancelled", "unknown"))
    assert {each.subject for each in failed.of(UnitState)} == jobs
    good = recorded(second, well, "scale-down")
    assert good.state == "succeeded", (well / "output").read_text()
    assert good.findings() == ()


def test_a_driver_that_is_killed_is_the_verdict(
    python: Path, cluster: Slurm, tmp_path: Path
) -> None:
    started(python, cluster, tmp_path, "killed").wait(scaled(400))
    recording = tmp_path / "store" / "runs" / "job=nightly" / "run=killed" / "attempt=1"
    until((recording / "complete.json").exists, "the end of its recording")

    run = Run.open(str(recording))
    is_the_verdict(run, Expected("driver-killed", "by SIGKILL", "unknown"))
    # The scheduler's last rows are lost: it was in the driver's process.
    said = [each.rule for each in run.findings() if each.severity != "notice"]
    assert said == ["driver-killed"]


def test_a_full_cluster_is_the_verdict(
    python: Path, cluster: Slurm, tmp_path: Path
) -> None:
    cluster.ask("sbatch", *all_nodes(tmp_path))
    until(lambda: cluster.jobs("running"), "the other job")

    run = recorded(started(python, cluster, tmp_path, "full"), tmp_path, "full")

    is_the_verdict(run, Expected("workers-pending", "were pending (", "transient"))
    assert {"Resources", "Priority"} & {each.reason for each in run.of(UnitState)}


def test_the_time_limit_of_the_drivers_own_job_is_the_verdict(
    python: Path, cluster: Slurm, tmp_path: Path
) -> None:
    file = tmp_path / "job.sh"
    line = " ".join(command(python, tmp_path, "local"))
    file.write_text(f"#!/bin/sh\nexec {line}\n")
    options = ("--time=1", "--cpus-per-task=2", f"--output={tmp_path}/output")
    job = cluster.ask("sbatch", "--parsable", *options, str(file))
    until(lambda: job in cluster.jobs("timeout"), "its time limit", timeout=300)
    recording = tmp_path / "store" / "runs" / "job=nightly" / "run=local" / "attempt=1"
    until(
        lambda: Run.open(str(recording)).state != "running", "the end of its recording"
    )

    run = Run.open(str(recording))
    says = "Reached its --time of 1 m 00 s"
    expected = Expected("stopped-by-host", says, "environment")
    incomplete = any(each.rule == "recording-incomplete" for each in run.findings())
    if incomplete and run.findings()[0].confidence != "high":
        # Slurm ends all processes at once: the scheduler's last rows may not arrive, and
        # it may then be unknown how far the run was.
        expected = expected._replace(retry="unknown", confidence="medium")
    is_the_verdict(run, expected)


@pytest.mark.skipif(
    bool(NO_CGROUPS),
    reason=f"NOT TESTED: Slurm with cgroups (none of {', '.join(NO_CGROUPS)}, version 1)",
)
@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("close", None),
        # The kernel kills the worker, and the job continues with its nanny.
        (
            "memory",
            Expected("kernel-oom", "at the memory limit of 300 MiB of Slurm", "memory"),
        ),
        # The worker is all there is in the job.
        (
            "memory-without-nanny",
            Expected("worker-job-memory", "for its limit of 300 MiB", "memory"),
        ),
    ],
)
def test_a_job_that_is_limited_by_cgroups(
    python: Path,
    cgroups: Slurm,
    tmp_path: Path,
    ending: str,
    expected: Expected | None,
) -> None:
    run = recorded(started(python, cgroups, tmp_path, ending), tmp_path, ending)

    if expected is not None:
        is_the_verdict(run, expected)
    else:
        assert run.state == "succeeded", (tmp_path / "output").read_text()
        assert run.findings() == ()


def all_nodes(folder: Path) -> tuple[str, ...]:
    """Return the arguments of `sbatch` for another job that wants all nodes."""
    wanted = (f"--nodes={len(slurm_cluster.NODES)}", "--exclusive")
    return (*wanted, f"--output={folder}/more", "--wrap=sleep 300")


def programs(folder: Path, how: str) -> str:
    """Return a search path on which Slurm's answers are missing, slow or refused."""
    folder.mkdir()
    places = (Path("/usr/bin"), Path("/bin"))
    for name in ASKING if how != "missing" else ():
        real = next(each / name for each in places if (each / name).exists())
        does = {
            "slow": f'sleep 10\nexec {real} "$@"',
            "refused": f"echo '{name}: error: Access/permission denied' >&2\nexit 1",
        }[how]
        own = folder / name
        own.write_text(f"#!/bin/sh\n{does}\n")
        own.chmod(own.stat().st_mode | stat.S_IXUSR)
    for each in (file for place in places for file in place.iterdir()):
        link = folder / each.name
        if each.name not in ASKING and not link.is_symlink():
            link.symlink_to(each)
    return str(folder)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("missing", "`squeue` was not found"),
        ("slow", "`squeue` did not answer within 5 s"),
        ("refused", "Access/permission denied"),
    ],
)
def test_nothing_is_proved_where_slurm_does_not_answer(
    python: Path, cluster: Slurm, tmp_path: Path, how: str, says: str
) -> None:
    path = programs(tmp_path / "programs", how)
    running = started(python, cluster, tmp_path, "cancelled", path)
    flag_of(tmp_path / "started", describe=(tmp_path / "output").read_text)
    cluster.ask("scancel", *cluster.jobs("running"))

    run = recorded(running, tmp_path, "cancelled")

    is_the_verdict(run, Expected("worker-preempted", "SIGTERM", "unknown", "medium"))
    assert says in run.findings()[0].cause
    # Neither are the ends of workers that were not at fault.
    assert {each.retry_advice for each in run.findings()} == {"unknown"}
    asked = run.of(ManagerAsked)
    assert all(each.error for each in asked)
    assert 0 < len(asked) <= MOST_CALLS


@pytest.mark.parametrize("how", ["missing", "slow", "refused"])
def test_nothing_is_found_in_a_good_run_where_slurm_does_not_answer(
    python: Path, cluster: Slurm, tmp_path: Path, how: str
) -> None:
    path = programs(tmp_path / "programs", how)

    run = recorded(started(python, cluster, tmp_path, "close", path), tmp_path, "close")

    assert run.state == "succeeded", (tmp_path / "output").read_text()
    assert run.findings() == ()
