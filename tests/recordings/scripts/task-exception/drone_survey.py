"""Render survey strips; only two strips may use the licensed renderer at a time."""

import time

from dask.distributed import Client, LocalCluster, Semaphore, as_completed


def render(strip, seats):
    if not seats.acquire(timeout=5):
        raise RuntimeError(f"strip {strip}: no renderer seat within 5 s")
    if strip in (1, 3):
        raise FileNotFoundError(f"strip {strip} has no imagery")
    time.sleep(0.2)
    seats.release()
    return strip


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        seats = Semaphore(max_leases=2, name="renderer")
        rendered, missing = [], []
        futures = [
            client.submit(render, s, seats, key=f"strip-{s}", priority=-s)
            for s in range(7)
        ]
        for future in as_completed(futures):
            try:
                rendered.append(future.result())
            except FileNotFoundError as exc:
                missing.append(str(exc))
        print("rendered", rendered, "missing", missing)


if __name__ == "__main__":
    import dask

    with dask.config.set({"distributed.scheduler.locks.lease-timeout": "120s"}):
        main()
