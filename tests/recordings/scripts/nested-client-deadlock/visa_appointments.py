"""Free visa appointments of the consulates, for the booking site.

For each consulate the calendar of every counter is read and merged into the
free slots.  Number of workers and threads come from ``booking.yaml``.
"""

import datetime as dt
import pathlib
import sys
import time
from concurrent.futures import TimeoutError as FutureTimeout

import dask.bag as db
import yaml
from dask.distributed import Client, LocalCluster, get_client, wait

DEFAULTS = {"workers": 2, "threads": 8, "patience": 20}

CONSULATES = {
    "Accra": 3,
    "Bogota": 4,
    "Cairo": 5,
    "Dakar": 2,
    "Hanoi": 4,
    "Jakarta": 6,
    "Lima": 3,
    "Manila": 5,
}


def settings(path="booking.yaml"):
    """Defaults with what the file of this environment says."""
    values = dict(DEFAULTS)
    file = pathlib.Path(path)
    if file.exists():
        values.update(yaml.safe_load(file.read_text()) or {})
    return values


def deploy():
    """What the deployment puts next to the script: smaller pods since this release."""
    pathlib.Path("booking.yaml").write_text("workers: 2\nthreads: 1\n")


def counter_calendar(consulate, counter, day):
    """Free slots of one counter, in minutes after eight."""
    time.sleep(0.1)
    seed = hash((len(consulate), counter, day.toordinal())) % 97
    return [minute for minute in range(0, 480, 15) if (minute * 7 + seed) % 11 < 3]


def consulate_slots(consulate, counters, day):
    """Slots of all counters of a consulate, each read on its own."""
    client = get_client()
    calendars = client.map(
        counter_calendar,
        [consulate] * counters,
        range(counters),
        [day] * counters,
        pure=False,
    )
    slots = {}
    for counter, free in enumerate(client.gather(calendars)):
        for minute in free:
            slots.setdefault(minute, []).append(counter)
    return {"consulate": consulate, "day": day.isoformat(), "slots": len(slots)}


def check_addresses(client):
    """The postal check that precedes it: plain work, done in a bag."""
    bag = db.from_sequence(sorted(CONSULATES), npartitions=4)
    return client.compute(bag.map(str.upper).map(len).sum()).result(timeout=30)


def collect(client, day, patience):
    futures = [
        client.submit(consulate_slots, name, counters, day, pure=False)
        for name, counters in CONSULATES.items()
    ]
    try:
        wait(futures, timeout=patience)
    except (TimeoutError, FutureTimeout):
        states = ", ".join(f"{name} {f.status}" for name, f in zip(CONSULATES, futures))
        raise SystemExit(f"booking site not refreshed in {patience} s: {states}")
    return client.gather(futures)


def main():
    deploy()
    values = settings()
    day = dt.date(2026, 11, 30)
    with (
        LocalCluster(
            n_workers=values["workers"],
            threads_per_worker=values["threads"],
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        print("letters in names:", check_addresses(client))
        for row in collect(client, day, values["patience"]):
            print(row["consulate"], row["day"], row["slots"])


if __name__ == "__main__":
    sys.exit(main())
