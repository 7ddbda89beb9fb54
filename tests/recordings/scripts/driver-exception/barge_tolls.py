import datetime as dt

from dask.distributed import Client


class ReconcileError(Exception):
    pass


def bill(day):
    barges = (day.toordinal() * 7) % 11 + 1
    return {"day": day, "toll": 42.5 * barges}


def submit_month(client, first, days=12):
    futures = []
    for n in range(days):
        day = first + dt.timedelta(days=n)
        futures.append(client.submit(bill, day, key=f"bill-{day:%d}"))
    return futures


def reconcile(month, bills):
    foreign = [b["day"].isoformat() for b in bills if b["day"].month != month]
    if foreign:
        raise ReconcileError(
            f"month {month}: {len(foreign)} bills of other days, first {foreign[0]}"
        )
    print("month", month, "total", sum(b["toll"] for b in bills))


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    try:
        months = {m: submit_month(client, dt.date(2026, m, 1)) for m in (9, 10)}
        for month, futures in months.items():
            reconcile(month, client.gather(futures))
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
