"""A remedy is offered only if what it changes is what the evidence shows to be short.

Each pair is the recording of a run for which a remedy helps, and of one for which it does not.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask_blackbox.analyse import RULES, Case, findings_in
from dask_blackbox.analyse.offers import beyond_host, is_beyond_host, with_nannies
from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from kept_recordings import diagnosed, names
from loads_from_rows import demand, graphs, the, workers
from runs_from_rows import (
    MIB,
    Piece,
    a_death,
    a_failed_task,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
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


CATALOGUE = tomllib.loads(
    (Path(__file__).parent / "data" / "remedies.toml").read_text(encoding="utf-8")
)
STEPS = re.compile(
    r"\b(?:[Ll]ook|[Cc]heck|[Ff]ind|[Rr]ead|See|Correct|Start|[Ww]ait|died|says?|hide|keep|"
    r"Raise|Remove|Make|Keep|Pass|Provide|Move|Fetch|[Rr]elease|Set|[Uu]se|Split|Put|Reduce|"
    r"Upgrade|Deploy|Ask)\b"
)
"""What a remedy that changes nothing of `changes` begins with: a look, or an act on the code."""

PAIRS = [
    pytest.param(rule, change, *pair, id=f"{rule}-{change}")
    for rule, changes in CATALOGUE["given"].items()
    for change, pair in changes.items()
]


def changes_of(remedy: str | None) -> set[str]:
    """Return what a remedy changes, as the catalogue names it."""
    every = CATALOGUE["changes"].items()
    return {change for change, words in every if re.search(words, remedy or "")}


def remedies_in(name: str) -> dict[str, set[str]]:
    """Return what the remedy of each rule changes that found something in a recording."""
    [of] = [each for each, there in names() if there == name]
    card = diagnosed(of, name).card
    return {each.rule: changes_of(each.remedy) for each in findings(card)}


@pytest.mark.parametrize(("rule", "change", "given", "withheld"), PAIRS)
def test_a_remedy_is_given_with_its_evidence_and_not_without(
    rule: str, change: str, given: str, withheld: str
) -> None:
    others = remedies_in(withheld)

    assert change in remedies_in(given)[rule]
    # Without that rule there, no remedy at all may change it.
    assert all(
        change not in each
        for each in ([others[rule]] if rule in others else others.values())
    )


def test_every_remedy_has_such_a_pair() -> None:
    """Else add it to `data/remedies.toml`: its words, and a recording of each kind."""
    known = {
        (rule, change)
        for rule, changes in CATALOGUE["given"].items()
        for change in changes
    }
    every = [diagnosed(*each).card for each in names()]
    found = [each for card in every for each in findings(card)]
    offered = {(e.rule, change) for e in found for change in changes_of(e.remedy)}
    unknown = {
        e.rule: e.remedy
        for e in found
        if not changes_of(e.remedy) and not STEPS.search(e.remedy or "")
    }

    assert offered == known
    assert unknown == {}


def test_the_rules_without_a_recording_are_listed() -> None:
    """Their pairs are those of `test_remedies_without_a_recording.py`."""
    recorded = {
        each.rule for name in names() for each in findings(diagnosed(*name).card)
    }
    without = CATALOGUE["without_a_recording"]["rules"]

    assert {rule.slug for rule in RULES} - recorded == {*without}


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
    case = on_a_host(memory, workers=workers)
    found = beyond_host(case, 8 * GIB)

    assert said in found
    assert bool(found) == bool(said)
    assert is_beyond_host(case, 8 * GIB) is ("in all: that takes" in found)


@pytest.mark.parametrize(
    ("run", "known"),
    [
        pytest.param(a_run(), True, id="no worker is known"),
        pytest.param(a_run(a_worker()), True, id="processes"),
        pytest.param(a_run(a_worker(nanny=None)), False, id="threads"),
    ],
)
def test_workers_have_nannies_unless_none_of_them_has(
    run: RunTables, *, known: bool
) -> None:
    assert with_nannies(Case(run)) is known


@pytest.mark.parametrize("died", [True, False])
def test_not_to_scale_down_is_said_only_of_workers_that_left_alive(
    *, died: bool
) -> None:
    again = a_log_line(
        "Shuffle 2b9f restarted due to stimulus 'handle-worker-cleanup-17",
        role="scheduler", source="scheduler", level=30,
    )  # fmt: skip
    death: list[Piece] = [*a_death(exit_code=-9)] if died else []
    run = a_run(a_worker(), a_task("('shuffle-transfer-2b9f', 1)"), death, again)
    [found] = [each for each in findings_in(run) if each.rule == "shuffle-restarted"]

    assert ("scale" in found.remedy or "retire" in found.remedy) is not died
    assert ("says" in found.remedy or "say why" in found.remedy) is died


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        pytest.param([4.0] * 2, "into 4 or more", id="few"),
        pytest.param([1.0] * 8, "submit them together", id="one by one"),
    ],
)
def test_more_pieces_are_offered_where_there_are_few(
    seconds: list[float], said: str
) -> None:
    starts = [2 + sum(seconds[:n]) for n in range(len(seconds))]
    own = [
        a_task(f"load-{n}", start=at, compute=took, worker="tcp://w1")
        for n, (at, took) in enumerate(zip(starts, seconds, strict=True))
    ]
    run = a_run(workers(2), graphs(2), own, demand(*[1] * 10), succeeded(at=12))

    assert said in the("workers-idle", run).remedy
    one = found("regular_expression_holds_the_gil", "workers-idle").remedy
    assert "alone computed for 15 s" in one
    assert said not in one


@pytest.mark.parametrize(("compute", "pieces"), [(8.0, True), (1.0, False)])
def test_smaller_pieces_are_offered_where_tasks_used_the_memory(
    compute: float, *, pieces: bool
) -> None:
    limit = 1000 * MIB
    run = a_run(
        a_worker(memory_limit=limit),
        a_task("load-1", start=2, compute=compute),
        a_sample(at=2, memory=100 * MIB),
        a_sample(at=8, memory=980 * MIB),
        succeeded(at=12),
    )
    remedy = the("memory-near-limit", run).remedy

    assert ("make the pieces smaller" in remedy) is pieces
    assert ("outside of tasks" in remedy) is not pieces


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


def spilled(*pieces: Piece, wanted: int = 1) -> str:
    """Return the remedy of a run whose worker has spilled 300 MiB."""
    graph = an_event("graph-updated", "Client-1", at=2, tasks=9, wanted=wanted)
    sample = a_sample(at=8, memory=300 * MIB, spilled=300 * MIB)
    run = a_run(
        a_worker(memory_limit=GIB), graph, a_task("load-1"), sample, *pieces,
        succeeded(at=12),
    )  # fmt: skip
    return the("spilling", run).remedy


def test_to_release_results_is_offered_where_more_than_one_was_asked_for() -> None:
    assert "`persist`" in spilled(wanted=9)
    assert "`persist`" not in spilled(wanted=1)


@pytest.mark.parametrize(("left", "short"), [(100, True), (900, False), (None, False)])
def test_a_larger_disk_is_offered_where_it_was_short_of_room(
    left: int | None, *, short: bool
) -> None:
    free = None if left is None else left * MIB
    load = an_event("process-load", "tcp://w1", at=9, seconds=8, disk_free=free)

    assert ("had only 100 MiB left" in spilled(load)) is short
    assert ("`--local-directory`" in spilled(load)) is short


@pytest.mark.parametrize("given_back", [True, False])
def test_smaller_pieces_are_not_offered_against_what_tasks_leave_behind(
    *, given_back: bool
) -> None:
    def sample(at: float, memory: int, executing: int | None) -> Piece:
        row = [*a_sample(at=at, memory=memory * MIB)[1]]
        row[12] = executing
        return "metric", tuple(row)

    run = a_run(
        a_worker(memory_limit=GIB),
        [a_task(f"score-{n}", start=2 + n, compute=1) for n in range(8)],
        sample(1.5, 100, 0),
        sample(9.5, 900, 1),
        sample(11, 120 if given_back else 890, None),
        succeeded(at=12),
    )
    rules = [each.rule for each in findings_in(run)]

    assert ("chunks-too-large" in rules) is given_back


@pytest.mark.parametrize(
    ("prefix", "caveat"), [("blockwisemerge", True), ("assign", False)]
)
def test_more_partitions_of_a_join_do_not_divide_the_rows_of_one_key(
    prefix: str, *, caveat: bool
) -> None:
    key = f"{prefix}-c4422500464a74e815aaea654abb6c7d"
    death = a_death(exit_code=-15, executing=[key], asked="nanny-memory", at=9)
    restarted = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=8.9, rss=390 * MIB
    )
    raised = raised_in(key, killed_worker(key))
    found = the_verdict(a_run(a_worker(), restarted, *death, *raised))

    assert found.rule == "worker-memory-limit"
    assert ("stay in one partition" in found.remedy) is caveat


@pytest.mark.parametrize(
    ("of", "helps", "not_so"),
    [
        (
            "finalize-hlgfinalizecompute",
            "Write the result from the workers",
            "split_out",
        ),
        ("groupby-sum-agg", "`split_out=8`", "Write the result from the workers"),
    ],
)
def test_what_helps_against_a_result_that_is_too_large_depends_on_who_makes_it(
    of: str, helps: str, not_so: str
) -> None:
    key = f"{of}-da4b3b0bfb1e4330aa8897e768109a03"
    message = (
        f"Task '{key}' has 755.31 MiB worth of input dependencies, but worker tcp://w1 has "
        "memory_limit set to 572.20 MiB."
    )
    (_, row), ending = raised_in(key, an_exception("MemoryError", message))
    found = the_verdict(a_run(a_worker(), ("error", (*row[:2], of, *row[3:])), ending))

    assert found.rule == "result-too-large"
    assert helps in found.remedy
    assert not_so not in found.remedy
