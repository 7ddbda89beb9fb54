"""What NVML says of workers' GPUs is sampled, shown, and part of why their memory was exhausted."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.facts.devices import devices_of
from dask_blackbox.card import card_of
from dask_blackbox.report import html
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.curves import series_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    START,
    Piece,
    a_run,
    a_sample,
    a_worker,
    an_event,
    an_exception,
    raised_in,
    the_verdict,
)

GIB = 2**30
WORKER = "tcp://w1"
EXHAUSTED = "CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 80.00 GiB"


def a_gpu_worker(nthreads: int = 1) -> list[Piece]:
    device = {"gpu": "NVIDIA H200", "gpu_memory": 80 * GIB}
    return [
        a_worker(WORKER, nthreads=nthreads),
        an_event("process-ancestors", WORKER, at=1.1, **device),
    ]


def a_gpu_sample(at: float, gpu: float, used: int) -> Piece:
    kind, row = a_sample(WORKER, at=at)
    return kind, (*row, gpu, used)


def a_gpu_run(*more: Piece, nthreads: int = 1) -> RunTables:
    return a_run(
        a_gpu_worker(nthreads),
        a_gpu_sample(2.0, 20.0, 10 * GIB),
        a_gpu_sample(4.0, 90.0, 76 * GIB),
        *more,
    )


def exhausted() -> list[Piece]:
    error = an_exception("torch.OutOfMemoryError", EXHAUSTED)
    return raised_in("train-1", error, at=5.5)


def test_the_samples_of_a_gpu_are_evidence_of_its_exhausted_memory() -> None:
    found = the_verdict(a_gpu_run(*exhausted(), a_gpu_sample(7.0, 90.0, 79 * GIB)))

    assert found.rule == "task-exception"
    [text] = [each.text for each in found.evidence if each.source == "metrics"]
    assert text.startswith("The memory of the GPU (NVIDIA H200) of worker ")
    assert "76 GiB of 80 GiB were in use 1.5 s before" in text
    assert text.endswith("the most in any sample of the run was 79 GiB.")


def test_a_gpu_that_was_never_sampled_is_evidence_by_its_size() -> None:
    found = the_verdict(a_run(a_gpu_worker(), *exhausted()))

    [text] = [each.text for each in found.evidence if each.source == "metrics"]
    assert text.endswith("it has 80 GiB.")


@pytest.mark.parametrize(
    "run",
    [
        a_run(a_worker(WORKER), *exhausted()),  # nothing is known of its device
        a_gpu_run(*raised_in("train-1", an_exception("ValueError", "no rows"))),
    ],
    ids=["no-nvml", "another-error"],
)
def test_nothing_else_is_evidence_of_a_gpu(run: RunTables) -> None:
    assert not [e for e in the_verdict(run).evidence if e.source == "metrics"]


@pytest.mark.parametrize(("nthreads", "advised"), [(1, False), (4, True)])
def test_one_task_at_a_time_is_advised_only_where_there_were_more(
    nthreads: int, *, advised: bool
) -> None:
    remedy = the_verdict(a_gpu_run(*exhausted(), nthreads=nthreads)).remedy

    assert ("`threads_per_worker=1`" in remedy) is advised
    assert "Use smaller partitions or batches, " in remedy


def test_a_gpu_is_known_by_name_size_peak_and_use() -> None:
    device = devices_of(a_gpu_run())[WORKER]

    assert (device.name, device.total) == ("NVIDIA H200", 80 * GIB)
    assert (device.peak, device.busy) == (76 * GIB, 55.0)
    assert devices_of(a_run(a_worker(WORKER), a_sample(WORKER))) == {}


def shown(run: RunTables) -> str:
    return html(run, card_of(run, findings_in(run)))


def test_the_report_shows_gpus_only_where_there_are_any() -> None:
    page = shown(a_gpu_run())
    other = shown(a_run(a_worker(WORKER), a_sample(WORKER)))

    assert "76.0 GiB" in page
    assert "NVIDIA H200" in page
    assert ("GPU memory" in page, "GPU memory" in other) == (True, False)
    axis = Axis(START, START + 60.0)
    drawn = {each.id: each for each in series_of(a_gpu_run(), axis)}
    assert max(filter(None, drawn["devices"].lines[0].values)) == 76 * GIB
    assert max(filter(None, drawn["gpus"].lines[0].values)) == 90.0
