"""Verdicts on what never came up, or was not there: workers, modules, files, actors.

The texts are those that Dask wrote when such runs were recorded on real clusters.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import capital
from runs_from_rows import (
    Piece,
    a_death,
    a_departure,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
    the_verdict,
    the_verdict_on,
)

SITE = "/venv/lib/python3.12/site-packages"
LINK = "\nThe above exception was the direct cause of the following exception:\n\n"
TIMED_OUT = an_exception("TimeoutError", "timed out after 300 s.")
WAITED = an_exception(
    "distributed.exceptions.WorkerStartTimeoutError",
    "Only 0/1 workers arrived after 15",
)


def rules_of(*pieces: Any) -> list[str]:
    """Return which rules fire, gravest first."""
    return [each.rule for each in findings_in(a_run(*pieces))]


def a_stall(*, at: float = 80.0, workers: int = 0) -> Piece:
    """Return that nothing moved, with one task in the queue."""
    states = {"queued": 1}
    return an_event(
        "stall", at=at, lasted=60, workers=workers, statuses={}, states=states
    )


# Workers that do not start


def not_started(root: str = "") -> Piece:
    """Return the end of a driver whose LocalCluster did not come up."""
    name, message = "RuntimeError", "Nanny failed to start."
    trace = f"{root}{LINK if root else ''}Traceback:\nRuntimeError: {message}"
    return failed_with(an_exception(name, message, traceback=trace))


@pytest.mark.parametrize(
    ("parent", "remedy"),
    [
        (5, "A LocalCluster starts all its workers"),
        (6, "A program starts these workers"),
    ],
)
def test_workers_of_a_program_are_not_those_of_the_cluster_object(
    parent: int, remedy: str
) -> None:
    found = the_verdict_on(
        an_event("driver-attached", "driver", pid=5, cluster={"kind": "LocalCluster"}),
        a_worker(),
        an_event(
            "process-ancestors",
            "tcp://w1",
            pid=100,
            ancestors=[[parent, "1"], [1, "1"]],
        ),
        failed_with(
            an_exception(WAITED.exception, "Only 1/2 workers arrived after 15"),
            at=100.0,
        ),
    )

    assert found.rule == "workers-never-arrived"
    assert (found.remedy or "").startswith(remedy)


@pytest.mark.parametrize(("joins_at", "starting"), [(50.0, False), (100.5, True)])
def test_only_a_worker_that_has_not_joined_is_still_starting(
    joins_at: float, *, starting: bool
) -> None:
    report = an_event(
        "worker-starting", "tcp://n1", at=40.0, pid=7, lasted=20.0,
        kernel="hrtimer_nanosleep",
    )  # fmt: skip
    joins = an_event("worker-added", "tcp://w7", at=joins_at, pid=7)
    found = the_verdict_on(report, joins, failed_with(WAITED, at=100.0))

    assert ("waited for the end of a sleep" in found.title) is starting


def test_a_main_module_that_cannot_be_imported_twice_is_the_likely_reason() -> None:
    died = a_log_line("Worker process 370 exited with status 1", role="nanny")
    found = the_verdict_on(died, not_started(), recorded=False)

    assert (found.rule, found.confidence) == ("worker-start-failed", "medium")
    assert "import the main module again" in found.cause
    assert '`if __name__ == "__main__":`' in found.remedy


def an_overload(**measured: float) -> Piece:
    """Return that the driver's host was overloaded until the failure, with these numbers."""
    usual = {"seconds": 20.0, "cores": 2, "busy": 40.0, "stolen": 0.0, "own": 4.0}
    return an_event("host-overloaded", "driver", at=99.0, **{**usual, **measured})


LATE = an_exception(
    "RuntimeError",
    "Nanny failed to start.",
    traceback=f"TimeoutError: Nanny start timed out after 9s.{LINK}Traceback:\n"
    "RuntimeError: Nanny failed to start.",
)


@pytest.mark.parametrize(
    ("measured", "short_of", "advice"),
    [
        ({}, "100% of its 2 cores were in use, 10% by this run", "transient"),
        ({"own": 38.0}, "95% by this run", "environment"),
        ({"stolen": 8.0, "busy": 32.0}, "20% by its hypervisor (steal)", "transient"),
        ({"busy": 3.0, "swapped": 3e9}, "moved 2.8 GiB to and from swap", "transient"),
        ({"busy": 3.0, "disk_waits": 19.0}, "waited for its disk", "transient"),
        ({"seconds": 5.0, "busy": 10.0}, "", "environment"),
    ],
)
def test_a_start_that_timed_out_names_what_its_host_was_short_of(
    measured: dict[str, float], short_of: str, advice: str
) -> None:
    failed = failed_with(LATE, at=100.0)
    found = the_verdict_on(an_overload(**measured), failed, recorded=False)

    assert (found.rule, found.retry_advice) == ("worker-start-failed", advice)
    assert short_of in found.cause
    assert ("did not start in time: the driver's host" in found.title) is bool(short_of)
    assert ("more time to start" in (found.remedy or "")) is bool(short_of)


def test_a_start_that_reports_its_error_is_not_blamed_on_the_load_of_its_host() -> None:
    root = "Traceback:\nModuleNotFoundError: No module named 'sieve'"
    found = the_verdict_on(an_overload(), not_started(root), recorded=False)

    assert "sieve" in found.title
    assert "core" not in found.cause


@pytest.mark.parametrize(("kind", "named"), [("LocalCluster", True), ("SLURM", False)])
def test_workers_that_start_on_an_overloaded_host_are_late_for_that(
    kind: str, *, named: bool
) -> None:
    found = the_verdict_on(
        an_event("driver-attached", "driver", pid=5, cluster={"kind": kind}),
        an_overload(),
        failed_with(WAITED, at=100.0),
    )

    assert found.rule == "workers-never-arrived"
    assert ("the driver's host had no core left" in found.title) is named


def test_workers_with_another_obstacle_are_not_late_for_the_load_of_their_host() -> (
    None
):
    found = the_verdict_on(
        an_event("driver-attached", "driver", pid=5, cluster={"kind": "LocalCluster"}),
        an_event(
            "worker-starting", "tcp://n1", at=90.0, pid=7, lasted=20.0,
            kernel="hrtimer_nanosleep",
        ),
        an_overload(),
        failed_with(WAITED, at=100.0),
    )  # fmt: skip

    assert "waited for the end of a sleep" in found.title
    assert "no core left" not in found.title + found.cause
    assert "preload" in (found.remedy or "")


def test_a_preload_that_was_running_is_not_the_load_of_its_host() -> None:
    found = the_verdict_on(
        an_event(
            "worker-starting", "tcp://n1", at=90.0, pid=7, lasted=20.0, kernel="flock"
        ),
        an_overload(),
        failed_with(LATE, at=100.0),
        recorded=False,
    )

    assert found.rule == "worker-start-failed"
    assert "no core left" not in found.title + found.cause


@pytest.mark.parametrize(
    ("host", "why", "named"),
    [
        ("127.0.0.1", "no answer", True),
        ("127.0.0.1", "Connection refused", False),
        ("10.0.0.7", "no answer", False),
    ],
)
def test_a_driver_that_got_no_answer_on_an_overloaded_host_says_so(
    host: str, why: str, *, named: bool
) -> None:
    address = f"tcp://{host}:8786"
    late = an_exception(
        "OSError",
        f"Timed out trying to connect to {address} after 30 s",
        traceback=f"OSError: {why}{LINK}Traceback:\nOSError: Timed out trying to connect to "
        f"{address} after 30 s",
    )
    found = the_verdict_on(an_overload(), failed_with(late, at=100.0), recorded=False)

    assert found.rule == "cannot-connect"
    assert ("had no core left" in found.cause) is named


def test_a_name_that_another_worker_has_is_named() -> None:
    reply = (
        "{'status': 'error', 'message': 'name taken, ripener', 'time': 1795747203.4}"
    )
    failed = a_log_line(
        f"Failed to start process\nValueError: Unexpected response from register: {reply}",
        role="nanny",
    )
    found = the_verdict_on(failed, not_started(), recorded=False)

    assert found.title == (
        "A worker failed to start: ValueError: the name 'ripener' is already taken by "
        "another worker"
    )
    assert "give each a unique `--name`" in found.remedy


def test_what_a_cluster_object_raises_when_it_starts_a_job_is_no_tasks() -> None:
    trace = (
        'Traceback:\n  File "/jobs/nightly.py", line 3, in main\n    SLURMCluster()\n'
        f'  File "{SITE}/distributed/utils.py", line 429, in f\n    yield future\n'
        f'  File "{SITE}/distributed/deploy/spec.py", line 396, in _correct_state_internal\n'
        "    await asyncio.gather(*worker_futs)\n"
        '  File "/jobs/our_cluster.py", line 21, in start\n    raise RuntimeError(said)\n'
        "RuntimeError: sbatch: error: QOSMaxCpuPerUserLimit"
    )
    message = "sbatch: error: QOSMaxCpuPerUserLimit"
    error = an_exception("RuntimeError", message, traceback=trace)

    found = the_verdict_on(a_worker(), failed_with(error))

    assert (found.rule, found.confidence) == ("worker-start-failed", "high")
    assert found.title == f"A worker failed to start: RuntimeError: {message}"
    assert "/jobs/our_cluster.py:21" in found.remedy

    stopped = an_exception("KeyboardInterrupt", "", traceback=trace)
    assert the_verdict_on(a_worker(), failed_with(stopped)).rule == "cancelled"


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (
            "AssertionError: daemonic processes are not allowed to have children",
            "processes=False",
        ),
        ("PermissionError: [Errno 13] Permission denied: '/w'", "local_directory="),
        ("OSError: [Errno 30] Read-only file system: '/w'", "local_directory="),
        ("NotADirectoryError: [Errno 20] Not a directory: '/w'", "local_directory="),
    ],
)
@pytest.mark.parametrize("starts", ["in a nanny", "in the driver"])
def test_a_start_that_failed_for_a_known_reason_has_its_fix(
    error: str, fix: str, starts: str
) -> None:
    name, _, message = error.partition(": ")
    trace = (
        "Traceback (most recent call last):\n"
        f'  File "{SITE}/distributed/diskutils.py", line 146, in _init_workspace\n'
        f"    os.makedirs(try_dir)\n{error}"
    )
    if starts == "in a nanny":
        found = the_verdict_on(not_started(trace))
    else:
        start = (
            "Traceback:\n"
            f'  File "{SITE}/distributed/deploy/spec.py", line 396, in _correct_state_internal\n'
            "    await asyncio.gather(*worker_futs)"
        )
        raised = an_exception(
            name, message, traceback=f"{start}\n{trace.partition(chr(10))[2]}"
        )
        found = the_verdict_on(failed_with(raised))

    assert found.rule == "worker-start-failed"
    assert fix in found.remedy


@pytest.mark.parametrize("starts", ["a worker process", "a worker", "a scheduler"])
@pytest.mark.parametrize(
    ("argument", "meant"), [("n_worker", " (did you mean `n_workers`?)"), ("zzz", "")]
)
def test_a_misspelt_argument_of_a_cluster_is_to_be_corrected(
    starts: str, argument: str, meant: str
) -> None:
    message = f"Server.__init__() got an unexpected keyword argument '{argument}'"
    raised = (
        f'Traceback:\n  File "{SITE}/distributed/core.py", line 1, in __init__\n'
        f"    x\nTypeError: {message}"
    )
    if starts == "a worker process":
        found = the_verdict_on(not_started(raised))
    elif starts == "a worker":
        start = f'  File "{SITE}/distributed/deploy/spec.py", line 396, in _correct_state_internal\n    x\n'
        trace = raised.replace("Traceback:\n", f"Traceback:\n{start}")
        error = an_exception("TypeError", message, traceback=trace)
        found = the_verdict_on(failed_with(error))
    else:
        text = f"Cluster failed to start: {message}"
        trace = f"{raised}{LINK}Traceback:\nRuntimeError: {text}"
        error = an_exception("RuntimeError", text, traceback=trace)
        found = the_verdict_on(failed_with(error))

    assert found.rule == "worker-start-failed"
    begins = f"Correct the name of the argument `{argument}`{meant}, or remove it: "
    assert found.remedy.startswith(begins)
    assert "`cluster_kwargs`" in found.remedy
    assert (found.retry_advice, found.retry_confidence) == ("code", "high")


def test_a_plugin_whose_setup_raises_is_named_with_its_error() -> None:
    trace = (
        f'Traceback:\n  File "{SITE}/distributed/client.py", line 1, in register_plugin\n'
        '    x\n  File "/jobs/nightly.py", line 4, in setup\n    open(path)\n'
        "FileNotFoundError: /etc/our/credentials.json"
    )
    error = an_exception(
        "FileNotFoundError", "/etc/our/credentials.json", traceback=trace
    )
    shown = a_log_line(
        "Worker plugin our-setup failed to setup\nTraceback:\n"
        "FileNotFoundError: /etc/our/credentials.json"
    )

    assert "our-setup" in the_verdict_on(a_worker(), shown, failed_with(error)).title
    # Older versions of distributed log nothing of it.
    unlogged = the_verdict_on(a_worker(), failed_with(error))
    assert unlogged.rule == "worker-start-failed"
    assert unlogged.title.startswith("The worker plugin failed in its setup")


def test_a_title_keeps_the_name_of_the_file_that_a_start_lacked() -> None:
    path = (
        "/mnt/shared/projects/rates/2026/deployments/nightly/images/worker/rates.toml"
    )
    message = f"[Errno 2] No such file or directory: '{path}'"
    trace = (
        f'Traceback:\n  File "{SITE}/distributed/client.py", line 1, in register_plugin\n'
        '    x\n  File "/jobs/nightly.py", line 4, in setup\n    open(path)\n'
        f"FileNotFoundError: {message}"
    )
    run = a_run(
        a_worker(),
        failed_with(an_exception("FileNotFoundError", message, traceback=trace)),
    )
    card = card_of(run, findings_in(run))

    assert card.verdict is not None
    assert card.verdict.title == card.headline
    assert card.headline.endswith(
        ": FileNotFoundError: …/worker/rates.toml does not exist"
    )
    assert path in card.verdict.cause


def test_lines_on_a_failed_start_explain_why_nobody_arrived() -> None:
    line = a_log_line(
        "Failed to start process\nTraceback:\nImportError: no libcuda", role="nanny"
    )

    assert the_verdict_on(line, failed_with(WAITED)).rule == "worker-start-failed"
    found = the_verdict_on(failed_with(WAITED))
    assert found.rule == "workers-never-arrived"
    assert found.title.startswith(
        "The only worker that the driver waited for did not arrive within 15 s"
    )


@pytest.mark.parametrize(
    ("kind", "remedy", "advice"),
    [
        ("LocalCluster", "LocalCluster(n_workers=4)", ("code", "medium")),
        ("SLURMCluster", "quota, queue or nodes", ("transient", "medium")),
    ],
)
def test_a_local_cluster_has_no_more_workers_than_it_was_asked_for(
    kind: str, remedy: str, advice: tuple[str, str]
) -> None:
    waited = an_exception("TimeoutError", "Only 2/4 workers arrived after 10")
    attached = an_event(
        "driver-attached", "driver", pid=1, client="Client-1", cluster={"kind": kind}
    )

    found = the_verdict_on(a_worker(), attached, failed_with(waited))

    assert found.rule == "workers-never-arrived"
    assert remedy in found.remedy
    assert (found.retry_advice, found.retry_confidence) == advice


def test_workers_that_came_and_died_are_another_story() -> None:
    line = a_log_line(
        "Failed to start process\nTraceback:\nImportError: no libcuda", role="nanny"
    )
    dead = a_death(exit_code=-11, executing=["boom-1"])

    found = the_verdict_on(
        a_worker(), *dead, line, *raised_in("boom-1", killed_worker("boom-1"))
    )

    assert found.rule == "worker-segfault"


# Modules


def left_for_want_of(module: str) -> list[Piece]:
    """Return workers that could not read what they were sent, and a driver that waited."""
    line = f"Failed to deserialize\nModuleNotFoundError: No module named '{module}'"
    broken = "worker-handle-scheduler-connection-broken"
    dead = a_death(exit_code=0, processing=["load-1"], lines=[line], closing=broken)
    return [a_worker(), *dead, failed_with(TIMED_OUT)]


def own(*names: str) -> Piece:
    """Return that the driver had imported modules from files of its own."""
    return an_event("driver-code", "driver", modules=dict.fromkeys(names, "abc"))


def test_a_file_of_the_drivers_own_was_not_shipped() -> None:
    found = the_verdict_on(own("cleaning"), *left_for_want_of("cleaning"))

    assert found.rule == "module-not-shipped"
    assert "client.upload_file('cleaning.py')" in found.remedy


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("unusual_prefix_6a5b0f_nightly", "a DAG file"),
        ("__prefect_loader_6a5b0f__", "a flow file"),
    ],
)
def test_a_file_that_a_host_loads_cannot_be_imported_by_anyone_else(
    module: str, file: str
) -> None:
    found = the_verdict_on(*left_for_want_of(module))

    assert found.rule == "module-not-shipped"
    assert f"functions at the top of {file} by" in found.remedy
    assert "inside the task's function" in found.remedy


def test_a_task_that_imports_such_a_file_reports_it_once() -> None:
    error = an_exception("ModuleNotFoundError", "No module named 'cleaning'")
    others = [
        a_failed_task(f"load-{n}", error.exception, error.message) for n in (2, 3)
    ]
    pieces = [own("cleaning"), a_worker(), *raised_in("load-1", error), *others]

    assert rules_of(*pieces) == ["module-not-shipped"]


@pytest.mark.parametrize(
    ("found", "rule", "shown"),
    [
        ({"module": "cv2", "file": "/jobs/cv2.py"}, "module-not-shipped", "cv2.py"),
        (
            {"module": "cv2", "file": "/jobs/cv2/__init__.py"},
            "module-not-shipped",
            "UploadDirectory('cv2')",
        ),
        (
            {
                "module": "cv2",
                "file": "/venv/lib/python3.12/site-packages/cv2/__init__.py",
                "package": "opencv-python",
                "version": "4.13.0",
            },
            "environment-mismatch",
            "'opencv-python==4.13.0'",
        ),
        ({}, "task-exception", "fix the code"),
    ],
)
def test_a_module_that_only_tasks_import_is_where_the_driver_finds_it(
    found: dict[str, str], rule: str, shown: str
) -> None:
    error = an_exception("ModuleNotFoundError", "No module named 'cv2'")
    error = msgspec.structs.replace(error, found=found)

    origin_sentence = the_verdict_on(a_worker(), *raised_in("load-1", error))

    assert (origin_sentence.rule, origin_sentence.confidence) == (rule, "high")
    assert shown in origin_sentence.remedy


@pytest.mark.parametrize(
    ("theirs", "rule"),
    [("1.4", "environment-mismatch"), ("2.0", "task-exception")],
)
def test_a_name_that_only_another_version_has_is_the_environments(
    theirs: str, rule: str
) -> None:
    shown = "cannot import name 'quote' from 'pricing' (/v/site-packages/pricing.py)"
    error = an_exception("ImportError", shown)
    failed = a_failed_task("load-1", "ImportError", shown)
    there = an_event(
        "packages", "tcp://w1", role="worker", packages={"pricing": theirs}
    )
    here = an_event("driver-attached", "driver", packages={"pricing": "2.0"})

    found = the_verdict_on(a_worker(), here, there, failed, failed_with(error))

    assert found.rule == rule
    assert ("'pricing' 1.4" in found.title) == (theirs == "1.4")


def test_a_file_that_hides_an_installed_package_is_named() -> None:
    shown = "cannot import name 'quote' from 'pricing' (/home/me/pricing.py)"
    error = an_exception("ImportError", shown)
    failed = a_failed_task("load-1", "ImportError", shown)
    here = an_event("driver-attached", "driver", packages={"pricing": "2.0"})
    nowhere = an_event("driver-attached", "driver", packages={})

    found = the_verdict_on(a_worker(), here, failed, failed_with(error))

    assert (found.rule, found.confidence) == ("environment-mismatch", "medium")
    assert "/home/me/pricing.py" in found.title
    own = the_verdict_on(a_worker(), nowhere, failed, failed_with(error))
    assert own.rule == "task-exception"


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        ({"module": "units", "file": "/jobs/units.py"}, "module-not-shipped"),
        ({"module": "units", "file": "/v/u.py", "package": "units", "version": "2"},
         "environment-mismatch"),
        ({}, "driver-exception"),
    ],
)  # fmt: skip
def test_a_plugin_that_misses_a_module_on_the_cluster(
    found: dict[str, str], rule: str
) -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 3, in main\n    client.upload_file("a.py")\n'
        f'  File "{SITE}/distributed/client.py", line 4, in upload_file\n    x\n'
        f'  File "{SITE}/distributed/scheduler.py", line 6, in register\n    x\n'
        f'  File "{SITE}/distributed/utils.py", line 8, in import_file\n    x\n'
        "ModuleNotFoundError: No module named 'units'\n"
    )
    error = an_exception(
        "ModuleNotFoundError", "No module named 'units'", traceback=trace
    )
    error = msgspec.structs.replace(error, found=found)

    assert the_verdict_on(a_worker(), a_graph(), failed_with(error)).rule == rule


def test_an_uploaded_file_imports_what_was_not_uploaded() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 3, in main\n    client.upload_file("a.py")\n'
        f'  File "{SITE}/distributed/client.py", line 4, in upload_file\n    x\n'
        f'  File "{SITE}/distributed/utils.py", line 8, in import_file\n    x\n'
        '  File "/scratch/scheduler-q9c6exp6/a.py", line 2, in <module>\n    import b\n'
        "ModuleNotFoundError: No module named 'units'\n"
    )
    error = an_exception(
        "ModuleNotFoundError", "No module named 'units'", traceback=trace
    )

    found = the_verdict_on(a_worker(), a_graph(), failed_with(error))

    assert (found.rule, found.confidence) == ("module-not-shipped", "high")
    assert found.title == (
        "The uploaded 'a.py' imports 'units', which the cluster cannot import"
    )
    assert "client.upload_file('units.py')" in found.remedy


def test_the_deaths_that_a_verdict_reports_are_not_reported_again() -> None:
    assert rules_of(own("cleaning"), *left_for_want_of("cleaning")) == [
        "module-not-shipped"
    ]


# Open files


def test_a_task_without_descriptors_left_is_reported_with_a_limit_to_set() -> None:
    error = an_exception("OSError", "[Errno 24] Too many open files: 'a.csv'")
    found = the_verdict_on(a_worker(), a_sample(), *raised_in("read-1", error))

    assert (found.rule, found.confidence) == ("too-many-open-files", "high")
    assert "ulimit -n 65536" in found.remedy


def test_a_driver_without_descriptors_left_is_one() -> None:
    error = an_exception("OSError", "[Errno 24] Too many open files")

    assert (
        the_verdict_on(a_worker(), a_graph(), failed_with(error)).rule
        == "too-many-open-files"
    )


def test_workers_without_descriptors_hang_without_a_word() -> None:
    line = a_log_line("[Errno 24] Too many open files: '/proc/100/statm'")
    hung = [a_worker(), a_graph(), a_stall(workers=1), failed_with(TIMED_OUT, at=90)]

    assert the_verdict_on(line, *hung).rule == "too-many-open-files"
    other = an_exception("KeyError", "'tuesday'")
    later = the_verdict_on(a_worker(), a_graph(), line, failed_with(other))
    assert (later.rule, later.confidence) == ("too-many-open-files", "medium")
    assert later.title.endswith("; then KeyError in the driver: 'tuesday'")


# Actors


def an_actor(*, end: Any = None) -> list[Piece]:
    """Return an actor whose worker died, and what the driver got."""
    lost = an_event("actor-lost", "counter-1", at=10, worker="tcp://w1")
    error = an_exception("RuntimeError", "Worker holding Actor was lost")
    return [a_worker(), *a_death(exit_code=-11), lost, failed_with(end or error)]


def test_a_driver_that_waited_for_a_lost_actor_is_less_sure() -> None:
    found = the_verdict_on(*an_actor(end=TIMED_OUT))

    assert (found.rule, found.confidence) == ("actor-lost", "medium")


def test_a_lost_actor_that_nobody_asks_for_explains_nothing() -> None:
    other = an_exception("KeyError", "'tuesday'")

    assert the_verdict_on(*an_actor(end=other)).rule == "driver-exception"


# Workers that left in order, and clusters that gave one up


def a_life_that_ends(address: str, *keys: str, at: float) -> list[Any]:
    """Return that a worker left at the end of its `--lifetime`, with work in hand."""
    stimulus = f"worker-close-gracefully-{at}"
    return [
        *a_departure(address, at=at, expected=True, stimulus=stimulus, processing=keys),
        an_event("worker-closing", address, at=at, reason="worker-lifetime-reached"),
    ]


@pytest.mark.parametrize("end", [aborted(at=60), failed_with(TIMED_OUT, at=60)])
def test_a_task_that_outlives_every_worker_is_why_a_driver_waited_for_ever(
    end: Piece,
) -> None:
    lives = [
        *a_life_that_ends("tcp://w1", "long-1", "short-1", at=10),
        *a_life_that_ends("tcp://w2", "long-1", at=20),
    ]
    workers = [a_worker(f"tcp://w{n}") for n in (1, 2, 3)]
    found = the_verdict_on(*workers, *lives, a_stall(at=50, workers=1), end)

    assert (found.rule, found.confidence) == ("worker-lifetime", "high")
    assert found.subject.key == "long-1"
    assert found.retry_advice == "environment"


def test_a_task_that_another_worker_ended_did_not_outlive_anybody() -> None:
    lives = [
        *a_life_that_ends("tcp://w1", "long-1", at=10),
        *a_life_that_ends("tcp://w2", "long-1", at=20),
    ]
    ended = a_task("long-1", start=30)
    workers = [a_worker(f"tcp://w{n}") for n in (1, 2, 3)]

    assert (
        the_verdict_on(*workers, *lives, ended, aborted(at=60)).rule == "driver-killed"
    )


def test_a_nanny_that_was_closed_while_it_restarted_its_worker_was_given_up() -> None:
    closed = a_log_line(
        "Closing Nanny at 'tcp://n1'. Reason: nanny-close",
        at=12,
        role="nanny",
        source="nanny",
    )
    dead = [a_worker(), *a_death(exit_code=-9)]
    found = the_verdict_on(*dead, closed, a_stall(), failed_with(TIMED_OUT, at=90))

    assert found.rule == "cluster-lost-worker"
    assert "worker-signalled" in found.cause
    late = a_log_line(
        "Closing Nanny at 'tcp://n1'. Reason: nanny-close",
        at=89,
        role="nanny",
        source="nanny",
    )
    assert (
        the_verdict_on(*dead, late, a_stall(), failed_with(TIMED_OUT, at=90)).rule
        == "worker-signalled"
    )


# In order


def test_errors_before_a_death_are_reported_in_their_order() -> None:
    tried = a_failed_task("bad-1", "ValueError", "bad row", at=5, outcome="retried")
    dead = a_death(exit_code=3, executing=["bad-1"])
    found = the_verdict_on(
        a_worker(), tried, *dead, *raised_in("bad-1", killed_worker("bad-1"))
    )

    assert found.rule == "worker-exit"
    assert found.cause.startswith("'bad-1' had raised ValueError once before (bad row)")


def test_deaths_before_an_error_are_reported_in_their_order() -> None:
    dead = a_death(exit_code=3, executing=["bad-1"], at=5)
    error = an_exception("ValueError", "bad row")
    found = the_verdict_on(a_worker(), *dead, *raised_in("bad-1", error))

    assert found.rule == "task-exception"
    assert "1 worker had died before while running it (worker-exit)" in found.cause


# A service's timeout


def test_a_service_that_does_not_answer_during_a_standstill_is_not_the_standstill() -> (
    None
):
    trace = (
        'Traceback:\n  File "/jobs/nightly.py", line 12, in main\n    get(url)\n'
        f'  File "{SITE}/requests/api.py", line 1, in get\n    x\nTimeoutError: timed out'
    )
    waited = trace.replace("requests/api.py", "distributed/client.py")
    hung = [a_worker(), a_graph(), a_stall(workers=1)]
    of_a_service = an_exception("TimeoutError", "timed out", traceback=trace)
    of_dask = an_exception("TimeoutError", "timed out", traceback=waited)

    assert (
        the_verdict_on(*hung, failed_with(of_a_service, at=90)).rule
        == "driver-exception"
    )
    assert the_verdict_on(*hung, failed_with(of_dask, at=90)).rule == "stalled"


# Silent failures


def test_a_key_that_was_sent_twice_is_reported_of_a_run_that_succeeded() -> None:
    shown = a_log_line(
        "Detected different `run_spec` for key 'load' between two consecutive calls to "
        "`update_graph`. This can cause failures and deadlocks down the line.",
        role="scheduler",
        source="scheduler",
        level=30,
    )
    (found,) = [
        each for each in findings_in(a_run(shown)) if each.severity == "warning"
    ]

    assert (found.rule, found.subject.key) == ("key-collision", "load")
    assert "the older task's" in found.cause


@pytest.mark.parametrize(
    ("prefixes", "new", "sent_at", "fires"),
    [
        pytest.param(
            {"index": 1, "rents": 1}, {"index": [1, 0]}, 6.0, True, id="known"
        ),
        pytest.param({"rents": 1}, {"rents": [1, 1]}, 6.0, False, id="released before"),
        pytest.param({"rents": 1}, {}, 4.0, False, id="sent before"),
        pytest.param({"index": 1}, {"index": [1, 1]}, 6.0, False, id="never sent"),
    ],
)
def test_a_delayed_call_with_a_used_key_counts_where_its_graph_met_the_first_task(
    prefixes: dict[str, int], new: dict[str, list[int]], sent_at: float, *, fires: bool
) -> None:
    reused = an_event(
        "key-reused", "driver", at=5.0, key="rents", task="rents", delayed=True,
        file="/jobs/rents.py", line=30, function="main",
    )  # fmt: skip
    graph = an_event(
        "graph-updated", "Client-1", at=sent_at, graph=2, tasks=2,
        prefixes=prefixes, new=new,
    )  # fmt: skip

    assert ("key-collision" in rules_of(reused, graph, succeeded())) is fires


@pytest.mark.parametrize(
    ("empty_inputs", "fires"),
    [(["read_parquet"], True), ([], False), (["from-map"], False)],
)
def test_a_graph_that_holds_an_empty_table_reads_nothing(
    empty_inputs: list[str], *, fires: bool
) -> None:
    read = a_task("read_parquet-1", nbytes=1200)
    graph = an_event("graph-updated", graph=1, empty_inputs=empty_inputs)

    assert ("silent-empty-input" in rules_of(graph, read)) is fires
    assert "silent-empty-input" not in rules_of(graph, read, failed_with(TIMED_OUT))
    other = a_task("read_csv-2", nbytes=5000)
    assert "silent-empty-input" not in rules_of(graph, read, other, succeeded())


# Data that was released


def test_data_that_nobody_kept_is_named_and_reported_from_data_that_died() -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "y-1 cancelled for reason: lost dependencies.",
    )
    shown = a_log_line(
        "User asked for computation on lost data. Final key is y-1 with missing dependency x-1",
        role="scheduler",
        source="scheduler",
        level=20,
    )
    found = the_verdict_on(a_worker(), a_graph(), shown, failed_with(error))

    assert (found.rule, found.confidence) == ("data-lost", "high")
    assert found.title == "'x-1' was needed but had already been released"
    dead = a_death(exit_code=-9, lost_scattered=["x-1"])
    lost = the_verdict_on(a_worker(), a_graph(), *dead, shown, failed_with(error))
    assert (lost.rule, lost.subject.worker) == ("data-lost", "tcp://w1")


@pytest.mark.parametrize(
    ("released_by", "do"),
    [
        (None, "Keep a reference to the future of 'x'"),
        (an_event("cluster-restarted", at=4), "before `client.restart()`"),
        (
            an_event("driver-closing", "driver", at=4, what="Client.close", file="/n.py", line=5),
            "Keep that client open",
        ),
    ],
    ids=["its last future", "a restart", "a client that was closed"],
)  # fmt: skip
def test_what_released_data_says_what_would_have_kept_it(
    released_by: Piece | None, do: str
) -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "y-1 cancelled for reason: lost dependencies.",
    )
    shown = a_log_line(
        "User asked for computation on lost data. Final key is y-1 with missing dependency x-1",
        role="scheduler",
        source="scheduler",
        level=20,
    )
    pieces = [released_by] if released_by else []
    found = the_verdict_on(a_worker(), a_graph(), pieces, shown, failed_with(error))

    assert found.rule == "data-lost"
    ways = ("Keep a reference", "before `client.restart()`", "Keep that client open")
    assert do in found.remedy
    assert sum(each in found.remedy for each in ways) == 1


def test_what_was_refused_for_its_own_input_is_traced_to_that_input() -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "z-1 cancelled for reason: lost dependencies.",
    )
    lines = [
        a_log_line(
            "User asked for computation on lost data. "
            f"Final key is {final} with missing dependency {missing}",
            role="scheduler",
            source="scheduler",
            level=20,
            at=at,
        )
        for at, final, missing in [(5, "y-1", "x-1"), (6, "z-1", "y-1")]
    ]
    found = the_verdict_on(a_worker(), a_graph(), *lines, failed_with(error))

    assert found.title == "'x-1' was needed but had already been released"
    assert "'z-1' needs 'x-1'" in found.cause


@pytest.mark.parametrize(
    ("of", "logged", "rule", "title"),
    [
        (
            "x-1",
            "Error during deserialization of the task graph. This frequently",
            "graph-not-deserializable",
            (
                "The scheduler could not read the graph: ModuleNotFoundError: "
                "No module named 'rates'"
            ),
        ),
        (
            "x-1",
            "Cycle detected between the following keys:",
            "data-lost",
            "'x-1' was needed, but the scheduler had refused its graph",
        ),
        (
            "of-another-graph-1",
            "Error during deserialization of the task graph. This frequently",
            "data-lost",
            "'x-1' was needed but had already been released",
        ),
    ],
)
def test_what_a_refused_graph_was_to_make_was_not_released(
    of: str, logged: str, rule: str, title: str
) -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "z-1 cancelled for reason: lost dependencies.",
    )
    logs = partial(a_log_line, role="scheduler", source="scheduler")
    unread = (
        "Failed to deserialize <memory at 0x7f>\nTraceback (most recent call last):\n"
        "ModuleNotFoundError: No module named 'rates'"
    )
    missing = [
        logs(
            "User asked for computation on lost data. "
            f"Final key is {final} with missing dependency {key}",
            level=20,
            at=at,
        )
        for at, final, key in [(5, "y-1", "x-1"), (6, "z-1", "y-1")]
    ]
    found = the_verdict_on(
        a_worker(),
        a_graph(),
        logs(unread, level=20, at=3.9),
        an_event(
            "graph-failed", "scheduler", at=4, status="error", keys=[of], wanted=1
        ),
        logs(logged, logger="distributed.scheduler", at=4.1),
        *missing,
        failed_with(error),
    )

    assert (found.rule, found.title, found.confidence) == (rule, title, "high")
    assert found.subject.key == "x-1"
    assert (logged in found.cause) == (title.endswith("refused its graph"))


@pytest.mark.parametrize(
    ("refused", "rule", "subject"),
    [
        (["x-1"], "graph-not-deserializable", "x-1"),
        ([], "data-lost", "z-1"),
        (["x-1", "w-1"], "data-lost", "z-1"),
    ],
    ids=["one", "none", "two"],
)
def test_without_the_schedulers_line_the_only_refused_graph_is_probably_the_cause(
    refused: list[str], rule: str, subject: str
) -> None:
    # A `LocalCluster` logs warnings only, and the scheduler names what is missing at INFO.
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "z-1 cancelled for reason: lost dependencies.",
    )
    graphs = [
        an_event(
            "graph-failed", "scheduler", at=4, status="error", keys=[key], wanted=1
        )
        for key in refused
    ]
    found = the_verdict_on(
        a_worker(),
        *graphs,
        a_log_line(
            "Error during deserialization of the task graph. This frequently occurs if",
            role="scheduler",
            source="scheduler",
            logger="distributed.scheduler",
            at=4.1,
        ),
        an_event(
            "graph-failed",
            "scheduler",
            at=5,
            status="cancelled",
            keys=["z-1"],
            wanted=1,
        ),
        failed_with(error),
    )

    assert (found.rule, found.confidence) == (rule, "medium")
    assert found.subject.key == subject


def test_a_future_of_another_cluster_is_named_with_both_clusters() -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "merge-1 cancelled for reason: lost dependencies.",
    )
    line = (
        "User asked for computation on lost data. "
        "Final key is merge-1 with missing dependency accounts-1"
    )
    worker = {"nthreads": 1, "memory_limit": 2**30, "pid": 100}
    found = the_verdict_on(
        an_event("worker-added", "tcp://w1", scheduler="tcp://lyon:1", **worker),
        an_event("worker-added", "tcp://w2", scheduler="tcp://turin:1", **worker),
        a_graph(),
        a_task("accounts-1", worker="tcp://w1"),
        a_log_line(line, role="scheduler", source="scheduler", level=20, at=5),
        an_event("graph-failed", at=5, status="cancelled", scheduler="tcp://turin:1"),
        failed_with(error),
    )

    assert (
        found.title
        == "'accounts-1' was passed to another cluster than the one that computed it"
    )
    assert "tcp://lyon:1" in found.cause
    assert "tcp://turin:1" in found.cause
    assert (found.rule, found.confidence) == ("data-lost", "high")


def test_a_package_is_asked_for_in_the_version_that_the_driver_has() -> None:
    attached = an_event("driver-attached", "driver", packages={"s3fs": "2026.5.0"})

    found = the_verdict_on(attached, *left_for_want_of("s3fs"))

    assert found.remedy.startswith("Install 's3fs==2026.5.0' in the workers' image")


# Who closed what


def test_a_scheduler_that_its_script_killed_need_not_be_lost_by_the_recorder() -> None:
    error = an_exception(
        "distributed.client.FutureCancelledError",
        "slow-1 cancelled for reason: scheduler-connection-lost.",
    )
    found = the_verdict_on(
        an_event("driver-attached", "driver", at=0, pid=1, boot="b"),
        an_event("scheduler-info", "tcp://s", at=1, pid=7, boot="b"),
        a_worker(),
        an_event(
            "driver-signalled",
            "driver",
            at=9.5,
            signal="SIGKILL",
            target=7,
            file="/jobs/etl.py",
            line=3,
        ),
        failed_with(error, at=10),
    )

    assert (found.rule, found.confidence) == ("scheduler-lost", "high")
    assert found.title == (
        "The scheduler was lost: the run's own script ended it (SIGKILL at etl.py:3)"
    )
    assert "ended it (SIGKILL at /jobs/etl.py:3)" in found.cause
    assert found.retry_advice == "code"


def test_a_client_that_the_driver_closed_itself_is_no_lost_scheduler() -> None:
    error = an_exception(
        "distributed.client.ClosedClientError",
        "Client is closed. Can't send update-graph message.",
    )
    begun = an_event("recording-started", "Client-1", at=0)
    closed = an_event("client-removed", "Client-1", at=9)

    assert (
        the_verdict_on(begun, a_worker(), a_graph(), failed_with(error)).rule
        == "scheduler-lost"
    )
    assert the_verdict_on(
        begun, a_worker(), a_graph(), closed, failed_with(error)
    ).rule == ("driver-exception")


def test_data_that_no_worker_was_there_for_waited_in_vain() -> None:
    error = an_exception("TimeoutError", "No valid workers found")

    assert the_verdict_on(failed_with(error)).rule == "workers-never-arrived"


# A main module without a guard


def test_a_main_module_that_each_worker_runs_again_is_named_with_its_line() -> None:
    place = "/jobs/etl.py:32"
    found = the_verdict_on(
        not_started(), an_event("driver-attached", at=1.0, unguarded=place)
    )

    assert found.rule == "worker-start-failed"
    assert (
        found.title
        == "etl.py:32 runs again in each worker process: it has no main guard"
    )
    assert (found.retry_advice, found.retry_confidence) == ("code", "high")
    assert capital(found.title) == found.title


def test_a_main_module_without_a_guard_is_no_verdict_where_workers_started() -> None:
    attached = an_event("driver-attached", at=1.0, unguarded="/jobs/etl.py:32")
    error = failed_with(an_exception("ValueError", "no orders today"))

    assert the_verdict_on(attached, error).rule == "driver-exception"


# A part that failed


def a_failed_part() -> Piece:
    """Return that a subflow failed, of a worker that ran out of memory."""
    return an_event(
        "part-failed",
        at=20.0,
        what="subflow",
        name="load",
        title="A worker ran out of memory",
        cause="It reached its limit.",
        remedy="Give it more.",
        rule="worker-memory-limit",
        confidence="high",
        retry_advice="memory",
        retry_confidence="medium",
    )


def test_the_verdict_of_a_part_that_failed_is_the_runs_own() -> None:
    found = the_verdict_on(failed_with(killed_worker("load-1")), a_failed_part())

    assert found.rule == "part-failed"
    assert found.title == "Subflow 'load' failed: A worker ran out of memory"
    assert (found.retry_advice, found.retry_confidence) == ("memory", "medium")


def test_a_part_that_failed_is_nothing_where_the_run_succeeded() -> None:
    assert "part-failed" not in rules_of(succeeded(), a_failed_part())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("tcp://127.0.0.1:50001", True),
        ("tcp://localhost:8786", False),  # another name of the same host
        (None, False),
    ],
)
def test_workers_that_were_started_for_another_address_are_named(
    given: str | None, *, named: bool
) -> None:
    found = the_verdict_on(
        an_event("scheduler-info", "tcp://127.0.0.1:8786", at=1),
        an_event(
            "driver-signalled", "driver", at=19, signal="SIGTERM", target=7,
            scheduler=given,
        ),
        failed_with(WAITED, at=20),
    )  # fmt: skip

    assert found.rule == "workers-never-arrived"
    assert (f"with the address {given}" in found.cause) == named
    assert ("tcp://127.0.0.1:8786" in found.remedy) == named


BOOTSTRAPPING = (
    "RuntimeError: \n        An attempt has been made to start a new process before the\n"
    "        current process has finished its bootstrapping phase.\n"
)


def test_a_program_that_the_driver_ran_is_asked_what_it_raised() -> None:
    call = "Command '['python', '/jobs/step_load.py']' returned non-zero exit status 1."
    own = an_exception("subprocess.CalledProcessError", call, traceback="its own")
    raised = {
        "exception": "RuntimeError",
        "message": "Nanny failed to start.",
        "file": "/jobs/step_load.py",
        "line": 9,
    }
    found = the_verdict_on(
        an_event("driver-exception", "driver", at=5, traceback=BOOTSTRAPPING, **raised),
        an_event(
            "driver-exception", "driver", at=6,
            traceback="RuntimeError: Nanny failed to start.\n", **raised,
        ),
        failed_with(own, at=7),
    )  # fmt: skip

    assert found.rule == "worker-start-failed"
    assert found.title.startswith("step_load.py:9 runs again in each worker process")
    texts = [each.text for each in found.evidence]
    assert (
        "A program of the driver raised RuntimeError: Nanny failed to start." in texts
    )
    assert (
        f"The driver raised CalledProcessError with that program's exit code: {call}"
        in texts
    )


def test_a_program_that_raised_nothing_leaves_the_driver_its_own_exception() -> None:
    call = "Command '['gdalwarp', 'a.tif']' returned non-zero exit status 3."
    own = an_exception("subprocess.CalledProcessError", call, traceback="its own")

    assert the_verdict_on(failed_with(own, at=7)).rule == "driver-exception"


def test_workers_that_never_fit_their_memory_limit_did_not_arrive_for_that() -> None:
    restarted = [
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=at, pid=1, rss=50 * 2**20
        )
        for at in (5, 8)
    ]
    found = the_verdict_on(*restarted, failed_with(WAITED, at=20))

    assert (found.rule, found.confidence) == ("worker-memory-limit", "high")
    assert "restarted 2 times" in found.title
    assert "before they ran a task" in found.title
    assert the_verdict_on(*restarted[1:], failed_with(WAITED, at=20)).rule == (
        "workers-never-arrived"
    )


def test_a_scheduler_that_the_driver_did_not_reach_is_no_worker_that_failed_to_start() -> (
    None
):
    message = "Timed out trying to connect to tcp://127.0.0.1:38339 after 20 s"
    exception = msgspec.structs.replace(
        an_exception("OSError", message),
        traceback="asyncio.exceptions.CancelledError\n"
        + LINK
        + f"OSError: {message}\n",
    )
    printed = a_log_line(f"OSError: {message}", role="driver", source="driver", at=9.0)
    found = the_verdict_on(printed, failed_with(exception), recorded=False)

    assert found.rule == "cannot-connect"


def test_a_worker_that_its_nanny_gave_up_has_no_reason_but_the_timeout() -> None:
    exception = msgspec.structs.replace(
        an_exception("RuntimeError", "Nanny failed to start."),
        traceback="_queue.Empty\n" + LINK + "RuntimeError: Nanny failed to start.\n",
    )
    line = a_log_line(
        "Closing Nanny at 'tcp://n1'. Reason: failure-to-start-<class 'TimeoutError'>",
        role="nanny", source="tcp://n1", at=9.0,
    )  # fmt: skip
    found = the_verdict_on(line, failed_with(exception))

    assert found.title == "A worker failed to start"
    assert "`death_timeout`" in found.cause


def test_the_port_that_another_process_has_is_named() -> None:
    trace = (
        f'Traceback:\n  File "{SITE}/tornado/netutil.py", line 162, in bind_sockets\n'
        "    sock.bind(sockaddr)\nOSError: [Errno 98] Address already in use\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        f'Traceback:\n  File "{SITE}/distributed/deploy/spec.py", line 5, in _start\n'
        "RuntimeError: Cluster failed to start: Scheduler failed to start."
    )
    error = an_exception(
        "RuntimeError",
        "Cluster failed to start: Scheduler failed to start.",
        traceback=trace,
        chain=("OSError",),
    )
    error = msgspec.structs.replace(error, found={"address": "127.0.0.1:8786"})
    found = the_verdict_on(failed_with(error), recorded=False)

    assert found.rule == "worker-start-failed"
    assert "listens on the port of the scheduler (127.0.0.1:8786)." in found.cause


def test_the_reason_of_a_nanny_on_a_shared_stderr_is_read_below_its_first_line() -> (
    None
):
    printed = [
        "2026-11-26 12:49:49,647 - distributed.nanny - ERROR - Failed to start process",
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/core.py", line 509, in start',
        "    sock.bind(sockaddr)",
        "OSError: [Errno 98] Address already in use",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/nanny.py", line 434, in instantiate',
        "RuntimeError: Worker failed to start.",
    ]
    lines = [
        a_log_line(
            line, at=5.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(printed)
    ]
    found = the_verdict_on(*lines, failed_with(WAITED), recorded=False)

    assert (
        found.title
        == "A worker failed to start: OSError: [Errno 98] Address already in use"
    )
    assert "the worker's port" in (found.remedy or "")


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (["Run preload setup: refs.py"], "a worker was still running its preload refs.py"),
        (
            [
                "Run preload setup: refs.py",
                "Start worker at:      tcp://w1",
                "Run preload setup: refs.py",
                "2026-11-27 09:20:51,747 - distributed.preload.refs - WARNING - copied 2 of 12",
            ],
            "refs.py, which had last printed “copied 2 of 12”",
        ),
        (["Run preload setup: refs.py", "Start worker at:      tcp://w1"], ""),
        (["Run preload setup: /srv/dask_blackbox_preload.py"], ""),
    ],
    ids=["silent", "it reports", "set up", "ours"],
)  # fmt: skip
def test_a_worker_that_still_runs_its_preload_has_not_arrived(
    printed: list[str], said: str
) -> None:
    lines = [
        a_log_line(
            line, at=3.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(printed)
    ]
    found = the_verdict_on(*lines, failed_with(WAITED))

    assert found.rule == "workers-never-arrived"
    assert said in found.title
    assert ("still running its preload" in found.title) == bool(said)


def test_tasks_that_timed_out_before_any_worker_joined_name_the_running_preload() -> (
    None
):
    lines = [
        a_log_line(
            line, at=3.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(
            [
                "Run preload setup: /srv/jobs/tiles.py",
                "2026-11-27 09:20:51,747 - distributed.preload.tiles - INFO - zone 5 of 14",
            ]
        )
    ]
    text = "Attempted to run task 'load-5' but timed out after 8.00 s waiting without any running workers."
    error = an_exception("distributed.scheduler.NoWorkerError", text)
    found = the_verdict_on(*lines, *raised_in("load-5", error, at=11.0))

    assert found.rule == "no-valid-worker"
    assert found.title.startswith(
        "No worker had joined when 'load' timed out; a worker was "
    )
    assert "its preload tiles.py, which had last printed “zone 5 of 14”" in found.title
    assert "no-workers-timeout" in (found.remedy or "")


def _given_up(
    *more: str, reason: str = "failure-to-start-<class 'TimeoutError'>"
) -> Finding:
    """Return the verdict on a run whose worker's command gave its worker up after 12 s."""
    closing = "Closing Nanny at 'tcp://10.0.0.1:3999'. Reason: "
    printed = [
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/nanny.py", line 908, in _wait_until_connected',
        "    msg = init_result_q.get_nowait()",
        "_queue.Empty",
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/core.py", line 509, in start',
        "    await wait_for(self.start_unsafe(), timeout=timeout)",
        "TimeoutError",
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        f'  File "{SITE}/dask/__main__.py", line 7, in main',
        f'  File "{SITE}/distributed/nanny.py", line 846, in kill',
        "    assert self.status in (",
        "AssertionError: Status.starting",
    ]
    lines = [
        (2.0, "        Start Nanny at: 'tcp://10.0.0.1:3999'"),
        *((3.0, line) for line in more),
        (14.0, closing + reason),
        *((14.5, line) for line in printed),
    ]
    failed = an_event(
        "program-failed", "driver", at=15.0, code=1, program_pid=9,
        command="dask worker --scheduler-file s.json --death-timeout 12",
    )  # fmt: skip
    return the_verdict_on(
        *(
            a_log_line(
                line, at=at, role="driver", source="driver", logger="stderr", seq=seq
            )
            for seq, (at, line) in enumerate(lines)
        ),
        failed,
        failed_with(WAITED, at=20),
    )


def test_a_worker_that_its_nanny_gave_up_is_named_by_the_first_link_of_the_traceback() -> (
    None
):
    found = _given_up("Run preload setup: /srv/jobs/site_setup.py")

    assert (found.rule, found.confidence) == ("worker-start-failed", "high")
    assert found.title == (
        "A worker was given up 12 s after its start (`--death-timeout 12`), still in "
        "`dask_setup` of site_setup.py"
    )
    assert "AssertionError: Status.starting" in found.cause


def test_a_preload_that_had_ended_is_not_what_a_worker_was_given_up_in() -> None:
    found = _given_up(
        "Run preload setup: /srv/jobs/site_setup.py",
        "Start worker at:      tcp://10.0.0.1:3998",
    )

    assert found.confidence == "medium"
    assert found.title == (
        "A worker was given up 12 s after its start (`--death-timeout 12`)"
    )


def test_a_nanny_that_closed_for_another_reason_gave_no_worker_up() -> None:
    found = _given_up(reason="nanny-close")

    assert "given up" not in found.title


LIFETIME = a_life_that_ends("tcp://w2", at=9.0)
RETIRED = a_departure("tcp://w2", at=9.0, expected=True, stimulus="retire-workers-9")


@pytest.mark.parametrize(
    ("had", "left", "rule", "how"),
    [
        ({"GPU": 1}, LIFETIME, "worker-lifetime", "left at the end of its lifetime"),
        ({"GPU": 1}, RETIRED, "no-valid-worker", "was retired"),
        ({}, LIFETIME, "no-valid-worker", ""),
    ],
    ids=["lifetime", "retired", "another worker"],
)
def test_the_departure_of_the_only_worker_that_a_task_asks_for_is_the_reason(
    had: dict[str, float], left: list[Any], rule: str, how: str
) -> None:
    task = {"key": "train-1", "hosts": [], "workers": [], "resources": {"GPU": 1}}
    kind, (at, name, subject, fields) = a_worker("tcp://w2", pid=101)
    special = (
        kind,
        (at, name, subject, json.dumps(json.loads(fields) | {"resources": had})),
    )
    stall = an_event(
        "stall", at=80.0, lasted=60, workers=1, statuses={"running": 1},
        states={"no-worker": 3}, unrunnable=[{**task, "loose": False}],
    )  # fmt: skip
    found = the_verdict_on(
        a_worker(), special, left, stall,
        failed_with(TIMED_OUT, at=90), a_departure(at=91.0, expected=True),
    )  # fmt: skip

    assert found.rule == rule
    begins = f"The worker that 'train' asks for {how}; then no worker could run"
    assert found.title.startswith(begins) == bool(how)
    assert "Every worker" not in found.title


@pytest.mark.parametrize(
    ("address", "rule"),
    [("tcp://127.0.0.66:23786", "workers-never-arrived"), ("tcp://s1:8786", None)],
    ids=["another", "its own"],
)
def test_workers_that_gave_up_on_another_address_name_it(
    address: str, rule: str | None
) -> None:
    connects = f'  File "{SITE}/distributed/comm/core.py", line 368, in connect'
    lines = [
        "Traceback (most recent call last):",
        connects,
        "distributed.comm.core.CommClosedError: ConnectionRefusedError: refused",
        LINK.strip(),
        "Traceback (most recent call last):",
        connects,
        f"OSError: Timed out trying to connect to {address} after 30 s",
        LINK.strip(),
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/cli/dask_worker.py", line 445, in run',
        "RuntimeError: Nanny failed to start.",
    ]
    printed = [
        a_log_line(
            line, at=5.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(lines)
    ]
    exited = an_event(
        "program-failed", "driver", at=6.0, pid=1, program_pid=2, code=1,
        command="python -m dask worker --scheduler-file current/scheduler.json",
    )  # fmt: skip
    here = an_event("scheduler-info", "tcp://s1:8786", at=0.5)
    found = the_verdict_on(here, *printed, exited, failed_with(WAITED))

    assert (found.rule == "workers-never-arrived") == (rule is not None)
    assert (f"they tried to connect to {address}" in found.title) == (rule is not None)
    assert ("1 worker had been started with the address" in found.cause) == bool(rule)
    assert found.confidence == ("high" if rule else "medium")
    if rule is not None:
        assert f"Timed out trying to connect to {address}" in found.evidence[0].text


@pytest.mark.parametrize(
    ("listens", "given", "rule"),
    [
        ("127.0.0.1", "127.0.0.7", "workers-never-arrived"),
        ("127.0.0.1", "10.0.0.5", "workers-never-arrived"),
        ("127.0.0.1", "127.0.0.1", "worker-start-failed"),
        ("10.0.0.5", "192.168.1.5", "worker-start-failed"),  # may be the same host
        ("10.0.0.5", "127.0.0.1", "worker-start-failed"),
    ],
)
def test_workers_whose_start_timed_out_name_an_address_that_leads_nowhere(
    listens: str, given: str, rule: str
) -> None:
    address = f"tcp://{given}:8786"
    closing = (
        "2026-11-29 14:10:49,858 - distributed.nanny - INFO - Closing Nanny at "
        "'tcp://127.0.0.1:40091'. Reason: failure-to-start-<class 'TimeoutError'>"
    )
    timed_out = "distributed.dask_worker - INFO - Timed out starting worker"
    printed = [
        a_log_line(
            line, at=5.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate((closing, timed_out))
    ]
    exited = an_event(
        "program-failed", "driver", at=6.0, pid=1, program_pid=2, code=1,
        command=f"dask worker {address} --nthreads 1 --death-timeout 9",
    )  # fmt: skip
    here = an_event("scheduler-info", f"tcp://{listens}:8786", at=0.5)
    found = the_verdict_on(here, *printed, exited, failed_with(WAITED))

    assert found.rule == rule
    assert (address in found.title) == (rule == "workers-never-arrived")


def test_workers_that_joined_another_scheduler_while_the_driver_handled_its_timeout() -> (
    None
):
    pieces = [
        an_event("scheduler-info", "tcp://10.0.0.1:8786", at=1, pid=1),
        an_event("scheduler-info", "tcp://10.0.0.1:8787", at=1.1, pid=1),
        an_event("worker-added", "tcp://w1", at=2, scheduler="tcp://10.0.0.1:8786"),
        a_worker(),
        an_event(
            "driver-call-failed", "driver", at=14.0, call="Client.wait_for_workers",
            exception=WAITED.exception, message=WAITED.message, identity="1", pid=1,
            file="/jobs/nightly.py", line=84,
        ),
        a_log_line(
            "ERROR no bids: Only 0/1 workers arrived", at=14.1, role="driver",
            source="driver", logger="stderr",
        ),
    ]  # fmt: skip
    ended = failed_with(an_exception("SystemExit", "bids missing"), at=15)
    run = a_run(*pieces, ended)
    found = the_verdict(run)
    assert (found.rule, found.confidence) == ("workers-never-arrived", "medium")
    assert found.title.endswith("; those that started joined another scheduler")
    assert "No worker ever joined the scheduler at tcp://10.0.0.1:8787" in found.cause
    graph = an_event("graph-updated", "Client-1", at=14.5, graph=1, tasks=1)
    run = a_run(*pieces, graph, ended)
    found = the_verdict(run)
    assert found.rule == "driver-exception"


def test_a_scheduler_of_a_cluster_of_subprocesses_is_named_with_what_it_printed() -> (
    None
):
    prefix = "2026-11-27 22:01:17,071 - distributed.deploy.subprocess - ERROR - "
    lines = [
        f"{prefix}Traceback (most recent call last):",
        f'  File "{SITE}/dask/__main__.py", line 11, in <module>',
        "    main()",
        f'  File "{SITE}/distributed/cli/dask_spec.py", line 63, in main',
        "    asyncio_run(run())",
        "TypeError: expected str, got 'int'",
    ]
    message = (
        "Cluster failed to start: Scheduler failed to start and exited with code 1"
    )
    found = the_verdict_on(
        *(
            a_log_line(
                line, at=5.0, seq=n, role="driver", source="driver", logger="stderr"
            )
            for n, line in enumerate(lines)
        ),
        failed_with(an_exception("RuntimeError", message), at=6.0),
        recorded=False,
    )

    assert found.rule == "worker-start-failed"
    assert found.title == (
        "A scheduler failed to start: TypeError: expected str, got 'int'"
    )


def test_a_module_is_where_the_driver_has_it_though_it_handled_the_error() -> None:
    message = "No module named 'strapping'"
    found_here = {"module": "strapping", "file": "/jobs/strapping.py"}
    bad = [
        a_failed_task(f"level-{n}", "ModuleNotFoundError", message, at=5.0)
        for n in range(2)
    ]
    received = [
        an_event(
            "driver-call-failed", "driver", at=6.0, call="Future.result", pid=1,
            exception="ModuleNotFoundError", message=message, key=f"level-{n}",
            identity=str(n), found=found_here,
        )
        for n in range(2)
    ]  # fmt: skip
    shown = (
        'Traceback:\n  File "/jobs/nightly.py", line 3, in main\n    sys.exit(bad)\n'
        "SystemExit: 2 of 2 tanks failed"
    )
    ended = an_exception("SystemExit", "2 of 2 tanks failed", traceback=shown)

    found = the_verdict_on(a_worker(), a_graph(), *bad, *received, failed_with(ended))

    assert found.rule == "module-not-shipped"


def test_an_actor_is_lost_where_the_driver_prints_that_as_it_exits() -> None:
    lost = "Worker holding Actor was lost.  Status: error"
    pieces = [*an_actor()[:-1], failed_with(None, exit_code=1, at=20.0)]
    line = a_log_line(
        f"ERROR depot no plan after 7 s: RuntimeError('{lost}')",
        at=19.9, role="driver", source="driver", logger="stderr", level=20,
    )  # fmt: skip

    assert the_verdict_on(*pieces, line).rule == "actor-lost"
    assert the_verdict_on(*pieces).rule != "actor-lost"


def test_a_worker_of_an_earlier_cluster_is_none_that_had_a_resource() -> None:
    added = [
        an_event(
            "worker-added", f"tcp://w{n}", at=at, name=str(n), host="h", pid=n,
            nthreads=1, scheduler=scheduler, resources=resources,
        )
        for n, at, scheduler, resources in (
            (1, 1.0, "inproc://s1", {"chem": 1}),
            (2, 5.0, "tcp://s2", {"Chem": 1}),
        )
    ]  # fmt: skip
    stall = an_event(
        "stall", at=80.0, lasted=60, workers=1, statuses={"running": 1},
        states={"no-worker": 1},
        unrunnable=[{"key": "aroma-1", "resources": {"chem": 1}}],
    )  # fmt: skip
    found = the_verdict_on(
        an_event("scheduler-info", "inproc://s1", at=0.5, pid=1),
        an_event("scheduler-info", "tcp://s2", at=4.0, pid=1),
        *added, *a_departure("tcp://w1", at=3.0), a_graph(), stall,
        failed_with(TIMED_OUT, at=90),
    )  # fmt: skip

    assert found.rule == "no-valid-worker"
    assert "the name 'Chem' is similar" in found.cause
    assert "any more" not in found.cause


@pytest.mark.parametrize(
    ("line_at", "rule"), [(5.0, "worker-start-failed"), (12.0, "workers-never-arrived")]
)
def test_a_start_that_failed_before_other_workers_died_is_why_none_arrived(
    line_at: float, rule: str
) -> None:
    waited = an_exception(
        "distributed.client.WorkerStartTimeoutError",
        "Only 0/2 workers arrived after 20",
    )
    line = a_log_line(
        "Failed to start process\nTraceback:\nOSError: [Errno 98] Address already in use",
        at=line_at,
        role="nanny",
    )

    found = the_verdict_on(
        a_worker(), *a_death(exit_code=-15, at=9.0), line, failed_with(waited)
    )

    assert found.rule == rule
