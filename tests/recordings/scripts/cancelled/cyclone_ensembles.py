"""Ensemble of cyclone tracks for the insurers' desk.

Started by hand on the forecaster's workstation; runs until all members have come ashore.
"""

import sys
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

MEMBERS = 60
HOURS = 120


def steering_flow(seed):
    rng = np.random.default_rng(seed)
    return rng.normal([-0.18, 0.07], 0.05, size=(HOURS, 2)).cumsum(axis=0)


def integrate_track(member, flow):
    rng = np.random.default_rng(member)
    lon, lat = -52.0, 17.5
    track = []
    for hour in range(HOURS):
        lon += flow[hour, 0] * 0.05 + rng.normal(0, 0.03)
        lat += flow[hour, 1] * 0.05 + rng.normal(0, 0.03)
        track.append((lon, lat))
        time.sleep(0.01)
    return member, track


def landfall(result):
    member, track = result
    lon, lat = track[-1]
    return member, "florida" if lon < -60 else "bahamas" if lat > 20 else "at sea"


class Ensemble:
    def __init__(self, client, members):
        self.client = client
        self.members = members
        self.counts = {}

    def submit(self):
        flows = self.client.map(steering_flow, range(self.members))
        tracks = self.client.map(integrate_track, range(self.members), flows)
        return self.client.map(landfall, tracks)

    def follow(self, futures):
        for done, (future, (member, place)) in enumerate(
            as_completed(futures, with_results=True), 1
        ):
            self.counts[place] = self.counts.get(place, 0) + 1
            if done % 4 == 0:
                print(f"{done}/{self.members} members ashore or done", flush=True)

    def report(self):
        for place, n in sorted(self.counts.items(), key=lambda item: -item[1]):
            print(f"{place:10s} {n / self.members:6.1%}")


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    ensemble = Ensemble(client, MEMBERS)
    try:
        ensemble.follow(ensemble.submit())
        ensemble.report()
    finally:
        print(
            f"leaving with {sum(ensemble.counts.values())} members",
            file=sys.stderr,
            flush=True,
        )
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
