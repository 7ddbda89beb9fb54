"""Duty refunds: recompute what customs owe us on re-exported goods.

The rules for rounding are a package of the finance team (`dutykit`), installed
into site folders: one for the batch host, one for the images of the nodes.
"""

import argparse
import logging
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
from distributed import Client, as_completed

log = logging.getLogger("refunds")

RELEASES = {
    "2.3.1": """
__version__ = "2.3.1"
RATES = {"8471": 0.0, "6110": 0.12, "8703": 0.10}


def refund(code, value, share):
    return round(value * RATES[code] * share, 2)
""",
    "2.5.0": """
__version__ = "2.5.0"
from decimal import ROUND_HALF_EVEN, Decimal

RATES = {"8471": "0.0", "6110": "0.12", "8703": "0.10"}


def refund(code, value, share, *, per_entry=False):
    exact = Decimal(str(value)) * Decimal(RATES[code]) * Decimal(str(share))
    return float(exact.quantize(Decimal("0.01"), ROUND_HALF_EVEN)) if per_entry else float(exact)
""",
}


def site(folder, release):
    package = Path(folder).resolve()
    package.mkdir(parents=True, exist_ok=True)
    (package / "dutykit.py").write_text(RELEASES[release])
    return str(package)


def with_path(folder):
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, env.get("PYTHONPATH")]))
    return env


def declarations(batch, rows=300):
    codes = ["8471", "6110", "8703"]
    return pd.DataFrame(
        {
            "entry": [f"{batch}-{i:04}" for i in range(rows)],
            "code": [codes[(batch + i) % 3] for i in range(rows)],
            "value": [120.0 + i * 3.37 for i in range(rows)],
            "share": [0.5 + (i % 5) / 10 for i in range(rows)],
        }
    )


def recompute(frame):
    import dutykit

    amounts = [
        dutykit.refund(row.code, row.value, row.share, per_entry=True)
        for row in frame.itertuples(index=False)
    ]
    return frame.assign(refund=amounts).groupby("code").refund.sum()


def dry_run():
    """Ten lines on the batch host, as the auditors ask for."""
    result = recompute(declarations(0, rows=10))
    log.info("dry run is fine: %s", result.to_dict())


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--retries", type=int, default=1)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO)

    host_site, node_site = site("sites/host", "2.5.0"), site("sites/node", "2.3.1")
    sys.path.insert(0, host_site)
    dry_run()

    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "refunds.json",
        ],
        env=with_path(host_site),
    )
    nodes = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            "--scheduler-file",
            "refunds.json",
            "--nworkers",
            "2",
            "--nthreads",
            "1",
            "--memory-limit",
            "350MB",
            "--no-dashboard",
        ],
        env=with_path(node_site),
    )
    failed = []
    try:
        with Client(scheduler_file="refunds.json", timeout="20s") as client:
            client.wait_for_workers(2, timeout=20)
            futures = {
                client.submit(
                    recompute,
                    declarations(b),
                    retries=args.retries,
                    key=f"refund-batch-{b}",
                ): b
                for b in range(args.batches)
            }
            for future in as_completed(futures, timeout=30):
                if future.exception() is not None:
                    failed.append(futures[future])
                    log.error("batch %d: %s", futures[future], future.exception())
                else:
                    log.info("batch %d: %.2f", futures[future], future.result().sum())
            if failed:
                raise RuntimeError(
                    f"{len(failed)} of {args.batches} batches could not be refunded"
                )
    finally:
        for proc in (nodes, scheduler):
            proc.terminate()
            proc.wait(10)


if __name__ == "__main__":
    main()
