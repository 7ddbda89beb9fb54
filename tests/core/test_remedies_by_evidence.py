"""A remedy is offered only if what it changes is what the evidence shows to be short.

Each pair is the recording of a run for which a remedy helps, and of one for which it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from dask_blackbox.analyse import RULES, Case
from dask_blackbox.analyse.offers import beyond_host
from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from kept_recordings import diagnosed, names
from runs_from_rows import (
    Piece,
    a_failed_task,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    the_verdict,
)

pytestmark = pytest.mark.xdist_group("kept-recordings")
GIB = 2**30


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


def findings(card: RunCard) -> Iterator[Finding]:
    """Yield the verdict and the other findings of a card."""
    yield from filter(None, [card.verdict])
    yield from card.findings


def impossible(run: RunTables, card: RunCard, remedy: str) -> list[str]:
    """Return what a remedy offers that cannot be changed, or was not short."""
    threads = [each for each in run.workers["nthreads"].to_list() if each]
    numbers, sources = card.numbers, {} if run.ending is None else run.ending.sources
    dropped = any(any(each.dropped.values()) for each in sources.values())
    more = re.search(r"more threads: about (\d+) instead of (\d+)", remedy)
    slugs = {rule.slug for rule in RULES}
    found = {
        "fewer threads than one": max(threads, default=0) <= 1
        and re.search(
            r"fewer threads per worker|fewer tasks at once|\(try `threads_per", remedy
        ),
        "copies on one worker": numbers["workers"] <= 1
        and re.search(r"losing one worker|a copy on every worker", remedy),
        "a larger buffer, of which nothing was dropped": not dropped
        and "blackbox.capture.buffer" in remedy,
        "threads for tasks that there are not": more is not None
        and not int(more[2]) < min(int(more[1]), numbers["executions"]),
        "the page of a rule that does not exist": {
            *re.findall(r"dask blackbox rules ([a-z0-9-]+)", remedy)
        }
        - slugs,
        "retries, though all attempts failed": "attempts failed" in remedy
        and "retries=" in remedy,
        "partitions of one compressed file": "compressed file is one piece" in remedy
        and re.search(r"partitions or chunks, not|more partitions", remedy),
    }
    return [text for text, wrong in found.items() if wrong]


@pytest.mark.parametrize(("of", "name"), names(), ids=[":".join(e) for e in names()])
def test_no_remedy_is_impossible(of: str, name: str) -> None:
    run, card, _ = diagnosed(of, name)

    offered = {each.rule: impossible(run, card, each.remedy) for each in findings(card)}
    assert {rule: what for rule, what in offered.items() if what} == {}


def test_what_cannot_be_offered_is_recognised() -> None:
    """Else the test above would not fail."""
    run, card, _ = diagnosed(*names()[0])
    card.numbers.update(workers=1, executions=8)

    for remedy in (
        "Run fewer tasks at once.",
        "Scatter it with `broadcast=True`, so that losing one worker does not matter.",
        "Raise `blackbox.capture.buffer`.",
        "Give these workers more threads: about 16 instead of 8.",
        "See `dask blackbox rules no-such-rule`.",
        "But all 2 attempts failed: `retries=3`.",
        "A compressed file is one piece: at least 4 partitions or chunks, not 2.",
    ):
        assert impossible(run, card, remedy) != [], remedy


def on_a_host(memory: int, *, workers: int, limit: int = 4 * GIB) -> Case:
    """Return a run whose workers share a host with so much memory."""
    pieces: list[Piece] = []
    for number in range(workers):
        address = f"tcp://w{number}"
        pieces += [
            a_worker(address, memory_limit=limit, pid=100 + number),
            an_event(
                "process-load", address, at=9, seconds=8, cores=4, host_memory=memory
            ),
        ]
    return Case(a_run(*pieces))


@pytest.mark.parametrize(
    ("memory", "workers", "said"),
    [
        pytest.param(16 * GIB, 4, "enough for 2 such workers, not for 4", id="shared"),
        pytest.param(4 * GIB, 1, "has 4 GiB in all: that takes a larger one", id="all"),
        pytest.param(64 * GIB, 4, "", id="enough"),
    ],
)
def test_memory_that_the_host_does_not_have_is_not_promised(
    memory: int, workers: int, said: str
) -> None:
    found = beyond_host(on_a_host(memory, workers=workers), 8 * GIB)

    assert said in found
    assert bool(found) == bool(said)


def remedy_of(exception: str, message: str, *pieces: Piece) -> str:
    """Return the remedy of a task 'load' that raised this in the end."""
    raised = raised_in("load-9", an_exception(exception, message), at=10.0)
    return the_verdict(a_run(a_worker(), *pieces, raised)).remedy


_CURED = (
    a_failed_task("load-3", "jobs.Odd", "odd", outcome="retried"),
    a_task("load-3"),
)


@pytest.mark.parametrize(
    ("exception", "pieces", "retries"),
    [
        pytest.param("TimeoutError", (a_task("load-1"),), True, id="often temporary"),
        pytest.param("jobs.Odd", _CURED, True, id="a retry cured another task"),
        pytest.param("jobs.Odd", (a_task("load-1"),), False, id="nothing is known"),
        pytest.param(
            "TimeoutError",
            [a_failed_task(f"load-{n}", "TimeoutError", "odd") for n in range(3)],
            False,
            id="all tasks failed",
        ),
        pytest.param("KeyError", (a_task("load-1"),), False, id="the same input"),
    ],
)
def test_retries_are_offered_where_something_says_that_they_help(
    exception: str, pieces: tuple[Piece, ...], *, retries: bool
) -> None:
    assert ("retries=3" in remedy_of(exception, "odd", *pieces)) == retries


def test_a_key_is_no_word_about_limits() -> None:
    raised = an_exception("KeyError", "'quota'")

    found = the_verdict(
        a_run(a_worker(), raised_in("load-9", raised), failed_with(raised))
    )
    assert found.retry_advice == "data"
