"""Master flat of the night: reads the dome exposures, debiases and stacks them.

The stack must be on disk before the dome opens, so there is a window.
"""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, TimeoutError, wait

log = logging.getLogger("flats")

SHAPE = (1280, 1024)  # float64, about ten megabytes

# local scratch of the summit machines is slow: no detour over it
SETTINGS = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.75,
    "distributed.worker.memory.terminate": False,
}


def read_exposure(number):
    rng = np.random.default_rng(number)
    time.sleep(0.15)
    return rng.normal(21000.0, 140.0, SHAPE)


def bias_level(number):
    time.sleep(0.1)
    return 312.0 + number % 5


def debias(frame, level):
    return frame - level


def stack(frames):
    """Mean of all frames, normalised to one."""
    total = np.zeros(SHAPE)
    for frame in frames:
        total += frame
    total /= len(frames)
    return total / total.mean()


def check(master):
    return {"min": float(master.min()), "max": float(master.max())}


def build(client, exposures):
    levels = [
        client.submit(bias_level, n, key=f"bias_level-{n:02d}")
        for n in range(exposures)
    ]
    wait(levels)
    log.info("bias levels known")
    raw = [
        client.submit(read_exposure, n, key=f"read_exposure-{n:02d}")
        for n in range(exposures)
    ]
    frames = [
        client.submit(debias, f, b, key=f"debias-{n:02d}")
        for n, (f, b) in enumerate(zip(raw, levels))
    ]
    master = client.submit(stack, frames, key="stack")
    return raw, frames, client.submit(check, master, key="check")


def progress(futures):
    return sum(f.done() for f in futures)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exposures", type=int, default=48)
    parser.add_argument(
        "--window", type=float, default=22.0, help="seconds until the dome opens"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set(SETTINGS)

    with tempfile.TemporaryDirectory(prefix="flats-") as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="230MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            raw, frames, report = build(client, args.exposures)
            end = time.monotonic() + args.window
            while not report.done() and time.monotonic() < end:
                try:
                    wait(report, timeout=4)
                except TimeoutError:
                    log.info(
                        "%d of %d exposures read, %d debiased",
                        progress(raw),
                        len(raw),
                        progress(frames),
                    )
            if not report.done():
                log.error("dome opens, no master flat")
                return 3
            log.info("master flat: %s", report.result())
    return 0


if __name__ == "__main__":
    sys.exit(main())
