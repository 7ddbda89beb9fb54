"""A job's nights on a real cluster, through a real store: what changed, as its cards say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conditions import scaled
from dask_blackbox import Run, RunCard
from dask_blackbox.analyse.earlier_runs import one_per_run
from dask_blackbox.driver import own_code
from dask_blackbox.reader.earlier_runs import sketched_runs
from dask_blackbox.report import html, markdown, text
from dask_blackbox.store import open_store
from nightly_runs import Nights, nights
from stored_events import details

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    with (
        pytest.MonkeyPatch.context() as patched,
        nights(tmp_path_factory.mktemp("nights")) as job,
    ):
        # This very process is the driver, with all of our tests loaded.
        patched.setattr(own_code, "_TIMEOUT", scaled(30))
        yield job


@pytest.fixture(scope="module")
def cards(job: Nights) -> dict[str, RunCard]:
    """Return the cards of a week: good nights, a broken package, a broken parameter."""
    reported = {"first": job.night()}
    for _ in range(3):
        reported["good"] = job.night()
    job.install("2.0.0", broken=True)
    reported["broken"] = job.night()
    reported["retried"] = job.night(attempt=2)
    job.install("1.2.0")
    reported["fixed"] = job.night()
    job.install("1.2.0", broken=True)
    reported["larger"] = job.night(rows=20_000)
    job.install("1.2.0")
    reported["narrow"] = job.night(parts=12)
    reported["wider"] = job.night(parts=380)
    return reported


def test_a_package_that_was_upgraded_is_the_first_change(
    cards: dict[str, RunCard],
) -> None:
    card = cards["broken"]
    first = card.changes[0]

    assert card.state == "failed"
    assert first.kind == "package"
    # By all roles, or by those that were asked before the run was over.
    assert first.what.partition(" ")[0] == "shoptools"
    assert (first.before, first.after) == ("1.2.0", "2.0.0")
    assert first.why == "the failure names it"
    assert card.past is not None
    assert card.past.blame == "infrastructure"


def test_dates_and_paths_of_the_night_are_no_changes(cards: dict[str, RunCard]) -> None:
    kinds = {(each.kind, each.what) for each in cards["broken"].changes}

    assert ("parameters", "day") not in kinds
    assert ("parameters", "out") not in kinds


def test_larger_input_is_reported_with_the_parameter_that_asked_for_it(
    cards: dict[str, RunCard],
) -> None:
    card = cards["larger"]
    [parameter] = [each for each in card.changes if each.kind == "parameters"]

    assert (parameter.what, parameter.after) == ("rows", "20000")
    # Twenty times the rows are twenty times the bytes.
    assert [(each.kind, each.what) for each in parameter.explains] == [
        ("input-size", "bytes")
    ]
    assert card.past is not None
    assert card.past.blame == "data", card.changes
    assert "Data: only " in card.past.summary


def test_the_same_failure_is_known_again_in_another_night(
    cards: dict[str, RunCard],
) -> None:
    first, later = cards["broken"].past, cards["larger"].past

    assert first is not None
    assert later is not None
    assert first.recurrence is not None
    assert later.recurrence is not None
    assert (first.recurrence.times, later.recurrence.times) == (1, 2)
    assert first.recurrence.fingerprint == later.recurrence.fingerprint


def test_a_retry_is_compared_with_the_good_run_and_not_with_itself(
    cards: dict[str, RunCard],
) -> None:
    past = cards["retried"].past

    assert past is not None
    assert past.last_good is not None
    assert past.last_good.run_id == cards["good"].run_id
    assert past.runs == 4


def test_the_first_run_and_runs_as_before_report_nothing_about_changes(
    cards: dict[str, RunCard],
) -> None:
    assert cards["first"].changes == ()
    assert cards["fixed"].changes == ()
    assert "changed" not in text(cards["good"])


def test_a_run_that_succeeded_with_more_partitions_reports_it(
    cards: dict[str, RunCard],
) -> None:
    card = cards["wider"]
    changes = {each.what: (each.before, each.after) for each in card.changes}

    assert card.state == "succeeded"
    assert changes["partitions"] == ("12 partitions", "380 partitions")
    assert "Changed: " in text(card)


def test_every_run_has_left_a_sketch(job: Nights, cards: dict[str, RunCard]) -> None:
    names = list(sketched_runs(open_store(job.store), job.job))

    assert len(names) == 10
    assert len(one_per_run(names)) == 9
    # The retry found its input on the cluster, and read nothing.
    assert [each.partitions for each in one_per_run(names)] == [
        380, 12, 4, 4, None, 4, 4, 4, 4
    ]  # fmt: skip


def test_every_rendering_reports_what_changed(cards: dict[str, RunCard]) -> None:
    card = cards["broken"]
    run = Run.open(card.links["recording"])
    pages = (text(card, width=200), markdown(card), html(run, card))

    for page in pages:
        assert "shoptools" in page
        assert "2.0.0" in page
        assert "Infrastructure: only packages changed" in page
        assert "the failure names it" in page


def test_the_drivers_own_code_is_recorded(cards: dict[str, RunCard]) -> None:
    run = Run.open(cards["good"].links["recording"])
    reported = details(run, "driver-code")
    modules = {name for each in reported for name in each.get("modules") or ()}

    assert "nightly_runs" in modules
    [graph, *_] = details(run, "graph-updated")
    assert list(graph["new"].values()) == [[1, 1]]
    assert list(graph["code"]) == list(graph["new"])


def test_a_sketch_of_a_real_run_is_small(
    job: Nights, cards: dict[str, RunCard]
) -> None:
    store = open_store(job.store)
    sizes = [len(store.get(name)) for name in store.names("sketches/")]

    # Most of it is the code of this very process, which holds all of our tests.
    assert max(sizes) < 50_000
