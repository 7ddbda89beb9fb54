"""Nightly seed catalogue. Driver and workers run from different environments (envs/driver, envs/workers)."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from dask.distributed import Client

import catalog


def start(*args, env=None):
    return subprocess.Popen([sys.executable, "-m", "dask", *args], env=env)


def stop(proc):
    proc.terminate()
    try:
        proc.wait(15)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--edition", required=True)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--lots", type=int, default=9000)
    ap.add_argument("--min-rate", type=float, default=75.0)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()

    worker_env = dict(os.environ)
    worker_env["PYTHONPATH"] = worker_env["PYTHONPATH"].replace(
        "envs/driver", "envs/workers"
    )
    with tempfile.TemporaryDirectory(prefix="seedcat-") as tmp:
        sf = os.path.join(tmp, "scheduler.json")
        procs = [
            start(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                sf,
            ),
            start(
                "worker",
                "--scheduler-file",
                sf,
                "--nthreads",
                "2",
                "--no-nanny",
                "--no-dashboard",
                "--name",
                "cat-0",
                "--local-directory",
                tmp,
                env=worker_env,
            ),
        ]
        try:
            with Client(scheduler_file=sf, timeout="60s") as client:
                client.wait_for_workers(1, timeout=60)
                parts = client.map(
                    catalog.entries,
                    [a.seed + i for i in range(12)],
                    n=a.lots,
                    min_rate=a.min_rate,
                )
                merged = {}
                for part in client.gather(parts):
                    merged.update(part)
        finally:
            for p in reversed(procs):
                stop(p)
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"catalogue-{a.edition}.json").write_text(json.dumps(merged, sort_keys=True))
    print(len(merged), "entries")


if __name__ == "__main__":
    main()
