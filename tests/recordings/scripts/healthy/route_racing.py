"""Race three solvers for every delivery round and keep the first answer, the losers are cancelled."""

import random
import time
from concurrent.futures import CancelledError

from dask.distributed import Client, LocalCluster, as_completed

PACE = {"greedy": 0.3, "savings": 0.9, "anneal": 6.0}


class NoRoute(ValueError):
    """Greedy paints itself into a corner now and then."""


def solve(method, round_id, stops):
    rng = random.Random(f"{method}-{round_id}")
    deadline = time.time() + PACE[method]
    length = 0.0
    while time.time() < deadline:
        length = sum(rng.uniform(0.5, 4) for _ in range(stops))
        time.sleep(0.05)
    if method == "greedy" and round_id % 2:
        raise NoRoute(f"round {round_id}: {stops} stops, dead end")
    return method, round(length, 1)


def race(client, round_id, stops):
    futures = [
        client.submit(
            solve,
            method,
            round_id,
            stops,
            key=f"{method}-{round_id}",
            priority=-PACE[method],
            retries=0,
        )
        for method in PACE
    ]
    failed = []
    for future in as_completed(futures):
        try:
            winner = future.result()
        except NoRoute as exc:
            failed.append(str(exc))
            continue
        losers = [f for f in futures if f is not future and not f.done()]
        client.cancel(losers, reason="lost the race")
        for loser in losers:
            try:
                loser.result(timeout=5)
            except CancelledError:
                print(f"  {loser.key} cancelled")
        return winner, failed
    raise SystemExit(f"no solver had an answer for round {round_id}")


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        for round_id in range(4):
            (method, length), failed = race(client, round_id, stops=30 + round_id)
            print(
                f"round {round_id}: {method} with {length} km; failed: {failed or 'none'}",
                flush=True,
            )
        client.retire_workers(
            list(client.scheduler_info()["workers"]), close_workers=True
        )
        print("workers retired")


if __name__ == "__main__":
    main()
