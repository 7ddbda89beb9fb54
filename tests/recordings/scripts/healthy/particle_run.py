import json
import os
import signal
import tempfile
import threading
import time

from dask.distributed import Client, LocalCluster

STOP = threading.Event()


def push(particle):
    time.sleep(0.4)
    return particle * 0.1


def main():
    signal.signal(signal.SIGTERM, lambda signum, frame: STOP.set())
    threading.Timer(4, os.kill, (os.getpid(), signal.SIGTERM)).start()
    done = {}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for start in range(0, 400, 8):
            if STOP.is_set():
                break
            batch = client.map(push, range(start, start + 8))
            done.update(zip(range(start, start + 8), client.gather(batch)))
    path = os.path.join(tempfile.gettempdir(), "particles.checkpoint.json")
    with open(path, "w") as fh:
        json.dump(done, fh)
    print("preempted, checkpoint of", len(done), "particles in", path)


if __name__ == "__main__":
    main()
