"""The run's picture as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dask_blackbox.report.picture import picture_png, picture_svg


def write(run: Any, form: str, to: Path) -> list[Path]:
    """Write the picture as SVG or PNG."""
    card = run.card()
    if form == "svg":
        to.write_text(picture_svg(run, card), encoding="utf-8")
    else:
        to.write_bytes(picture_png(run, card))
    return [to]
