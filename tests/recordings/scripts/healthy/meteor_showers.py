"""First the quick look on a small cluster, which is dropped when it takes too long; then the full night on a proper one."""

import time

from dask.distributed import CancelledError, Client, LocalCluster, TimeoutError, wait


def trail(frame, pace):
    time.sleep(pace)
    return (frame * 31) % 5 == 0


def quick_look(frames):
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        client = Client(cluster)
        futures = client.map(trail, frames, pace=2.0)
        try:
            wait(futures, timeout=4)
        except TimeoutError:
            print("quick look takes too long, done:", sum(f.done() for f in futures))
        client.close()
    try:
        return sum(client.gather(futures))
    except (CancelledError, Exception) as error:
        print("no quick look tonight:", type(error).__name__)
        return None


def main():
    frames = list(range(40))
    assert quick_look(frames) is None
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
        print("meteors:", sum(client.gather(client.map(trail, frames, pace=0.02))))


if __name__ == "__main__":
    main()
