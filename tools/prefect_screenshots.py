"""Screenshots of a failed flow run in Prefect's two UIs, light and dark.

    .venvs/prefect/bin/python tools/prefect_screenshots.py FOLDER
    .venvs/prefect/bin/python tools/prefect_screenshots.py --readme

The second one makes docs/images/prefect-flow-run.png.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from data import make_orders  # noqa: E402 - found by the line above
from prefect_host import FlowRunSeen, PrefectHost  # noqa: E402 - found by the line above

BROWSER = "/usr/bin/chromium"
MEMORY = ROOT / "flows" / "out_of_memory.py"
STORY = ROOT / "flows" / "failed_subflow.py"
README = ROOT / "docs" / "images" / "prefect-flow-run.png"
UIS = {"v1": "", "v2": "/v2"}
PATIENCE_MS = 60_000


def main(words: list[str]) -> int:
    """Take the screenshots; return the exit code."""
    if len(words) != 1:
        print(__doc__)
        return 2
    readme = words == ["--readme"]
    with tempfile.TemporaryDirectory() as folder:
        environ = {"DASK_BLACKBOX__STORE__URL": f"{folder}/store"}
        if readme:
            environ["DEMO_DATA"] = folder
            make_orders(folder)
        host = PrefectHost(Path(folder) / "prefect", progress=print)
        with host, sync_playwright() as playwright:
            run = host.run_flow(MEMORY if readme else STORY, environ=environ)
            browser = playwright.chromium.launch(
                executable_path=BROWSER, args=["--no-sandbox"]
            )
            if readme:
                README.parent.mkdir(exist_ok=True)
                shoot(browser, host, card_of(host, run), ("v2", "light"), README)
            else:
                child = next(each for each in host.flow_runs() if each.id != run.id)
                artifact = card_of(host, child)
                out = Path(words[0])
                out.mkdir(parents=True, exist_ok=True)
                for ui in UIS:
                    for scheme in ("light", "dark"):
                        target = out / f"{ui}-{scheme}.png"
                        shoot(browser, host, artifact, (ui, scheme), target)
                        shoot_run(browser, host, child, (ui, scheme), out)
            browser.close()
    return 0


def card_of(host: PrefectHost, run: FlowRunSeen) -> str:
    """Return the id of the card of a flow run."""
    mine = {"artifacts": {"flow_run_id": {"any_": [run.id]}}}
    found = host.ask("artifacts/filter", mine)
    return next(str(each["id"]) for each in found if each["key"])


def shoot(
    browser: Any, host: PrefectHost, artifact: str, look: tuple[str, str], target: Path
) -> None:
    """Take a screenshot of a card, in a UI and a colour scheme."""
    ui, scheme = look
    page = opened(browser, scheme)
    page.goto(f"{host.url}{UIS[ui]}/artifacts/artifact/{artifact}")
    page.get_by_text("What to do").first.wait_for(timeout=PATIENCE_MS)
    page.screenshot(path=str(target))
    print(target)
    page.close()


def shoot_run(
    browser: Any, host: PrefectHost, run: FlowRunSeen, look: tuple[str, str], out: Path
) -> None:
    """Take a screenshot of a flow run's page, its artifacts in front."""
    ui, scheme = look
    page = opened(browser, scheme)
    page.goto(f"{host.url}{UIS[ui]}/runs/flow-run/{run.id}?tab=Artifacts")
    page.get_by_text("dask-run-load").first.wait_for(timeout=PATIENCE_MS)
    target = out / f"{ui}-{scheme}-run.png"
    page.screenshot(path=str(target))
    print(target)
    page.close()


def opened(browser: Any, scheme: str) -> Any:
    """Return a new page of the browser."""
    return browser.new_page(
        color_scheme=scheme, viewport={"width": 1280, "height": 1000}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
