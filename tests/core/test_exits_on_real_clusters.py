"""How workers exit and tasks fail in a user's script, as `dask blackbox run` records it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from dask_blackbox.analyse import Case
from dask_blackbox.analyse.facts.suspects import suspects_of, tasks_at_exit
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of, worker_exits_of
from scenario_runs import SCENARIOS, Home, begin_command, ended

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

SCRIPT = str(SCENARIOS / "exits.py")


@pytest.fixture
def card_of(homes: Callable[[], Home]) -> Callable[[str], RunCard]:
    """Return what records one of the script's functions, and returns its card."""

    def record(how: str) -> RunCard:
        home = homes()
        card = Path(home.folder) / "card.json"
        words = ["blackbox", "run", "--store", str(home.folder / "store")]
        words += ["--card", str(card), "--", sys.executable, SCRIPT, how]
        ended(home, begin_command(home, *words))
        return msgspec.json.decode(card.read_bytes(), type=RunCard)

    return record


def run_of(card: RunCard) -> Run:
    return Run.open(card.links["recording"])


def test_a_crash_in_the_first_task_of_a_second_cluster(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("second_cluster")

    assert card.verdict is not None
    assert card.verdict.rule == "worker-segfault"
    assert card.numbers["deaths"] == 1
    [death] = deaths_of(run_of(card))
    assert (death.exit_code, death.ended_by) == (-11, "crash")


def test_a_worker_process_that_gets_sigterm_under_a_living_nanny(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("signalled_worker")

    assert card.verdict is not None
    assert card.verdict.rule == "worker-signalled"
    [death] = deaths_of(run_of(card))
    assert (death.exit_code, death.ended_by, death.closing) == (-15, "script", None)


def test_the_task_that_allocates_is_blamed(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("two_tasks")

    assert card.verdict is not None
    assert card.verdict.rule == "worker-memory-limit"
    assert card.verdict.subject.key == "load-1"
    assert "'watch'" not in card.verdict.title
    [death] = deaths_of(run_of(card))
    assert suspects_of(death) == ("load-1",)
    tasks = {each.key: each for each in tasks_at_exit(death)}
    assert tasks["watch-1"].waited
    assert tasks["watch-1"].cpu is not None
    assert tasks["load-1"].cpu is not None
    assert tasks["load-1"].cpu > tasks["watch-1"].cpu


def test_all_pieces_that_failed_the_same_way_are_counted(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("eight_bad_pieces")

    assert card.verdict is not None
    assert card.verdict.rule == "task-exception"
    assert "8 of 8 tasks failed in the same way" in card.verdict.title
    errors = run_of(card).errors
    assert sorted(errors["outcome"].unique()) == ["erred", "released"]
    # Those whose error came before the driver let go of the others.
    assert 0 < errors.filter(pl.col("outcome") == "erred").height < errors.height == 8
    assert errors["exception"].unique().to_list() == ["ValueError"]
    assert all("row" in message for message in errors["message"])


def test_workers_before_and_after_a_restart_are_not_added_up(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("restart")

    assert card.state == "succeeded"
    assert (card.numbers["workers"], card.numbers["threads"]) == (2, 6)
    assert card.numbers["deaths"] == 0
    assert len(worker_exits_of(run_of(card))) == 4


def test_clusters_one_after_another_are_not_added_up(
    card_of: Callable[[str], RunCard],
) -> None:
    card = card_of("five_clusters")
    run = run_of(card)

    assert card.state == "succeeded"
    assert (card.numbers["workers"], card.numbers["threads"]) == (1, 2)
    assert card.numbers["deaths"] == 0
    assert [finding.rule for finding in card.findings] == []
    assert len(worker_exits_of(run)) == 5
    hosts = Case(run).task_activity.hosts
    assert max((host.limits for host in hosts), default=0) <= 10 * 2**30
