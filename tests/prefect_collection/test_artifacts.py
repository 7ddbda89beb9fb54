"""The artifacts that a card becomes."""

from __future__ import annotations

import pytest
from dask_blackbox import RunCard
from prefect_dask_blackbox.artifacts import items_of, slug

CARD = RunCard(
    job="etl",
    run_id="r1",
    attempt=2,
    state="succeeded",
    headline="Succeeded in 3 s",
    links={
        "report": "https://s3.example/report.html?X-Amz-Signature=abc",
        "performance_report": "s3://bucket/performance_report.html",
    },
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("etl", "etl"),
        ("Nightly ETL (v2)", "nightly-etl-v2"),
        ("日本", "cf2abf0c"),
        ("größe", "gr-e-d353a267"),
    ],
)
def test_a_flows_name_becomes_part_of_a_key(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_card_becomes_markdown_and_links() -> None:
    card, report, performance = items_of(CARD, "My ETL")

    assert (card.key, card.description) == (
        "dask-run-my-etl",
        "Succeeded in 3 s (attempt 2)",
    )
    assert report.key == "dask-report-my-etl"
    assert report.data.endswith(
        "](<https://s3.example/report.html?X-Amz-Signature=abc>)"
    )
    assert performance.key == "dask-performance-report-my-etl"


def test_an_address_that_no_browser_opens_is_no_link() -> None:
    performance = items_of(CARD, "etl")[2]

    assert "](" not in performance.data
    assert "`s3://bucket/performance_report.html`" in performance.data


def test_a_card_that_is_too_long_for_a_page_is_cut() -> None:
    long = RunCard(job="etl", run_id="r1", state="failed", headline="x" * 200_000)

    assert len(items_of(long, "etl")[0].data) < 100_000
