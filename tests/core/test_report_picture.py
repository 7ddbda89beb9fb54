"""The picture of a run: exact shares, and the same shapes as SVG and as PNG."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from dask_blackbox.card import card_of
from dask_blackbox.report import picture_png, picture_svg
from dask_blackbox.report.picture import PALETTE, coverage
from dask_blackbox.run_tables import RunTables
from PIL import Image
from runs_from_rows import (
    LIMIT,
    MIB,
    a_death,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    failed_with,
)

SVG = "{http://www.w3.org/2000/svg}"


def a_run_with_a_death() -> RunTables:
    return a_run(
        a_worker(at=0),
        [a_task(f"<load>-{n}", start=n) for n in range(1, 9)],
        [a_sample(at=at, memory=(100 + 20 * at) * MIB) for at in range(12)],
        a_death(exit_code=-9, at=12, memory=[(11, 300 * MIB), (12, LIMIT)]),
        failed_with(at=15),
    )


def test_each_step_has_exactly_what_lies_in_it() -> None:
    begin, end = np.array([0.25, 1.0, 2.5, 2.5]), np.array([0.75, 2.5, 2.5, 4.0])

    found = coverage(begin, end, np.array([0.0, 1.0, 2.0, 3.0, 4.0]))

    assert found.tolist() == pytest.approx([0.5, 1.0, 1.0, 1.0])


def test_the_svg_shows_workers_memory_limit_and_death() -> None:
    run = a_run_with_a_death()

    root = ET.fromstring(picture_svg(run, card_of(run, ())))

    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert "limit 400 MiB" in texts
    assert any(text.startswith("failed: ") for text in texts)
    colours = {each.get("fill") for each in root.iter(f"{SVG}rect")}
    assert len(colours) > 4
    # A cross in the lane and one at the end of the curve: two strokes each.
    crosses = [e for e in root.iter(f"{SVG}polyline") if e.get("stroke-width") == "2.2"]
    assert len(crosses) == 4
    assert "style" not in {name for each in root.iter() for name in each.attrib}


def test_the_png_has_the_colours_of_the_work() -> None:
    run = a_run_with_a_death()
    blue = tuple(int(PALETTE[0][at : at + 2], 16) for at in (1, 3, 5))

    image = Image.open(io.BytesIO(picture_png(run, card_of(run, ()), scale=1)))

    assert image.width == 1000
    pixels = np.asarray(image.convert("RGB")).astype(int)
    near = (abs(pixels - np.array(blue)).max(axis=2) < 12).sum()
    assert near > 1000


def test_a_task_that_was_running_when_the_run_ended_is_shown_until_then() -> None:
    waiting = {
        "key": "wait-1", "prefix": "wait", "worker": "tcp://w1", "executing_for": 60.0,
    }  # fmt: skip
    run = a_run(
        a_worker(at=0),
        a_task("load-1", start=1),
        an_event("stall", at=62.0, lasted=60.0, processing=[waiting]),
        failed_with(at=82),
    )

    root = ET.fromstring(picture_svg(run, card_of(run, ())))

    shown = [each for each in root.iter(f"{SVG}rect") if each.get("fill") == _blue()]
    # 80 of the run's 82 seconds, of 858 pixels.
    widths = [float(each.get("width") or 0.0) for each in shown]
    assert max(widths) == pytest.approx(80 / 82 * 858, abs=15)


def _blue() -> str:
    """Return the colour of the prefix that took longest, as it is drawn."""
    parts = [int(PALETTE[0][at : at + 2], 16) // 8 * 8 for at in (1, 3, 5)]
    return "#{:02x}{:02x}{:02x}".format(*parts)


def test_a_run_without_workers_has_a_picture_too() -> None:
    run = a_run(failed_with(at=1))

    assert picture_svg(run, card_of(run, ())).startswith("<svg")
    assert picture_png(run, card_of(run, ())).startswith(b"\x89PNG")
