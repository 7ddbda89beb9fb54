"""The table of changed nights: what is changed, and what must stand first on the card.

Written before any of them was reported.  A case changes a `Job`; its night follows by
itself, unless the case has run it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from changed_jobs import Job

__all__ = ["NIGHTS", "Night"]

NOTHING = ("nothing",)


@dataclass(frozen=True, kw_only=True)
class Night:
    """A case of one changed night.

    Attributes:
        name: Of the case.
        job: Which job has it.
        change: Changes what it changes.
        first: What may be reported first: a change's kind and the beginning of its name.
        blames: The sides that may be blamed; none: any.
        verdicts: The verdicts that are right; none: any.
        findings: What must be found.
    """

    name: str
    job: str
    change: Callable[[Job], None]
    first: tuple[str, ...]
    blames: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


NIGHTS: list[Night] = []


def night(
    job: str,
    first: str | tuple[str, ...],
    blames: str | tuple[str, ...] = (),
    verdicts: str | tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
) -> Callable[[Callable[[Job], None]], Callable[[Job], None]]:
    """Put a case into the table."""

    def put(change: Callable[[Job], None]) -> Callable[[Job], None]:
        NIGHTS.append(
            Night(
                name=change.__name__,
                job=job,
                change=change,
                first=(first,) if isinstance(first, str) else first,
                blames=(blames,) if isinstance(blames, str) else blames,
                verdicts=(verdicts,) if isinstance(verdicts, str) else verdicts,
                findings=findings,
            )
        )
        return change

    return put


_BROKEN = "def net(price):\n    raise ArithmeticError(price)\n"


# Nothing of ours.


@night("orders", NOTHING, "nothing", "task-exception")
def a_service_is_down(job: Job) -> None:
    job.service = False


@night("orders", "code git commit", "nothing", "task-exception")
def a_service_is_down_after_a_commit_of_words(job: Job) -> None:
    job.service = False
    job.edit("shop.py", "that nobody asks for", "that nobody ever asks for")
    job.commit("say it better")


@night("orders", NOTHING, "nothing", "task-exception")
def a_second_run_while_the_first_goes_on(job: Job) -> None:
    """Two runs of the job at once; the one that failed began second."""
    job.service = False
    with job.another_at_once():
        job.night()


@night("orders", NOTHING, "nothing", "task-exception")
def an_old_day_is_worked_off_later(job: Job) -> None:
    """A backfill: an older day, under a name that does not say that it is one."""
    job.service, job.nights, job.run_id = False, 1, "manual__2026-11-21T09:12:00"


# Infrastructure.


@night("orders", "python Python of the workers", "infrastructure")
def workers_have_another_python(job: Job) -> None:
    """Its tasks import a module that the newer Python has no more."""
    job.python = os.environ["OTHER_PYTHON"]


@night("orders", "package shoptools (", "infrastructure", "task-exception")
def a_package_is_downgraded_on_the_cluster(job: Job) -> None:
    job.install("cluster", "shoptools", "1.1.0", _BROKEN)


@night("orders", "package shoptools", "infrastructure", "task-exception")
def a_package_is_upgraded_everywhere(job: Job) -> None:
    for role in ("driver", "cluster"):
        job.install(role, "shoptools", "2.0.0", _BROKEN)


@night("orders", "package shoptools", "infrastructure")
def a_package_is_gone_from_workers(job: Job) -> None:
    for old in (job.folder / "cluster" / "site-packages").glob("shoptools*"):
        old.rename(old.with_name(f"un{old.name}".replace("-info", "-gone")))


@night("orders", "dask-config distributed.worker.memory.terminate", "infrastructure")
def a_setting_of_the_cluster_is_changed_by_a_variable(job: Job) -> None:
    """Workers are ended at a small part of their limit."""
    job.cluster["DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE"] = "0.001"


@night("orders", "dask-config distributed.comm.compression (workers)", "infrastructure")
def a_setting_of_workers_is_changed_by_a_variable(job: Job) -> None:
    """They compress in a way for which nothing is installed, or which nobody knows."""
    job.of_workers["DASK_DISTRIBUTED__COMM__COMPRESSION"] = "nonsense"
    job.service = False


@night("frames", "dask-config dataframe.shuffle", "infrastructure")
def a_setting_of_the_driver_is_changed_by_a_variable(job: Job) -> None:
    job.environment["DASK_DATAFRAME__SHUFFLE__METHOD"] = "nonsense"
    job.edit("job.py", ".sum().compute()", ".sum(split_out=2).compute()")


@night("orders", "cluster-shape workers", "infrastructure", "workers-never-arrived")
def a_worker_fewer(job: Job) -> None:
    """The job waits for as many workers as it always had."""
    job.workers = 1


@night("frames", "cluster-shape memory limit", "infrastructure", "worker-memory-limit")
def half_the_memory(job: Job) -> None:
    job.environment["JOB_MEMORY"] = "350MiB"


@night("orders", "host", "infrastructure", "task-exception")
def another_kernel_and_a_service_is_down(job: Job) -> None:
    job.before, job.service = ["setarch", "x86_64", "--uname-2.6"], False


@night("orders", ("cluster-shape image", "host"), "infrastructure")
def another_image_of_workers(job: Job) -> None:
    """Only its tag shows it: the files that it lacks are no package."""
    job.of_workers["JOB_IMAGE"] = "registry/shop:2026.11.2"
    job.service = False


# Data.


@night("frames", "input-size bytes", "data", "worker-memory-limit")
def ten_times_the_input(job: Job) -> None:
    job.rows = 40


@night("frames", ("input-size bytes", "nothing"), ("data", "nothing"), "task-exception")
def a_new_column(job: Job) -> None:
    job.columns = 4


@night("orders", "parameters --first", "data", "driver-exception")
def other_parameters(job: Job) -> None:
    job.arguments = ["--first", "many"]


@night("frames", "parameters least", "data", "driver-exception")
def a_parameter_that_leaves_nothing(job: Job) -> None:
    job.least = "100"


@night("orders", ("input-size", "nothing"), ("data", "nothing"), "driver-exception")
def no_file_has_arrived(job: Job) -> None:
    """The job says so before it reads: of its input, nothing is recorded."""
    job.files = 0


# Code.


@night("orders", "code prefix pick", "code", "task-exception")
def a_lambda(job: Job) -> None:
    job.edit(
        "job.py", "lambda rows: rows[: asked.first]", "lambda rows: rows[asked.first]"
    )


@night("orders", "code prefix scale", "code", "task-exception")
def a_constant_in_a_closure(job: Job) -> None:
    job.edit("job.py", "scaled(2)", "scaled(0)")


@night("orders", "code prefix total", "code", "task-exception")
def a_default(job: Job) -> None:
    job.edit("job.py", "digits: int = 2", 'digits: int = "two"')


@night("orders", "code prefix cleaned", "code", "task-exception")
def a_constant_of_the_module(job: Job) -> None:
    job.edit("job.py", "LARGEST = 1_000", "LARGEST = None")


@night("orders", "code prefix tax", "code", "task-exception")
def a_method(job: Job) -> None:
    job.edit("shop.py", 'row["price"] * (1', 'row["prize"] * (1')


@night("orders", "code prefix cleaned", "code", "task-exception")
def a_module_of_ones_own_committed(job: Job) -> None:
    job.edit("shop.py", 'if row["price"] >= 0', 'if row["cost"] >= 0')
    job.commit("cost")


@night("orders", "code", "code", "driver-exception")
def the_drivers_own_code(job: Job) -> None:
    job.edit("job.py", "sorted(map(str, ", "sorted(map(int, ")


@night("orders", ("graph-shape prefix", "code module"), "code", "task-exception")
def a_function_is_renamed_and_broken(job: Job) -> None:
    job.edit("job.py", "def cleaned(", "def tidied(")
    job.edit("job.py", "(cleaned, rows)", "(tidied, rows)")
    job.edit("job.py", 'row["price"] < LARGEST', 'row["cost"] < LARGEST')


@night("orders", ("code module", "nothing"), ("code", "nothing"), "task-exception")
def a_function_is_renamed_and_a_service_is_down(job: Job) -> None:
    job.edit("job.py", "def cleaned(", "def tidied(")
    job.edit("job.py", "(cleaned, rows)", "(tidied, rows)")
    job.service = False


@night("orders", NOTHING, "nothing", "driver-exception")
def the_script_does_not_compile(job: Job) -> None:
    """Nothing of the driver is known then; what is not known has not changed."""
    job.edit("job.py", "def main() -> None:", "def main() -> None")


# Two at once.


@night("orders", "code prefix total", "code", "task-exception")
def a_package_for_nothing_and_a_function(job: Job) -> None:
    job.install("driver", "confetti", "3.1")
    job.edit("job.py", "round(sum(", "round(len(")


@night("orders", "package shoptools", "infrastructure", "task-exception")
def a_parameter_for_nothing_and_a_package(job: Job) -> None:
    job.arguments = ["--first", "900"]
    job.install("cluster", "shoptools", "1.1.0", _BROKEN)


@night("frames", "input-size bytes", (), "worker-memory-limit")
def a_package_for_nothing_and_more_input(job: Job) -> None:
    job.install("driver", "confetti", "3.1")
    job.rows = 40


# What the past is like.


@night("orders", "code prefix tax", "code", "task-exception")
def after_nights_that_failed(job: Job) -> None:
    """A service was down for three nights; when it is up, a function is broken."""
    job.service = False
    for _ in range(3):
        job.night()
    job.service = True
    job.edit("shop.py", 'row["price"] * (1', 'row["prize"] * (1')
    job.night()


@night("orders", "code prefix tax", "code", "task-exception")
def the_last_good_recording_is_lost(job: Job) -> None:
    """Recordings were deleted to save space; what is left are the sketches."""
    shutil.rmtree(job.store / "runs")
    job.edit("shop.py", 'row["price"] * (1', 'row["prize"] * (1')


@night("orders", "code prefix tax", "code", "task-exception")
def the_last_good_sketch_is_damaged(job: Job) -> None:
    # (Names of sketches begin with the newest.)
    newest = min(p for p in job.store.glob("sketches/**/*") if p.is_file())
    newest.write_bytes(newest.read_bytes()[:100])
    job.edit("shop.py", 'row["price"] * (1', 'row["prize"] * (1')


@night("orders", NOTHING, (), "task-exception")
def the_job_is_called_otherwise(job: Job) -> None:
    job.called, job.service = "orders-of-the-night", False


@night("orders", "code prefix tax", "code", "task-exception")
def after_a_run_that_was_killed(job: Job) -> None:
    """The night before, driver and recorder were killed together."""
    job.kill_one()
    job.edit("shop.py", 'row["price"] * (1', 'row["prize"] * (1')


# Nights that end well, but otherwise.


@night("orders", ("code prefix total",), "code", findings=("slower-than-usual",))
def one_step_is_eight_times_slower(job: Job) -> None:
    job.edit("job.py", "range(1_500_000)", "range(12_000_000)")
