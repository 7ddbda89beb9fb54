"""Polls slow analyses with a short time limit so that the progress line moves; time limits are no errors."""

import time

from dask.distributed import Client, Lock, LocalCluster, Queue, TimeoutError


def dissect(pellet):
    time.sleep(1.2)
    return {"pellet": pellet, "bones": (pellet * 19) % 40}


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            hints = Queue("hints")
            try:
                hints.get(timeout=0.5)
            except TimeoutError:
                print("no hints waiting")
            table = Lock("table")
            table.acquire()
            print("second grip on the table:", Lock("table").acquire(timeout=0.5))
            table.release()
            waits = 0
            bones = 0
            for future in client.map(dissect, range(8)):
                while True:
                    try:
                        bones += future.result(timeout=0.4)["bones"]
                        break
                    except TimeoutError:
                        waits += 1
            print("bones", bones, "after", "some" if waits else "no", "waits")


if __name__ == "__main__":
    main()
