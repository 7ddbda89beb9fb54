"""Stages wait for each other with an Event."""

from dask.distributed import Client, Event


def prepare(tables):
    if "calendar" not in tables:
        return "nothing to prepare"
    Event("calendar-ready").set()
    return "prepared"


def report(week):
    Event("calendar-ready").wait()
    return f"week {week}"


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        first = client.submit(prepare, ["customers", "orders"])
        reports = client.map(report, range(1, 5))
        print(first.result(), flush=True)
        print(client.gather(reports))
