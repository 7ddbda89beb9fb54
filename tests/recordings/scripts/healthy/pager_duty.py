"""Drains the pager queue until nobody calls any more."""

import time

from dask.distributed import Client, Event, Lock, LocalCluster, Queue, Variable


def call(station, pages):
    queue = Queue("pages")
    for page in range(pages):
        time.sleep(0.05)
        queue.put({"station": station, "page": page})
    return pages


def drain(nurse):
    queue, lock = Queue("pages"), Lock("board")
    answered = 0
    while True:
        try:
            queue.get(timeout="3s")
        except TimeoutError:
            return nurse, answered
        with lock:
            answered += 1


def wait_for_relief(seconds):
    return Event("relief").wait(timeout=seconds)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            queue = Queue("pages")
            calls = [
                client.submit(call, station, 15, key=f"call-{station}")
                for station in range(6)
            ]
            print("pages:", sum(client.gather(calls)))
            nurses = [
                client.submit(drain, nurse, key=f"drain-{nurse}")
                for nurse in ("anna", "ben")
            ]
            try:
                Variable("head_nurse").get(timeout="1s")
            except TimeoutError:
                print("no head nurse on duty")
            answered = dict(client.gather(nurses))
            relieved = client.submit(wait_for_relief, 2).result()
            print("answered:", answered, "relieved:", relieved)
            assert sum(answered.values()) == 90 and queue.qsize() == 0 and not relieved


if __name__ == "__main__":
    main()
