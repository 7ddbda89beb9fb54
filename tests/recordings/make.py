"""Make real clusters fail, record them, and compare each verdict with the expected one.

    python tests/recordings/make.py [NAME …] [--failures | --module MODULE | --held-out]
                                    [--store FOLDER] [--again] [--parallel N]

Cases of `rule_cases.py`, which the rules were written beside, and failures (`failures/`),
which were written by somebody who did not know the rules.  Prints a line for each, and
exits with 1 if a verdict was wrong.  Without names, what is recorded in the folder is
skipped; `diagnose.py` diagnoses it again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
from case_runner import load_failures, names_of, run_here, run_outside
from distributed import Client, LocalCluster
from judging import judge
from rule_cases import RULE_CASES, RuleCase

QUIET = {"workers-died", "memory-near-limit", "spilling", "recording-incomplete"}
_LONGEST = 120


def run(name: str, store: str) -> dict[str, Any]:
    """Run one case in this process, and return its card."""
    from dask_blackbox.driver import recording

    case = RULE_CASES[name]
    cluster = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}
    settings: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": case.allowed_failures,
        "distributed.scheduler.no-workers-timeout": case.patience,
    }
    if case.hang_ends is not None:
        settings["blackbox.stall.after"] = "2s"
        settings["blackbox.stall.end-run"] = case.hang_ends
    with (
        dask.config.set(settings),
        LocalCluster(dashboard_address=None, **{**cluster, **case.cluster}) as local,
        Client(local) as client,
    ):
        try:
            with recording(client, store=store, job=name, run_id="recorded") as flight:
                case.run(client)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - cases fail
            print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    card: dict[str, Any] = json.loads(flight.card.to_json())
    return card


def judged(case: RuleCase, card: dict[str, Any]) -> str:
    """Return what is wrong with a card, or nothing."""
    if not card["completeness"]["recorded"]:
        return f"not recorded: {card['completeness'].get('reason')}"
    verdict = card["verdict"] or {}
    rule = verdict.get("rule")
    if rule != case.verdict:
        return f"verdict {rule}, not {case.verdict}"
    key = (verdict.get("subject") or {}).get("key") or ""
    if case.key is not None and case.key not in key:
        return f"names {key!r}, not {case.key!r}"
    found = {each["rule"] for each in card["findings"]}
    if not set(case.findings) <= found:
        return f"findings {sorted(found)} lack {case.findings}"
    if case.verdict is None and found - set(case.findings):
        return f"findings {sorted(found - set(case.findings))} on a healthy run"
    return ""


def run_apart(name: str, store: Path) -> dict[str, Any]:
    """Run one case in a process of its own, and return its card."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, __file__, "--run", name]
        command += ["--store", str(store), "--card", file.name]
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


def of_rule_case(name: str, store: Path) -> tuple[bool, str]:
    """Run a case of the rules' own; return whether it is right, and lines to print."""
    card = run_apart(name, store)
    problem = card.get("error") or judged(RULE_CASES[name], card)
    said = f"{'WRONG' if problem else 'right':6}{name:44}{problem}"
    if "headline" in card:
        sure = (card["verdict"] or {}).get("confidence", "")
        said += f"\n      {sure:7}{card['headline'][:_LONGEST]}"
    return not problem, said


def of_failure(name: str, store: Path) -> tuple[bool, str]:
    """Run a failure; return whether its verdict is right, and lines to print."""
    case = load_failures()[name]
    reported = run_outside(case, store, __file__)
    result = judge(case, store)
    said = f"{result.kind:6}{name:44}{reported['seconds']:5.0f} s  {result.problem}"
    if result.title:
        said += f"\n      {result.confidence:7}{result.title[:_LONGEST]}"
    return result.kind not in {"wrong", "names"}, said


def make(names: Sequence[str], store: Path, *, again: bool, parallel: int) -> int:
    """Run cases, and print a line or two for each; return how many were wrong."""

    def one(name: str) -> tuple[bool, str]:
        place = store / name
        if not again and (place / "reported.json").exists():
            return True, ""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return (
            of_rule_case(name, place) if name in RULE_CASES else of_failure(name, place)
        )

    wrong = 0
    with ThreadPoolExecutor(parallel) as pool:
        for right, said in pool.map(one, names):
            wrong += not right
            if said:
                print(said, flush=True)
    return wrong


def main() -> int:
    """Run the cases that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--module", help="only failures of this module")
    parser.add_argument("--failures", action="store_true", help="only failures")
    parser.add_argument("--held-out", action="store_true", help="only those held out")
    parser.add_argument("--store", default=tempfile.gettempdir() + "/cases")
    parser.add_argument(
        "--again", action="store_true", help="record again what is in the folder"
    )
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--card", help=argparse.SUPPRESS)
    parser.add_argument("--outside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run in RULE_CASES:
        Path(asked.card).write_text(json.dumps(run(asked.run, asked.store)))
        return 0
    if asked.run:
        return run_here(asked.run, asked.store, outside=asked.outside)
    own = [] if asked.module or asked.failures or asked.held_out else list(RULE_CASES)
    names = [name for name in own if name in (asked.names or own)]
    names += names_of(asked.names, asked.module, held_out=asked.held_out)
    if unknown := set(asked.names) - set(names):
        parser.error(f"there is no case called {', '.join(sorted(unknown))}")
    again = asked.again or bool(asked.names)
    wrong = make(names, Path(asked.store), again=again, parallel=asked.parallel)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
