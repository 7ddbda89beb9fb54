"""Screenshots of flow runs in Prefect's two UIs, light and dark: each state of their cards.

    .venvs/prefect/bin/python tools/prefect_screenshots.py FOLDER [STATE…]
    .venvs/prefect/bin/python tools/prefect_screenshots.py --readme

States are `failed`, `succeeded`, `retried`, `timed-out`, `subflow`, `direct`, `live`,
`crashed` and `stopped`; of each, the card itself and the flow run's page.  The second
command makes docs/images/prefect-flow-run.png.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from data import make_orders  # noqa: E402 - found by the line above
from prefect_host import FlowRunSeen, PrefectHost  # noqa: E402 - found by the line above

BROWSER = "/usr/bin/chromium"
README = ROOT / "docs" / "images" / "prefect-flow-run.png"
UIS = {"v1": "", "v2": "/v2"}
SCHEMES = ("light", "dark")
HEIGHT = 2000
"""Pixels: both UIs scroll a part of their pages, which a full page does not show."""
PATIENCE = 120.0
PATIENCE_MS = 120_000

ENDED = {
    "failed": ROOT / "flows" / "out_of_memory.py",
    "succeeded": ROOT / "flows" / "recorded_etl.py",
    "retried": ROOT / "flows" / "transient_retry.py",
    "timed-out": ROOT / "flows" / "time_limit.py",
    "subflow": ROOT / "flows" / "failed_subflow.py",
    "direct": ROOT / "flows" / "own_clusters.py",
}
SIGNALS = {"crashed": signal.SIGKILL, "stopped": signal.SIGTERM}
LONG = """
import time
from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

@task
def load(day: int) -> bytes:
    time.sleep(1)
    return bytes(3_000_000)

@task
def wait_for_approval(day: int) -> None:
    time.sleep(600)

@observed_flow(task_runner=DaskTaskRunner(
    cluster_kwargs={"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}))
def nightly_load() -> None:
    days = load.map(range(24))
    approvals = wait_for_approval.map(range(4))
    [each.result() for each in [*days, *approvals]]

if __name__ == "__main__":
    nightly_load()
"""


def main(words: list[str]) -> int:
    """Take the screenshots; return the exit code."""
    if not words:
        print(__doc__)
        return 2
    readme = words == ["--readme"]
    states = words[1:] or [*ENDED, "live", *SIGNALS]
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "DASK_BLACKBOX__STORE__URL": f"{folder}/store",
            "DASK_BLACKBOX__STALL__AFTER": "8s",
            "DEMO_DATA": folder,
        }
        make_orders(folder)
        host = PrefectHost(Path(folder) / "prefect", progress=print)
        with host, sync_playwright() as playwright:
            host.environ.update(environ)
            browser = playwright.chromium.launch(
                executable_path=BROWSER, args=["--no-sandbox", "--hide-scrollbars"]
            )
            if readme:
                run = host.run_flow(ENDED["failed"])
                README.parent.mkdir(exist_ok=True)
                shoot(browser, host, run, ("v2", "light"), README)
            else:
                out = Path(words[0])
                out.mkdir(parents=True, exist_ok=True)
                for state, script in ENDED.items():
                    if state in states:
                        shoot_all(browser, host, host.run_flow(script), out / state)
                for ending, number in SIGNALS.items():
                    live = "live" in states and ending == "crashed"
                    if live or ending in states:
                        wanted = [*(["live"] if live else []), ending]
                        shoot_long(
                            browser, host, Path(folder), out, wanted, number=number
                        )
            browser.close()
    return 0


def shoot_long(
    browser: Any,
    host: PrefectHost,
    folder: Path,
    out: Path,
    states: list[str],
    *,
    number: int,
) -> None:
    """Take screenshots of a flow run while it runs, and after a signal has ended it."""
    with running(host, folder) as process:
        run = soon(lambda: next(iter(host.flow_runs()[-1:]), None))
        if "live" in states:
            soon(lambda: "has finished for" in card_of(host, run)[1])
            shoot_all(browser, host, run, out / "live")
        else:
            soon(lambda: "have ended" in card_of(host, run)[1])
        process.send_signal(number)
        soon(lambda: host.flow_run(run.id).state == "CRASHED")
        shoot_all(browser, host, run, out / states[-1])


@contextmanager
def running(host: PrefectHost, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a long flow in a process of its own, which is gone afterwards."""
    before = len(host.flow_runs())
    script = folder / "nightly_load.py"
    script.write_text(LONG)
    with (
        (folder / "output.txt").open("wb") as output,
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, **host.environ},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            soon(lambda: len(host.flow_runs()) > before)
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def soon(what: Callable[[], Any]) -> Any:
    """Return what is waited for."""
    deadline = time.monotonic() + PATIENCE
    while not (found := what()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to pass")
        time.sleep(0.5)
    return found


def card_of(host: PrefectHost, run: FlowRunSeen) -> tuple[str, str]:
    """Return id and Markdown of the newest card of a flow run; empty where there is none."""
    mine = {"flow_run_id": {"any_": [run.id]}}
    wanted = {"artifacts": mine, "sort": "CREATED_DESC"}
    found = host.ask("artifacts/filter", wanted)
    cards = [(str(each["id"]), str(each["data"])) for each in found if each["key"]]
    return cards[0] if cards else ("", "")


def shoot_all(browser: Any, host: PrefectHost, run: FlowRunSeen, prefix: Path) -> None:
    """Take screenshots of a card and of its run's page, in each UI and colour scheme."""
    for ui in UIS:
        for scheme in SCHEMES:
            name = f"{prefix.name}-{ui}-{scheme}"
            shoot(browser, host, run, (ui, scheme), prefix.with_name(f"{name}.png"))
            target = prefix.with_name(f"{name}-run.png")
            shoot_run(browser, host, run, (ui, scheme), target)


def shoot(
    browser: Any,
    host: PrefectHost,
    run: FlowRunSeen,
    look: tuple[str, str],
    target: Path,
) -> None:
    """Take a screenshot of a run's card, in a UI and a colour scheme."""
    ui, scheme = look
    identity, data = card_of(host, run)
    page = opened(browser, scheme)
    page.goto(f"{host.url}{UIS[ui]}/artifacts/artifact/{identity}")
    sign = data.split(maxsplit=2)[1]  # of its state, which no other heading has
    page.locator("h2", has_text=sign).first.wait_for()
    take(page, target)


def shoot_run(
    browser: Any,
    host: PrefectHost,
    run: FlowRunSeen,
    look: tuple[str, str],
    target: Path,
) -> None:
    """Take a screenshot of a flow run's page, its artifacts in front."""
    ui, scheme = look
    page = opened(browser, scheme)
    page.goto(f"{host.url}{UIS[ui]}/runs/flow-run/{run.id}")
    # v1 reads no tab from the address, and its tabs have no role.
    tab = page.get_by_text("Artifacts", exact=True).locator("visible=true")
    tab.first.click()
    card = page.get_by_text("dask-run-").locator("visible=true").first
    card.wait_for()
    take(page, target)


def take(page: Any, target: Path) -> None:
    """Take the picture, and close the page."""
    if target == README:
        page.set_viewport_size({"width": 1280, "height": 1000})
    page.screenshot(path=str(target))
    print(target)
    page.close()


def opened(browser: Any, scheme: str) -> Any:
    """Return a new page of the browser."""
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": 1280, "height": HEIGHT}
    )
    page.set_default_timeout(PATIENCE_MS)
    # v1 is dark until somebody chooses, whatever the browser prefers.
    page.add_init_script(f"localStorage.setItem('color-scheme', '\"{scheme}\"')")
    return page


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
