"""Move samples between the lab's freezers; each freezer has a lock of its own."""

import signal
import time
from contextlib import ExitStack

from dask.distributed import Client, Lock


def move(samples, source, target):
    with ExitStack() as doors:
        for freezer in (source, target):
            doors.enter_context(Lock(f"freezer-{freezer}"))
            time.sleep(1.5)  # the door opens slowly
        return len(samples), source, target


PLAN = [
    (["a1", "a2"], "north", "south"),
    (["b7"], "south", "north"),
    (["c3", "c4", "c5"], "north", "attic"),
]


def give_up(signum, frame):
    raise KeyboardInterrupt("night shift ends")


def main():
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(26)
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    try:
        moves = [client.submit(move, *step, pure=False) for step in PLAN]
        for count, source, target in client.gather(moves):
            print(f"{count} samples from {source} to {target}")
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
