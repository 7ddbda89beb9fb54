"""The report as it looks: runs, widths, light and dark, beside kept pictures.

`python tests/support/screenshots.py` makes the pictures anew, after a look at the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import a_browser
from PIL import Image
from playwright.sync_api import Browser
from screenshots import (
    RUNS,
    SHOTS,
    Shot,
    difference,
    page_of,
    photographed,
)

# Fonts differ from machine to machine; a missing chart or colour is more than that.
_ALIKE = 9.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser("--hide-scrollbars") as browser:
        yield browser


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {run: folder / f"{run}.html" for run in RUNS}
    for run, file in found.items():
        file.write_text(page_of(run), encoding="utf-8")
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("shot", SHOTS, ids=lambda each: each.file.stem)
def test_the_page_looks_as_it_did(
    browser: Browser, files: dict[str, Path], shot: Shot
) -> None:
    taken = photographed(browser, files[shot.run], shot)

    known = Image.open(shot.file).convert("RGB")
    assert taken.size == known.size
    assert difference(taken, known) < _ALIKE
    # A picture of the other run would not do.
    other = shot._replace(run=next(run for run in RUNS if run != shot.run))
    assert difference(taken, known) < difference(taken, Image.open(other.file).convert("RGB"))  # fmt: skip
