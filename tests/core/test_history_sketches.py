"""Sketches: small, the same for the same run, read with care, and kept by a job's name."""

from __future__ import annotations

import contextlib
import gzip
import json

import msgspec
import pytest
from dask_blackbox.analyse import Case
from dask_blackbox.analyse.sketching import normal_prefix, sketch_of
from dask_blackbox.analyse.sketching.normalisation import normal_message
from dask_blackbox.analyse.sketching.prefix_sketches import with_cpu
from dask_blackbox.errors import FutureFormatError, MalformedRecordingError
from dask_blackbox.events.driver import ClusterKind
from dask_blackbox.layout import RunAddress, read_sketch_name, sketch_name
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import (
    LARGEST,
    REST,
    Fingerprint,
    Sketch,
    packed,
    read_sketch,
)
from hypothesis import given
from hypothesis import strategies as st
from runs_from_rows import (
    a_failed_task,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    succeeded,
    the_verdict,
)
from sketches import GIB, a_night, a_prefix

ADDRESS = RunAddress.of("a/b", "scheduled__2026-11-21T00:00:00+00:00", 2)


def fingerprint_of(run: RunTables) -> Fingerprint:
    verdict = the_verdict(run)
    fingerprint = sketch_of(Case(run), verdict).fingerprint
    assert fingerprint is not None
    return fingerprint


def test_a_sketch_is_read_back_as_it_was() -> None:
    assert read_sketch(packed(a_night(3))) == a_night(3)


def test_the_same_sketch_has_the_same_bytes() -> None:
    assert packed(a_night(3)) == packed(a_night(3))


def test_a_sketch_that_would_be_too_large_keeps_what_costs_most() -> None:
    many = tuple(a_prefix(f"{n:x}" * 40, code=f"{n * 7919:x}") for n in range(4000))
    large = {f"package{n}": f"{n * 104729 % 1000003:x}" * 9 for n in range(4000)}
    blob = packed(a_night(prefixes=many, facts={"package/driver": large}))

    assert len(blob) <= LARGEST
    assert read_sketch(blob).prefixes[:1] == many[:1]


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"nonsense",
        gzip.compress(b"nonsense", mtime=0),
        gzip.compress(b'{"format": 1}', mtime=0),
        gzip.compress(b'{"format": "x"}', mtime=0),
        packed(a_night())[:-9],
        gzip.compress(b" " * 2**23, mtime=0),
    ],
)
def test_what_is_no_sketch_is_refused(blob: bytes) -> None:
    with pytest.raises(MalformedRecordingError):
        read_sketch(blob)


@given(st.binary(max_size=64), st.integers(0, 500))
def test_a_damaged_sketch_never_raises_anything_else(noise: bytes, place: int) -> None:
    blob = packed(a_night())
    damaged = blob[:place] + noise + blob[place + len(noise) :]
    with contextlib.suppress(MalformedRecordingError):
        read_sketch(damaged)


def test_a_sketch_of_a_newer_version_is_refused_with_advice() -> None:
    newer = msgspec.json.encode(a_night()).replace(b'{"', b'{"format":9,"', 1)

    with pytest.raises(FutureFormatError, match="upgrade"):
        read_sketch(gzip.compress(newer))


def test_fields_of_a_later_version_of_the_same_format_are_passed_over() -> None:
    reported = json.loads(msgspec.json.encode(a_night()))

    later = gzip.compress(json.dumps(reported | {"weather": "fine"}).encode())
    assert read_sketch(later) == a_night()


def test_a_name_reports_what_is_asked_most() -> None:
    name = sketch_name(
        ADDRESS,
        1_795_230_000.25,
        "failed",
        duration=12.5,
        input_bytes=10**12,
        partitions=240,
        peak_memory=8 * GIB,
        verdict="worker-memory-limit",
        fingerprint="0123456789ab",
    )
    reported = read_sketch_name(name)

    assert reported is not None
    assert (reported.address, reported.started_ms) == (ADDRESS, 1_795_230_000_250)
    assert (reported.state, reported.duration, reported.input_bytes) == (
        "failed",
        12.5,
        10**12,
    )
    assert (reported.partitions, reported.peak_memory) == (240, 8 * GIB)
    assert (reported.verdict, reported.fingerprint) == (
        "worker-memory-limit",
        "01234567",
    )


def test_the_longest_name_is_one_that_any_store_takes() -> None:
    name = sketch_name(
        RunAddress.of("j" * 300, "r/" * 300, 9999),
        1_795_230_000.0,
        "succeeded",
        duration=1e8,
        input_bytes=10**15,
        partitions=10**8,
        peak_memory=10**14,
        verdict="v" * 99,
        fingerprint="f" * 12,
    )

    assert max(len(part) for part in name.split("/")) <= 240


@pytest.mark.parametrize("name", ["sketches/x", "sketches/j/x~y", "index/all/1~a~1~x"])
def test_other_names_are_no_sketches(name: str) -> None:
    assert read_sketch_name(name) is None


@pytest.mark.parametrize(
    ("prefix", "normal"),
    [
        ("load", "load"),
        ("load-2026-11-21", "load-#"),
        ("step1", "step1"),
        ("chunk_17", "chunk_#"),
        ("read-5b1e77aa90", "read-#"),
        ("facade", "facade"),
    ],
)
def test_a_prefix_is_known_again(prefix: str, normal: str) -> None:
    assert normal_prefix(prefix) == normal


def test_messages_that_differ_in_numbers_and_keys_are_one() -> None:
    one = "bad row 17 of ('load-aa11bb22', 3) at 0x7f0012 on tcp://10.0.0.1:4001"
    other = "bad row 4,211 of ('load-ff99ee88', 12) at 0x7faaaa on tcp://10.0.0.9:5001"

    assert normal_message(one) == normal_message(other)
    assert normal_message(one) != normal_message("bad column 17")


def a_failing_run(
    *, line: int, key: str, day: str, function: str = "clean"
) -> RunTables:
    traceback = (
        "Traceback (most recent call last):\n"
        f'  File "/jobs/{day}/shop.py", line {line}, in {function}\n    raise\n'
        f"ValueError: bad row {line} on {day}\n"
    )
    raised = an_exception("ValueError", f"bad row {line} on {day}", traceback=traceback)
    failure = a_failed_task(
        key, "ValueError", f"bad row {line} on {day}", traceback=traceback
    )
    return a_run([a_worker()], [failure], raised_in("other-1", raised)[1:])


def test_a_failure_is_known_again_on_another_day_line_and_key() -> None:
    one = a_failing_run(line=12, key="clean-1", day="2026-11-20")
    other = a_failing_run(line=40, key="clean-22", day="2026-11-21")

    assert fingerprint_of(one) == fingerprint_of(other)


def test_failures_in_other_functions_are_others() -> None:
    one = a_failing_run(line=12, key="clean-1", day="2026-11-20")
    other = a_failing_run(line=12, key="clean-1", day="2026-11-20", function="join")

    assert fingerprint_of(one).id != fingerprint_of(other).id


def test_a_run_is_sketched_by_prefix() -> None:
    run = a_run(
        [a_worker("tcp://w1")],
        [
            an_event(
                "graph-updated",
                "client",
                tasks=8,
                prefixes={"load": 4, "join": 4},
                new={"load": [4, 4], "join": [4, 0]},
                code={"join": "abc"},
            )
        ],
        [a_task(f"load-{n}", start=3 + n, compute=1.0, nbytes=1000) for n in range(3)],
        [a_task("join-1", start=7, compute=9.0)],
        [a_sample("tcp://w1", at=8, memory=GIB)],
        [succeeded()],
    )
    sketch = sketch_of(Case(run))
    join, load = sketch.prefixes

    assert (join.name, join.compute, join.code, join.planned) == ("join", 9.0, "abc", 4)
    assert join.memory[-1] == pytest.approx(GIB, rel=1e-3)
    assert (load.tasks, load.planned, load.roots, load.seconds[2]) == (3, 4, 4, 1.0)
    # One of four was not read: the others stand for it.
    assert (sketch.inputs.partitions, sketch.inputs.nbytes) == (4, 4000)


@pytest.mark.parametrize(
    ("cpu", "waited", "known"),
    [(60.0, 40.0, 60.0), (30.0, 20.0, 60.0), (6.0, 4.0, None)],
)
def test_cpu_time_is_estimated_from_reports_unless_they_are_few(
    cpu: float, waited: float, known: float | None
) -> None:
    join = a_prefix("join-#", compute=100.0)
    reported = {"join-1": {"thread-cpu": cpu, "thread-noncpu": waited}}

    assert with_cpu((join,), reported)[0].cpu == known


def test_states_of_tasks_of_a_prefect_flow_are_no_input() -> None:
    graph = an_event("graph-updated", "scheduler", new={"load": [2, 2]})

    def inputs(nbytes: int) -> tuple[int | None, int | None]:
        tasks = [a_task(f"load-{n}", start=3 + n, nbytes=nbytes) for n in range(2)]
        run = a_run([a_worker()], [graph], tasks, [succeeded()])
        run.manifest = msgspec.structs.replace(run.manifest, host={"kind": "prefect"})
        reported = sketch_of(Case(run)).inputs
        return reported.partitions, reported.nbytes

    assert inputs(80) == (2, None)
    assert inputs(1_000_000) == (2, 2_000_000)


def test_beyond_the_largest_prefixes_all_are_one() -> None:
    tasks = [a_task(f"p{n}x-1", start=2.0, compute=0.1) for n in range(400)]
    sketch = sketch_of(Case(a_run([a_worker()], tasks, [succeeded()])))

    assert len(sketch.prefixes) == 151
    assert (sketch.prefixes[-1].name, sketch.prefixes[-1].tasks) == (REST, 250)


def test_an_empty_run_has_a_sketch_too() -> None:
    sketch = sketch_of(Case(a_run([failed_with(None)])))

    assert isinstance(sketch, Sketch)
    assert sketch.prefixes == ()
    assert {"package/driver", "package/workers"} <= {*sketch.unknown}


def test_a_malformed_graph_event_costs_nothing_else() -> None:
    event = an_event("graph-updated", "c", new={"tokens": ["[redacted]", 1]}, code=[1])
    sketch = sketch_of(Case(a_run([a_worker()], [event], [a_task()], [succeeded()])))

    assert [each.name for each in sketch.prefixes] == ["inc"]


def test_what_identifies_a_runs_own_cluster_is_no_fact_to_compare() -> None:
    """Each field of the cluster object is compared, or is another one for each cluster."""
    compared = {"kind": "SLURMCluster", "image": "dask:1", "gateway": "https://gateway"}
    own = {
        "scheduler": "tcp://s:1",
        "owned": "Scheduler-1",
        "name": "dask.7f3e",
        "units": {"SLURMCluster-0": "12"},
        "folder": "/scratch/logs-12",
        "page": "https://cloud.coiled.io/clusters/7",
    }
    assert {*compared, *own} == {*ClusterKind.__struct_fields__} - {
        "extra",
        "malformed",
    }
    attached = an_event("driver-attached", at=0, pid=7, cluster=compared | own)

    facts = sketch_of(Case(a_run(a_worker(), attached, succeeded()))).facts

    shape = facts["cluster-shape"]
    assert {name: shape[name] for name in compared} == compared
    assert not own.keys() & shape.keys()
