"""In a step of GitHub Actions: the card in its summary, and an annotation, without being asked."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from dask_blackbox.card import RunCard, without_presigned_links
from dask_blackbox.settings import setting

_MOST_READ = 1024 * 1024
"""Bytes of a step's summary; GitHub refuses more."""

_MOST_RUNS = 10
"""Cards in the summary of one step; of a suite of tests, the first ones."""

_MARK = "<!-- dask-blackbox "


def report_to_github(card: RunCard) -> None:
    """Append the card to the step's summary, once for each run, and print an annotation.

    Does nothing outside GitHub Actions.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from dask_blackbox.report.ci import annotation, summary

    name = f"{card.job}/{card.run_id}/{card.attempt}"
    mark = f"{_MARK}{hashlib.sha256(name.encode()).hexdigest()[:16]} -->"
    file = Path(path)
    written = _read(file)
    if mark in written or written.count(_MARK) >= _MOST_RUNS:
        return
    shown = without_presigned_links(card)
    if setting("ci.summary"):
        text = f"\n{mark}\n\n{summary(shown)}"
        if len(written.encode()) + len(text.encode()) <= _MOST_READ:
            with file.open("a", encoding="utf-8") as summary_file:
                summary_file.write(text)
    if setting("ci.annotation"):
        workspace = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        line = annotation(shown, workspace)
        # GitHub reads both streams of a step; standard output belongs to the command.
        if line is not None and sys.stderr is not None:
            print(f"\n{line}", file=sys.stderr, flush=True)  # noqa: T201


def _read(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as summary_file:
        return summary_file.read(_MOST_READ).decode("utf-8", "replace")
