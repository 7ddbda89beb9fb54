"""A remedy is offered only if what it changes is what the evidence shows to be short.

Each pair is the recording of a run for which a remedy helps, and of one for which it does not.
"""

from __future__ import annotations

import pytest
from dask_blackbox.finding import Finding
from kept_recordings import diagnosed, names


def found(name: str, rule: str) -> Finding:
    """Return what a rule found in a recording."""
    [of] = [each for each, there in names() if there == name]
    card = diagnosed(of, name).card
    everything = (*card.findings, *filter(None, [card.verdict]))
    return next(each for each in everything if each.rule == rule)


@pytest.mark.parametrize(
    ("rule", "remedy", "helps", "is_impossible"),
    [
        pytest.param(
            "io-bound",
            "Give these workers more threads",
            "a_reduction_ends_in_one_long_step",
            "every_chunk_is_read_under_one_lock",
            id="more threads, of tasks that wait for one lock",
        ),
        pytest.param(
            "worker-memory-limit",
            "or make the pieces smaller",
            "one_task_reads_everything",
            "one_compressed_file_does_not_fit",
            id="more partitions, of one compressed file",
        ),
        pytest.param(
            "driver-bound",
            "`dask.compute(a, b, c)`",
            "sums_fetched_one_by_one",
            "each_submit_pickles_a_heavy_object",
            id="one computation, of a driver that hashes a heavy object",
        ),
    ],
)
def test_what_cannot_help_is_not_offered(
    rule: str, remedy: str, helps: str, is_impossible: str
) -> None:
    assert remedy in found(helps, rule).remedy
    assert remedy not in found(is_impossible, rule).remedy
