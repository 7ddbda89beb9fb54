"""Two-stage census job: geocode the households, then tabulate the districts.

The stages are programs of their own (they have different owners) and share one
cluster; the first leaves a hand-over file that tells the second what to use.
Called without --stage this script starts the cluster and both stages.
"""

import argparse
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, Future, wait

log = logging.getLogger("census_handover")


def load_block(block, n, seed):
    rng = np.random.default_rng([seed, block])
    time.sleep(0.2)
    return {
        "block": block,
        "xy": rng.uniform(0, 100, (n, 2)),
        "people": rng.integers(1, 7, n),
    }


def geocode(block):
    """District number of every household of a block."""
    time.sleep(0.3)
    district = (block["xy"][:, 0] // 25).astype(int) * 4 + (
        block["xy"][:, 1] // 25
    ).astype(int)
    return {"district": district, "people": block["people"]}


def tabulate(part):
    return np.bincount(part["district"], weights=part["people"], minlength=16)


def stage_geocode(client, args):
    blocks = [
        client.submit(
            load_block, b, args.households, args.seed, key=f"load_block-{b:03d}"
        )
        for b in range(args.blocks)
    ]
    coded = [
        client.submit(geocode, b, key=f"geocode-{i:03d}") for i, b in enumerate(blocks)
    ]
    wait(coded, timeout=120)
    bad = [f.key for f in coded if f.status != "finished"]
    if bad:
        raise RuntimeError(f"geocoding failed for {bad}")
    with open(args.handover, "w") as f:
        json.dump(
            {
                "keys": [f.key for f in coded],
                "households": args.blocks * args.households,
            },
            f,
        )
    log.info("%d blocks geocoded and kept on the cluster", len(coded))


def stage_tabulate(client, args):
    with open(args.handover) as f:
        handover = json.load(f)
    log.info("tabulating %d households", handover["households"])
    coded = [Future(key, client=client) for key in handover["keys"]]
    tables = [
        client.submit(tabulate, c, key=f"tabulate-{i:03d}") for i, c in enumerate(coded)
    ]
    total = np.sum(client.gather(tables), axis=0)
    log.info("people per district: %s", total.astype(int).tolist())


STAGES = {"geocode": stage_geocode, "tabulate": stage_tabulate}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def shared_cluster(work):
    port = free_port()
    addr = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--dashboard-address",
                ":0",
            ]
        )
    ]
    try:
        procs.append(
            subprocess.Popen(
                dask
                + [
                    "worker",
                    addr,
                    "--nworkers",
                    "2",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--local-directory",
                    work,
                ]
            )
        )
        yield addr
    finally:
        for proc in reversed(procs):
            proc.terminate()
        for proc in procs:
            try:
                proc.wait(20)
            except subprocess.TimeoutExpired:
                proc.kill()


def run_stage(stage, addr, handover):
    log.info("stage %s", stage)
    subprocess.run(
        [
            sys.executable,
            os.path.abspath(__file__),
            "--stage",
            stage,
            "--scheduler",
            addr,
            "--handover",
            handover,
        ],
        check=True,
        timeout=150,
    )


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage", choices=sorted(STAGES))
    p.add_argument("--scheduler")
    p.add_argument("--handover")
    p.add_argument("--blocks", type=int, default=16)
    p.add_argument("--households", type=int, default=20_000)
    p.add_argument("--seed", type=int, default=2)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    if args.stage:
        with Client(args.scheduler, timeout=60, name=f"census-{args.stage}") as client:
            client.wait_for_workers(2, timeout=60)
            STAGES[args.stage](client, args)
        return 0
    with tempfile.TemporaryDirectory(prefix="census-") as work:
        handover = os.path.join(work, "handover.json")
        with shared_cluster(work) as addr:
            for stage in ("geocode", "tabulate"):
                run_stage(stage, addr, handover)
    log.info("census tables complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
