"""Sonar mosaics: the strips are memory-mapped by the tasks while the archive job trims them to their final length."""

import os
import pathlib
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

PINGS, BEAMS = 6000, 256
STRIPS = ["lee-a", "lee-b", "luv-a", "luv-b"]


def record_strip(folder, strip):
    path = pathlib.Path(folder) / f"{strip}.dat"
    rng = np.random.default_rng(sum(map(ord, strip)))
    np.asarray(rng.normal(40, 3, (PINGS, BEAMS)), dtype="float64").tofile(path)
    return str(path)


def trim(path, pings):
    """Archive keeps full legs only."""
    os.truncate(path, pings * BEAMS * 8)
    return pings


def archive(path):
    """Stands for the archive job of the other team: it starts when it sees that somebody uses the strip."""
    while not os.path.exists(path + ".reading"):
        time.sleep(0.05)
    trim(path, 3000)


def depth_profile(path, legs):
    pings = np.memmap(path, dtype="float64", mode="r", shape=(PINGS, BEAMS))
    pathlib.Path(path + ".reading").touch()  # for the operators' screen
    profile = []
    for leg in range(legs):
        block = pings[leg * PINGS // legs : (leg + 1) * PINGS // legs]
        profile.append(float(block.mean()))
        time.sleep(0.2)
    return profile


def calibrate(strip):
    if strip == "luv-a":
        raise LookupError(f"no sound velocity cast for {strip}")
    return 1500 + len(strip)


def main():
    folder = tempfile.mkdtemp(prefix="sonar-")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            paths = dict(
                zip(
                    STRIPS,
                    client.gather(
                        client.map(record_strip, [folder] * len(STRIPS), STRIPS)
                    ),
                )
            )
            speeds = client.map(calibrate, STRIPS)
            for strip, speed in zip(STRIPS, speeds):
                try:
                    print(strip, "sound speed", speed.result())
                except LookupError as exc:
                    print(strip, "sound speed 1500 (default,", exc, ")")
            for batch in (STRIPS[:2], STRIPS[2:3], STRIPS[3:]):
                profiles = {
                    s: client.submit(depth_profile, paths[s], 12, key=f"profile-{s}")
                    for s in batch
                }
                if "luv-b" in batch:
                    archive(paths["luv-b"])
                for strip, future in profiles.items():
                    profile = future.result()
                    print(
                        f"{strip}: {min(profile):.2f} to {max(profile):.2f} m",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
