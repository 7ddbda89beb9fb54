"""Tell stories on real clusters, record them, and compare what is said with the truth.

    python tests/recordings/make.py [NAME …] [--store FOLDER]

Prints one line for each story, and exits with 1 if a verdict was wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster
from stories import STORIES, Story

QUIET = {"workers-died", "memory-near-limit", "spilling", "recording-incomplete"}
_LONGEST = 120


def tell(name: str, store: str) -> dict[str, Any]:
    """Tell one story in this process, and return its card."""
    from dask_blackbox.flight import recording

    story = STORIES[name]
    cluster = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}
    settings: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": story.allowed_failures,
        "distributed.scheduler.no-workers-timeout": story.patience,
    }
    if story.hang_ends is not None:
        settings["blackbox.stall.after"] = "2s"
        settings["blackbox.stall.end-run"] = story.hang_ends
    with (
        dask.config.set(settings),
        LocalCluster(dashboard_address=None, **{**cluster, **story.cluster}) as local,
        Client(local) as client,
    ):
        try:
            with recording(client, store=store, job=name, run_id=name) as flight:
                story.tell(client)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - stories fail
            print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    card: dict[str, Any] = json.loads(flight.card.to_json())
    return card


def judged(story: Story, card: dict[str, Any]) -> str:
    """Return what is wrong with a card, or nothing."""
    if not card["completeness"]["recorded"]:
        return f"not recorded: {card['completeness'].get('reason')}"
    verdict = card["verdict"] or {}
    rule = verdict.get("rule")
    if rule != story.verdict:
        return f"verdict {rule}, not {story.verdict}"
    key = (verdict.get("subject") or {}).get("key") or ""
    if story.key is not None and story.key not in key:
        return f"names {key!r}, not {story.key!r}"
    found = {each["rule"] for each in card["findings"]}
    if not set(story.findings) <= found:
        return f"findings {sorted(found)} lack {story.findings}"
    if story.verdict is None and found - set(story.findings):
        return f"findings {sorted(found - set(story.findings))} on a healthy run"
    return ""


def told_apart(name: str, store: str) -> dict[str, Any]:
    """Tell one story in a process of its own, and return its card."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, __file__, "--tell", name]
        command += ["--store", store, "--card", file.name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=120, check=False
            )
        except subprocess.TimeoutExpired as late:
            return {"error": f"took longer than two minutes: {late.stderr!r}"}
        text = Path(file.name).read_text()
        if not text:
            return {"error": done.stderr[-2000:]}
        card: dict[str, Any] = json.loads(text)
        return card


def main() -> int:
    """Tell the stories that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--store", default=tempfile.gettempdir() + "/stories")
    parser.add_argument("--tell", help=argparse.SUPPRESS)
    parser.add_argument("--card", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.tell:
        Path(asked.card).write_text(json.dumps(tell(asked.tell, asked.store)))
        return 0
    wrong = 0
    for name in asked.names or STORIES:
        card = told_apart(name, asked.store)
        problem = card.get("error") or judged(STORIES[name], card)
        wrong += bool(problem)
        print(f"{'WRONG' if problem else 'right':6}{name:32}{problem}", flush=True)
        if "headline" in card:
            sure = (card["verdict"] or {}).get("confidence", "")
            print(f"      {sure:7}{card['headline'][:_LONGEST]}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
