"""dask-blackbox as a diagnoser of the benchmark.

    dask-failures score --stream --diagnoser 'python failure_benchmark/diagnosers/blackbox.py'

With `--run`, the scripts are recorded first:

    dask-failures score --run --stream --diagnoser 'python failure_benchmark/diagnosers/blackbox.py' \
        --recorder 'env DASK_BLACKBOX__SPOOL={folder}/spool DASK_BLACKBOX__STORE__URL={folder}
            dask blackbox run --store {folder} --job {name} --run-id recorded --'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.reader import Run
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import with_known_columns

__all__ = ["TABLES", "answer", "recorded_in", "run_of"]

TABLES = ("tasks", "errors", "logs", "metrics", "events")


def run_of(folder: Path) -> RunTables:
    """Return the run of a recording of the benchmark."""
    ending = folder / "complete.json"
    reported = json.loads((folder / "reported.json").read_bytes())
    return RunTables(
        msgspec.json.decode((folder / "run.json").read_bytes(), type=Manifest),
        msgspec.json.decode(ending.read_bytes(), type=Ending)
        if ending.exists()
        else None,
        {
            name: with_known_columns(
                name, pl.read_ipc((folder / f"{name}.arrow").read_bytes())
            )
            for name in TABLES
        },
        last_heartbeat=reported.get("heartbeat"),
    )


def recorded_in(folder: Path) -> RunTables:
    """Return the recording of a script that has just run; of several, the script's own."""
    opened = [Run.open(each) for each in folder.glob("runs/job=*/run=*/attempt=*")]
    if not opened:
        raise FileNotFoundError(f"there is no recording in {folder}")
    return min(
        opened,
        key=lambda run: (run.manifest.run_id != "recorded", run.manifest.started),
    )


def answer(card: RunCard) -> dict[str, Any]:
    """Return the answer that a card is."""
    verdict = card.verdict
    loud = [e.rule for e in card.findings if e.severity in {"failure", "warning"}]
    found: dict[str, Any] = {
        "cause": None,
        "text": card.headline,
        "state": card.state,
        "findings": [each.rule for each in card.findings],
        "warnings": loud,
    }
    if verdict is None:
        return found
    subject = verdict.subject
    return found | {
        "cause": verdict.rule,
        "confidence": verdict.confidence,
        "subject": " ".join(
            filter(None, (subject.key, subject.prefix, subject.worker))
        ),
        "text": f"{card.headline}\n{verdict.title}\n{verdict.cause}",
        "evidence": [each.text for each in verdict.evidence],
        "details": str(card.to_json()),
    }


def main() -> None:
    """Answer the requests on standard input, a line each."""
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            run = recorded_in(Path(request["run"]))
        else:
            run = run_of(Path(request["recording"]))
        print(json.dumps(answer(card_of(run, findings_in(run)))), flush=True)


if __name__ == "__main__":
    main()
