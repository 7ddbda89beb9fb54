"""Ice masks of the week's satellite tiles; workers keep the sensor calibration in memory (see the preload)."""

import argparse
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np
from distributed import Client, get_worker

log = logging.getLogger("masks")

PRELOAD = textwrap.dedent('''
    """Loads the calibration once per worker."""
    import json
    import os


    def dask_setup(worker):
        path = os.path.join(os.environ["MASK_STATE"], "calibration", os.environ["MASK_SENSOR"] + ".json")
        with open(path) as f:
            worker.calibration = json.load(f)
''')


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tiles", type=int, default=30)
    p.add_argument("--sensor", default="sentinel-2c")
    p.add_argument("--workers", type=int, default=2)
    return p.parse_args(argv)


def prepare_state(state):
    os.mkdir(os.path.join(state, "calibration"))
    for sensor, gain in (("sentinel-2a", 1.02), ("sentinel-2b", 0.98)):
        with open(os.path.join(state, "calibration", sensor + ".json"), "w") as f:
            json.dump({"gain": gain, "offset": -0.01, "ndsi": 0.42}, f)
    with open(os.path.join(state, "warm.py"), "w") as f:
        f.write(PRELOAD)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(state, args):
    env = dict(os.environ, MASK_STATE=state, MASK_SENSOR=args.sensor)
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                address.rsplit(":", 1)[1],
                "--dashboard-address",
                "127.0.0.1:0",
            ],
            cwd=state,
        )
    ]
    for n in range(args.workers):
        procs.append(
            subprocess.Popen(
                dask
                + [
                    "worker",
                    address,
                    "--name",
                    f"ice-{n}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "260MiB",
                    "--preload",
                    os.path.join(state, "warm.py"),
                    "--local-directory",
                    state,
                    "--no-dashboard",
                ],
                env=env,
                cwd=state,
            )
        )
    return address, procs


def ice_mask(tile):
    cal = get_worker().calibration
    rng = np.random.default_rng(tile)
    green, swir = rng.random((2, 200, 200))
    green = green * cal["gain"] + cal["offset"]
    time.sleep(0.1)
    return float(((green - swir) / (green + swir + 1e-9) > cal["ndsi"]).mean())


def stop(procs):
    for p in reversed(procs):
        p.terminate()
    for p in procs:
        try:
            p.wait(30)
        except subprocess.TimeoutExpired:
            p.kill()


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="masks-", ignore_cleanup_errors=True
    ) as state:
        prepare_state(state)
        address, procs = start(state, args)
        try:
            with Client(address, timeout=60) as client:
                client.wait_for_workers(args.workers, timeout=80)
                log.info("%d workers", args.workers)
                time.sleep(3)  # the workers read the calibration
                shares = client.gather(client.map(ice_mask, range(args.tiles)))
            print(f"mean ice share {np.mean(shares):.3f} over {len(shares)} tiles")
        finally:
            stop(procs)


if __name__ == "__main__":
    main()
