"""Render the catalogue pictures of new spectacle lenses.

Ray tracing runs on the workers "trace-*", toning on the one worker with the calibrated colour profile ("tone-0").
A housekeeping thread gives idle machines back while the job runs, because they are paid by the minute.
"""

import logging
import sys
import threading
import time

import numpy as np
from dask.distributed import Client, Nanny, Scheduler, SpecCluster, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
log = logging.getLogger("render")


def make_cluster():
    worker = {
        "cls": Nanny,
        "options": {"nthreads": 1, "memory_limit": "350MB", "dashboard": False},
    }
    return SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {"dashboard": False, "port": 0, "host": "127.0.0.1"},
        },
        workers={name: worker for name in ("trace-0", "trace-1", "tone-0")},
        name="lens-rendering",
    )


class Housekeeping(threading.Thread):
    """Retires workers that had nothing to do for some seconds."""

    def __init__(self, client, idle_seconds=4.0, keep=2):
        super().__init__(name="housekeeping", daemon=True)
        self.client, self.idle_seconds, self.keep = client, idle_seconds, keep
        self.idle_since = {}
        self.stop = threading.Event()

    def run(self):
        while not self.stop.wait(0.5):
            processing = self.client.processing()
            now = time.monotonic()
            for address, keys in processing.items():
                if keys:
                    self.idle_since.pop(address, None)
                else:
                    self.idle_since.setdefault(address, now)
            surplus = len(processing) - self.keep
            idle = [
                a
                for a, t in self.idle_since.items()
                if now - t > self.idle_seconds and a in processing
            ]
            for address in idle[: max(surplus, 0)]:
                log.info("giving back %s", address)
                self.client.retire_workers([address])
                self.idle_since.pop(address, None)


def trace_lens(model, size=160):
    rng = np.random.default_rng(model)
    image = np.zeros((size, size))
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        image += rng.random((size, size))
    return image / image.max()


def tone_picture(image, gamma):
    return (image**gamma * 255).astype("uint8")


def collect(futures, seconds):
    deadline = time.monotonic() + seconds
    while not all(f.done() for f in futures):
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{sum(not f.done() for f in futures)} pictures are missing after {seconds} s"
            )
        time.sleep(0.5)
    return [f.result() for f in futures]


def main():
    cluster = make_cluster()
    client = Client(cluster)
    client.wait_for_workers(3, timeout=40)
    places = {
        w["name"]: address
        for address, w in client.scheduler_info(n_workers=-1)["workers"].items()
    }
    tracers = [a for name, a in places.items() if name.startswith("trace")]
    housekeeping = Housekeeping(client)
    housekeeping.start()
    try:
        images = client.map(trace_lens, range(14), workers=tracers)
        wait(images)
        log.info("%d lenses traced", len(images))
        pictures = client.map(
            tone_picture, images, gamma=0.8, workers=[places["tone-0"]]
        )
        done = collect(pictures, seconds=14)
        log.info("%d pictures, %d bytes", len(done), sum(p.nbytes for p in done))
    finally:
        housekeeping.stop.set()
        housekeeping.join()
        client.close()
        cluster.close()


if __name__ == "__main__":
    try:
        main()
    except TimeoutError as exc:
        log.error("catalogue not updated: %s", exc)
        sys.exit(2)
