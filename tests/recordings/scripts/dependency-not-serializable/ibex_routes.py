"""Routes of ibex with GPS collars, from positions to crossings of the valley roads.

Every herd's positions become a track (compressed, since the raw positions are many); tracks of all herds are then
laid over each other to find places for crossings.
"""

import logging
import signal
import sys
import zlib

import numpy as np
from distributed import Client, LocalCluster, wait

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout
)
log = logging.getLogger("ibex")

HERDS = ["albris", "julier", "rosatsch", "languard"]


class Track:
    """Positions of a herd in metres of the national grid; travels as differences in 16 bits, packed."""

    def __init__(self, herd, points):
        self.herd = herd
        self.points = points

    def __getstate__(self):
        steps = np.diff(self.points, axis=0, prepend=0.0)
        steps = np.clip(np.round(steps), -32768, 32767).astype("<i2")
        return {
            "herd": self.herd,
            "rows": len(steps),
            "packed": zlib.compress(steps.tobytes()),
        }

    def __setstate__(self, state):
        steps = np.frombuffer(zlib.decompress(state["packed"]), "<i2").reshape(
            state["rows"], 3
        )
        self.herd = state["herd"]
        self.points = steps.cumsum(axis=0)


def read_positions(herd, hours):
    rng = np.random.default_rng(len(herd))
    return np.cumsum(rng.normal(0, 40, size=(hours, 2)), axis=0)


def smooth_track(herd, positions):
    kernel = np.ones(5) / 5
    return Track(
        herd,
        np.column_stack([np.convolve(positions[:, k], kernel, "same") for k in (0, 1)]),
    )


def length_of(track):
    return float(np.hypot(*np.diff(track.points, axis=0).T).sum())


def crossings(tracks, road=0.0):
    counts = {}
    for track in tracks:
        side = track.points[:, 0] > road
        counts[track.herd] = int((side[1:] != side[:-1]).sum())
    return counts


class Deadline:
    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.ring)
        signal.alarm(self.seconds)

    def ring(self, *_):
        raise TimeoutError(f"not done after {self.seconds} s")

    def __exit__(self, *exc):
        signal.alarm(0)


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    homes = list(client.scheduler_info(n_workers=-1)["workers"])
    try:
        with Deadline(20):
            tracks, lengths = [], []
            for i, herd in enumerate(HERDS):
                home = homes[i % len(homes)]
                positions = client.submit(
                    read_positions,
                    herd,
                    24 * 365,
                    key=f"read_positions-{herd}",
                    workers=home,
                )
                track = client.submit(
                    smooth_track,
                    herd,
                    positions,
                    key=f"smooth_track-{herd}",
                    workers=home,
                )
                lengths.append(
                    client.submit(
                        length_of, track, key=f"length_of-{herd}", workers=home
                    )
                )
                tracks.append(track)
            wait(lengths)
            log.info(
                "kilometres by herd: %s",
                [round(x / 1000) for x in client.gather(lengths)],
            )
            table = client.submit(crossings, tracks, key="crossings-all")
            log.info("crossings: %s", table.result())
    except TimeoutError:
        log.error("no table of crossings today")
        raise
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
