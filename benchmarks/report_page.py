"""How long the report takes to load and to redraw, beside Dask's own performance report.

    .venvs/core/bin/python benchmarks/report_page.py [--tasks 1000 100000 1000000] [--slowdown 4]

For each size: bytes and seconds to make the page, seconds from navigation to the first
exact picture in Chromium, and milliseconds of a redraw (zoomed by half, ten times, median).
The native page holds the same executions in Dask's own task stream; 100,000 at most, for it
is made in the scheduler and keeps no more.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
from bokeh.embed import file_html
from bokeh.resources import Resources
from dask_blackbox.card import card_of
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.report import html
from dask_blackbox.run_tables import RunTables
from playwright.sync_api import Browser, sync_playwright

START = 1_795_230_000.0
WORKERS, SECONDS = 200, 600.0
NATIVE_MOST = 100_000
REDRAW = """async () => {
    const spent = [];
    const box = document.getElementById('charts');
    for (let i = 0; i < 10; i += 1) {
        const begun = performance.now();
        box.dispatchEvent(new KeyboardEvent('keydown', { key: i % 2 ? '0' : 'w' }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        spent.push(performance.now() - begun);
    }
    return spent;
}"""


def a_run(tasks: int) -> RunTables:
    """Return a run of 200 workers that are busy most of ten minutes, each with a chain of tasks."""
    workers = min(WORKERS, max(1, tasks // 10))
    each = SECONDS * workers / tasks
    rows: dict[str, list[Any]] = {
        "event": [
            (START, "worker-added", f"tcp://w{n}", f'{{"name": "{n}", "nthreads": 1, "memory_limit": 4294967296}}')
            for n in range(workers)
        ],
        "task": [
            (
                f"('part-{n % 8}', {n})", f"part-{n % 8}", "g", f"tcp://w{n % workers}", 1,
                START + n // workers * each, START + (n // workers + 0.9) * each,
                0.9 * each, 0.0, 0.0, 0.0, 1000, "int", "finished",
                f"('part-{(n - workers) % 8}', {n - workers})" if n >= workers else "",
            )
            for n in range(tasks)
        ],
    }  # fmt: skip
    manifest = Manifest(recording="r", job="benchmark", run_id="run", started=START)
    return RunTables.of_rows(
        manifest, Ending(state="succeeded", ended=START + SECONDS), rows
    )


def native_page(run: RunTables) -> str:
    """Return Dask's own task stream of the same executions, as its report embeds it."""
    from distributed.dashboard.components.scheduler import task_stream_figure

    own = run.tasks.head(NATIVE_MOST)
    start = own.select(pl.col("start").dt.epoch("us") / 1e3).to_series()
    stop = own.select(pl.col("stop").dt.epoch("us") / 1e3).to_series()
    source, figure = task_stream_figure(sizing_mode="stretch_both")
    source.data.update(
        {
            "start": ((start + stop) / 2).to_list(),
            "duration": (stop - start).to_list(),
            "key": own["key"].to_list(),
            "name": own["prefix"].to_list(),
            "color": ["#0072b2"] * own.height,
            "worker": own["worker"].to_list(),
            "y": own["worker"].rank("dense").cast(pl.Float64).to_list(),
            "worker_thread": own["worker"].to_list(),
            "alpha": [1.0] * own.height,
            "duration_text": ["1 s"] * own.height,
        }
    )
    made: str = file_html(figure, Resources(mode="inline"), title="native")
    return made


def opened(browser: Browser, page: str, slowdown: float, *, ours: bool) -> list[float]:
    """Return seconds to the first picture, and milliseconds of a redraw for our page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.set_default_timeout(600_000)
        if slowdown > 1:
            session = tab.context.new_cdp_session(tab)
            session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        begun = time.perf_counter()
        tab.goto(file.as_uri())
        if ours:
            tab.wait_for_selector("html[data-ready]")
        else:
            tab.wait_for_function("window.Bokeh?.documents?.[0]?.is_idle")
        loaded = time.perf_counter() - begun
        redraw = statistics.median(tab.evaluate(REDRAW)) if ours else float("nan")
        tab.close()
    return [loaded, redraw]


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--tasks", type=int, nargs="*", default=[1_000, 100_000, 1_000_000]
    )
    options.add_argument(
        "--slowdown", type=float, default=1.0, help="of the browser's CPU"
    )
    given = options.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    print(
        "| executions | page | made in | first picture | redraw | native page | native first picture | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for tasks in given.tasks:
            run = a_run(tasks)
            begun = time.perf_counter()
            page = html(run, card_of(run, ()))
            made = time.perf_counter() - begun
            loaded, redraw = opened(browser, page, given.slowdown, ours=True)
            native = native_page(run)
            theirs, _ = opened(browser, native, given.slowdown, ours=False)
            shown = f"{tasks:,}" + (
                f" (native {NATIVE_MOST:,})" if tasks > NATIVE_MOST else ""
            )
            print(
                f"| {shown} | {len(page) / 1e6:.2f} MB | {made:.1f} s | {loaded:.2f} s | {redraw:.0f} ms "
                f"| {len(native) / 1e6:.2f} MB | {theirs:.2f} s | {theirs / loaded:.1f} |",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
