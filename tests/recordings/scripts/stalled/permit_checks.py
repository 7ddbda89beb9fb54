"""Checks of building permits against the registers of the county.

The land register takes one visitor at a time (a Lock), the conservation register two (a Semaphore), and
the flood maps are shared by an Event: who needs them waits until they have been put up.  Checks of one
permit are one task.
"""

import os
import random
import sys
import tempfile
import threading
import time

from dask.distributed import Client, Event, LocalCluster, Lock, Semaphore, as_completed

PERMITS = [
    ("B-1041", "dwelling", "upland"),
    ("B-1042", "garage", "upland"),
    ("B-1043", "dwelling", "riverside"),
    ("B-1044", "barn", "upland"),
    ("B-1045", "dwelling", "upland"),
    ("B-1046", "garage", "upland"),
    ("B-1047", "workshop", "upland"),
]
PATIENCE = 20.0


def put_up_flood_maps(county, zones):
    """Publishes the maps of all zones that have changed since the last night."""
    time.sleep(0.2)
    changed = [zone for zone in zones if zone.startswith("coast")]
    for zone in changed:
        Event(f"flood-map-{zone}").set()
    return county, changed


def land_register(number):
    time.sleep(0.1)
    return random.Random(number).random() > 0.02


def conservation_register(number):
    time.sleep(0.15)
    return random.Random(number + "c").random() > 0.02


def check_permit(number, what, area):
    marks = []
    with Lock("land-register"):
        marks.append(("land", land_register(number)))
        if area == "riverside":
            Event("flood-map-riverside").wait()
            marks.append(("flood", True))
    if what != "garage":
        with Semaphore(max_leases=2, name="conservation"):
            marks.append(("conservation", conservation_register(number)))
    return number, marks


class Watch(threading.Thread):
    """Ends the program when nothing was decided for a while: the office opens at eight."""

    def __init__(self, patience):
        super().__init__(daemon=True)
        self.patience = patience
        self.last = time.monotonic()

    def run(self):
        while time.monotonic() - self.last < self.patience:
            time.sleep(0.5)
        print(
            f"no permit decided for {self.patience:.0f} s, giving up",
            file=sys.stderr,
            flush=True,
        )
        os._exit(4)

    def alive(self):
        self.last = time.monotonic()


def main():
    watch = Watch(PATIENCE)
    watch.start()
    folder = tempfile.mkdtemp(prefix="permits-")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="350MB",
            dashboard_address=None,
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        maps = client.submit(
            put_up_flood_maps, "Westmoor", ["coast-1", "coast-2", "river-side"]
        )
        print("maps:", maps.result())
        checks = [
            client.submit(
                check_permit, *permit, key=f"check_permit-{permit[0]}", priority=-i
            )
            for i, permit in enumerate(PERMITS)
        ]
        open_permits = {permit[0] for permit in PERMITS}
        for _, (number, marks) in as_completed(checks, with_results=True):
            watch.alive()
            open_permits.discard(number)
            verdict = "ok" if all(ok for _, ok in marks) else "to be seen by a clerk"
            print(
                f"{number}: {verdict} ({', '.join(name for name, _ in marks)}), {len(open_permits)} left"
            )
    print("all permits checked")


if __name__ == "__main__":
    main()
