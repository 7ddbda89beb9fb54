"""Check container seals of the night's gate scans against the customs register.

One reader per gate streams its scans through a queue, one checker per gate works
them off while the reader is still busy.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster, Queue, fire_and_forget

log = logging.getLogger("seals")

GATES = ["north", "quay"]
END = None


def write_scans(folder: Path, gate: str, count: int) -> Path:
    """What the gate's cameras wrote during the day: one JSON object per line."""
    rng = random.Random(gate)
    path = folder / f"{gate}.jsonl"
    with path.open("w") as out:
        for n in range(count):
            scan = {
                "box": f"MSKU{rng.randrange(10**7):07d}",
                "seal_no": f"S{rng.randrange(10**6):06d}",
                "lane": n % 4,
            }
            if gate == "north" and n >= 230:
                scan["sealNo"] = scan.pop("seal_no")
            out.write(json.dumps(scan) + "\n")
    return path


def normalise(scan: dict) -> tuple[str, str]:
    return scan["box"], scan["seal_no"].lstrip("S")


def read_gate(gate: str, path: str, queue: Queue, batch: int = 25) -> int:
    """Stream a gate's scans in batches; END tells the checker that all is done."""
    pending, sent = [], 0
    with open(path) as lines:
        for line in lines:
            pending.append(normalise(json.loads(line)))
            if len(pending) == batch:
                queue.put(pending)
                sent += len(pending)
                pending = []
                time.sleep(0.15)
    if pending:
        queue.put(pending)
    queue.put(END)
    return sent


def register_says(seal: str) -> bool:
    return int(seal) % 97 != 0


def check_gate(gate: str, queue: Queue, patience: float) -> dict:
    """Look every seal up in the register until the reader says END."""
    checked, broken = 0, []
    while True:
        scans = queue.get(timeout=patience)
        if scans is END:
            break
        for box, seal in scans:
            checked += 1
            if not register_says(seal):
                broken.append(box)
    return {"gate": gate, "checked": checked, "broken": broken}


def run(client: Client, folder: Path, scans: int, patience: float) -> list[dict]:
    checks = []
    for gate in GATES:
        path = write_scans(folder, gate, scans)
        queue = Queue(f"scans-{gate}", client=client, maxsize=8)
        fire_and_forget(
            client.submit(read_gate, gate, str(path), queue, key=f"read_gate-{gate}")
        )
        checks.append(
            client.submit(check_gate, gate, queue, patience, key=f"check_gate-{gate}")
        )
    log.info("%d gates are being read", len(GATES))
    return client.gather(checks)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scans", type=int, default=500)
    parser.add_argument(
        "--patience", type=float, default=15.0, help="seconds without a batch"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(prefix="seals-") as tmp:
        dask.config.set({"temporary-directory": tmp})
        with LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                reports = run(client, Path(tmp), args.scans, args.patience)
        for report in reports:
            log.info(
                "%s: %d seals checked, %d broken",
                report["gate"],
                report["checked"],
                len(report["broken"]),
            )


if __name__ == "__main__":
    main()
