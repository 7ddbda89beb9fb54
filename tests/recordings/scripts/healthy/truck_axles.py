import logging
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client, Event, LocalCluster, Lock

logging.basicConfig(level=logging.INFO, format="%(threadName)s %(message)s")
log = logging.getLogger("axles")


def weigh(truck, scale):
    lock = Lock(scale)
    if not lock.acquire(timeout=1):
        log.info("scale %s is taken", scale)
        return truck, "estimated"
    try:
        time.sleep(0.2)
        return truck, "weighed"
    finally:
        lock.release()


def hold_scale(scale, done):
    with Lock(scale):
        Event(done).wait(timeout=30)
    return "calibrated"


def watch(address, folder):
    """A second client that looks in and goes while its own work is still on the way."""
    with Client(address, set_as_default=False) as guest:
        guest.map(time.sleep, [20] * 3)
        time.sleep(1)
        (Path(folder) / "seen").touch()
    raise SystemExit(0)


def main():
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
    ):
        with Client(cluster) as client:
            calibration = client.submit(hold_scale, "south", "south-done")
            time.sleep(1)
            guest = threading.Thread(
                target=watch, args=(cluster.scheduler_address, folder), name="guest"
            )
            first = client.submit(weigh, 1, "south").result(timeout=30)
            guest.start()
            guest.join()
            Event("south-done").set()
            print(calibration.result(timeout=30))
            client.restart(timeout=30)
            second = client.submit(weigh, 2, "south").result(timeout=40)
            print(first, second)
            assert first[1] == "estimated" and second[1] == "weighed"


if __name__ == "__main__":
    main()
