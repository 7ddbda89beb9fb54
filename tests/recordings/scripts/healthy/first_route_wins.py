"""Route search: the first feasible route wins, the other searches are cancelled."""

import time

from dask.distributed import CancelledError, Client, LocalCluster, as_completed


def search(strategy):
    seconds = {"greedy": 0.5, "tabu": 4, "anneal": 4, "exact": 8}[strategy]
    time.sleep(seconds)
    return {"strategy": strategy, "km": 100 + seconds}


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        searches = client.map(search, ["greedy", "tabu", "anneal", "exact"])
        winner = next(iter(as_completed(searches))).result()
        losers = [s for s in searches if not s.done()]
        client.cancel(losers)
        for loser in losers:
            try:
                loser.result(timeout=5)
            except CancelledError as err:
                print("cancelled:", err)
        print("route", winner)


if __name__ == "__main__":
    main()
