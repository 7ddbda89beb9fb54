"""Interest calculation waits for the overnight rate set by the treasury task."""

import time

from dask.distributed import Client, LocalCluster, Variable, fire_and_forget

FIXINGS = {"2026-11-20": 2.14, "2026-11-19": 2.15}


def treasury(day):
    rate = FIXINGS[day]
    Variable("overnight-rate").set(rate)
    return rate


def accounts(branch):
    return [(f"{branch}-{i}", 1000.0 + i) for i in range(300)]


def interest(rows, rate):
    return sum(balance * rate / 36000 for _, balance in rows)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        fire_and_forget(client.submit(treasury, "2026-11-23"))
        books = client.map(accounts, ["a", "b", "c", "d"])
        time.sleep(0.5)
        rate = Variable("overnight-rate", client=client).get(timeout="8s")
        total = client.gather(client.map(interest, books, [rate] * 4))
        print("interest", round(sum(total), 2))


if __name__ == "__main__":
    main()
