"""Make docs/images/report.png: the top of the report of a run whose workers ran out of memory.

.venvs/core/bin/python tools/screenshot.py [CHROMIUM]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from kept_recordings import kept_run  # noqa: E402 - it is for tests too

IMAGE = ROOT / "docs" / "images" / "report.png"
RECORDING = "click_sessions"
SIZE = "1280,900"


def main(chromium: str = "/usr/bin/chromium") -> None:
    """Render the report of a kept recording and photograph it."""
    from dask_blackbox.analyse import findings_in
    from dask_blackbox.card import card_of
    from dask_blackbox.report import html

    run = kept_run(RECORDING)
    page = html(run, card_of(run, findings_in(run)))
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(page, "utf-8")
        subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={SIZE}",
                f"--screenshot={IMAGE}",
                path.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
    print(f"{IMAGE.relative_to(ROOT)}: {RECORDING}")


if __name__ == "__main__":
    main(*sys.argv[1:])
