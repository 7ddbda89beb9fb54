import numpy as np
from distributed import Client, LocalCluster, as_completed


class TrackGap(Exception):
    def __init__(self, mmsi, minutes):
        super().__init__(f"no AIS position of {mmsi} for {minutes} min")
        self.mmsi = mmsi
        self.minutes = minutes


def positions(mmsi):
    step = np.ones(300)
    if mmsi % 100 == 37:
        step[180] = 95
    return np.cumsum(step)


def stitch(mmsi, stamps):
    gaps = np.diff(stamps)
    if gaps.max() > 60:
        raise TrackGap(mmsi, int(gaps.max()))
    return mmsi, len(stamps)


def fleet():
    return [211000000 + 3 * i + 1 for i in range(40)]


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        raw = client.map(positions, fleet())
        tracks = client.map(stitch, fleet(), raw)
        km = 0
        for fut, (mmsi, n) in as_completed(tracks, with_results=True):
            km += n * 0.4
        print("fleet distance", km)


if __name__ == "__main__":
    main()
