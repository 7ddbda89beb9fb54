"""Feeds lantern positions from tasks into a queue that the driver drains for the map."""

import time

from dask.distributed import Client, LocalCluster, Queue, fire_and_forget

TRACKS = {
    "dragon": "48.1,11.5;48.2,11.5;48.2,11.6",
    "fish": "48.0,11.4;48.0,11.5;48.1,11.5",
    "moon": "48.3,11.5;48.3;48.4,11.6",
    "star": "48.5,11.7;48.5,11.8;48.6,11.8",
}


def publish_track(name, text, out):
    points = []
    for part in text.split(";"):
        lat, lon = part.split(",")
        points.append((float(lat), float(lon)))
        time.sleep(0.1)
    out.put((name, points))


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            out = Queue("lantern-positions")
            for name, text in TRACKS.items():
                fire_and_forget(client.submit(publish_track, name, text, out))
            tracks = {}
            while len(tracks) < len(TRACKS):
                name, points = out.get(timeout=9)
                tracks[name] = points
            print(sorted(tracks))


if __name__ == "__main__":
    main()
