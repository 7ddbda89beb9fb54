"""Yield estimate of every orchard block, on a scheduler and a worker of our own."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from dask.distributed import Client

from yields import bootstrap_yield, canopy

BLOCKS = [("apple", 1), ("pear", 1)]


def start_cluster(conf, tmp):
    sf = os.path.join(tmp, "scheduler.json")
    env = dict(
        os.environ,
        DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=str(conf["allowed_failures"]),
    )
    dask = [sys.executable, "-m", "dask"]
    sched = subprocess.Popen(
        [
            *dask,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sf,
        ],
        env=env,
    )
    work = subprocess.Popen(
        [
            *dask,
            "worker",
            "--scheduler-file",
            sf,
            "--nthreads",
            str(conf["nthreads"]),
            "--no-dashboard",
            "--memory-limit",
            conf["memory_limit"],
            "--local-directory",
            tmp,
        ],
        env=env,
    )
    return sf, [work, sched]


def stop(proc):
    proc.terminate()
    try:
        proc.wait(15)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--week", required=True)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--trees", type=int, required=True)
    ap.add_argument("--rounds", type=int, default=400)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    conf = json.loads(pathlib.Path("cluster.json").read_text())
    result = {}
    with tempfile.TemporaryDirectory(
        prefix="orchard-", ignore_cleanup_errors=True
    ) as tmp:
        sf, procs = start_cluster(conf, tmp)
        try:
            with Client(scheduler_file=sf, timeout="60s") as client:
                futures = {}
                for fruit, blocks in BLOCKS:
                    for b in range(blocks):
                        litres = client.submit(
                            canopy, a.seed + b, a.trees, key=f"canopy-{fruit}-{b}"
                        )
                        futures[f"{fruit}-{b}"] = client.submit(
                            bootstrap_yield, litres, fruit, a.rounds
                        )
                result = client.gather(futures)
        finally:
            for p in procs:
                stop(p)
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"yield-{a.week}.json").write_text(json.dumps(result, indent=1))
    print(a.week, len(result), "blocks")


if __name__ == "__main__":
    main()
