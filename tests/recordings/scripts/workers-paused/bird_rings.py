"""Match the night's ring recoveries with the ringing register."""

import argparse
import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("rings")


class RingRegister:
    """Pages of the register, kept by every worker so that no page is read twice."""

    def __init__(self):
        self.pages = {}

    def page(self, number):
        if number not in self.pages:
            rng = np.random.default_rng(number)
            self.pages[number] = rng.random((12, 2**17))
        return self.pages[number]


def register():
    worker = get_worker()
    if not hasattr(worker, "ring_register"):
        worker.ring_register = RingRegister()
    return worker.ring_register


def match(recovery):
    page = register().page(recovery["prefix"])
    time.sleep(0.15)
    column = recovery["serial"] % page.shape[1]
    return recovery["ring"], float(page[:, column].sum())


def recoveries(count):
    return [{"ring": f"{n:04X}", "prefix": n, "serial": 977 * n} for n in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recoveries", type=int, default=90)
    parser.add_argument(
        "--until", type=float, default=22, help="seconds for the matching stage"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="420MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(match, recoveries(args.recoveries))
        try:
            wait(futures, timeout=args.until)
        except TimeoutError as exc:
            done = sum(f.status == "finished" for f in futures)
            raise SystemExit(
                f"matched {done} of {len(futures)} recoveries in {args.until:.0f} s, giving up"
            ) from exc
        print("matched", len(client.gather(futures)))


if __name__ == "__main__":
    main()
