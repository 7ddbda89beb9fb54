"""Screenshots of reports, small enough to be kept themselves.

Two kept recordings in all widths, light and dark; and runs of an unusual size in one.

python tests/support/screenshots.py    makes those in tests/core/screenshots anew
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from browsers import a_browser
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.report import html
from dask_blackbox.run_tables import RunTables
from kept_recordings import kept_run
from PIL import Image
from playwright.sync_api import Browser
from runs_from_rows import a_death, a_graph, a_run, a_task, a_worker, failed_with

KEPT = Path(__file__).parents[1] / "core" / "screenshots"
_KEPT_RUNS = {
    "failed": "one_task_reads_everything",
    "succeeded": "pricing_summary",
}
WIDTHS = (1400, 900, 480)
SCHEMES = ("light", "dark")
_HEIGHT, _SCALE = 1500, 10


class Shot(NamedTuple):
    """Which screenshot."""

    run: str
    width: int
    scheme: str

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return KEPT / f"{self.run}_{self.width}_{self.scheme}.png"


def _deaths(number: int) -> RunTables:
    """Return a run whose workers died one after the other, each in a task of its own."""
    names = [f"tcp://10.0.0.{n % 250}:{40_000 + n}" for n in range(number)]
    return a_run(
        *(a_worker(name, pid=n, name=f"w{n}") for n, name in enumerate(names)),
        a_graph(at=2.5, tasks=number * 4),
        *(
            a_task(f"load-{n}-{i}", worker=name, start=3 + i * 2, compute=1.5)
            for n, name in enumerate(names)
            for i in range(3)
        ),
        *(
            a_death(
                name,
                pid=n,
                exit_code=-9 if n % 5 else -11,
                at=12 + 40 * n / number,
                executing=[f"join-{n}"],
            )
            for n, name in enumerate(names)
        ),
        failed_with(at=60),
    )


_MADE_RUNS: dict[str, Callable[[], RunTables]] = {
    "ten_deaths": partial(_deaths, 10),
    "thousand_deaths": partial(_deaths, 1_000),
    "no_workers": lambda: a_run(a_graph(tasks=40), failed_with(at=30)),
}
RUNS = (*_KEPT_RUNS, *_MADE_RUNS)
SHOTS = (
    *(Shot(run, width, scheme) for run in _KEPT_RUNS for width in WIDTHS for scheme in SCHEMES),
    *(Shot(run, WIDTHS[0], SCHEMES[0]) for run in _MADE_RUNS),
)  # fmt: skip


def page_of(name: str) -> str:
    """Return the report of one of the runs."""
    run = _MADE_RUNS[name]() if name in _MADE_RUNS else kept_run(_KEPT_RUNS[name])
    return html(run, card_of(run, findings_in(run)))


def photographed(browser: Browser, file: Path, shot: Shot) -> Image.Image:
    """Return the upper part of the page, a tenth of its size: layout and colours."""
    page = browser.new_page(
        viewport={"width": shot.width, "height": _HEIGHT},
        color_scheme="dark" if shot.scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    try:
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    finally:
        page.close()
    return taken.resize((shot.width // _SCALE, _HEIGHT // _SCALE), Image.Resampling.BOX)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return how far two pictures of the same size are apart: 0 to 255, mean of all pixels."""
    a, b = (np.asarray(each, dtype=np.float64) for each in (one, other))
    return float(np.abs(a - b).mean())


def main() -> None:
    """Make all of them."""
    KEPT.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        a_browser("--hide-scrollbars") as browser,
    ):
        for run in RUNS:
            file = Path(folder) / f"{run}.html"
            file.write_text(page_of(run), encoding="utf-8")
            for shot in (each for each in SHOTS if each.run == run):
                photographed(browser, file, shot).save(shot.file, optimize=True)


if __name__ == "__main__":
    main()
