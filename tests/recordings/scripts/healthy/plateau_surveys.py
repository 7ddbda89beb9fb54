"""Survey of a plateau: five transects, each worked out on a small cluster of its own with its own settings.

Field teams hand in transects one after the other and each has its scratch folder, which is why clusters are not shared.
"""

import math
import tempfile
from pathlib import Path

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

TRANSECTS = {"kar": 8, "loma": 16, "meseta": 12, "puna": 16, "tafel": 8}


@delayed
def station(name, number):
    rng = np.random.default_rng(number + 1000 * len(name))
    height = 1800 + 300 * math.sin(number / 5)
    readings = rng.normal(height, 1.5, (400, 300))
    return number, readings.mean(axis=1)


@delayed
def adjust(reading):
    number, rows = reading
    return number, float(np.median(rows))


@delayed
def profile(points):
    points = sorted(points)
    steps = np.diff([height for _, height in points])
    return {"stations": len(points), "climb": float(steps[steps > 0].sum())}


def survey(name, threads):
    with tempfile.TemporaryDirectory() as scratch:
        with dask.config.set({"temporary-directory": scratch}):
            with (
                LocalCluster(
                    n_workers=1,
                    threads_per_worker=threads,
                    memory_limit="600MB",
                    dashboard_address=None,
                    name=name,
                ) as cluster,
                Client(cluster) as client,
            ):
                points = [adjust(station(name, n)) for n in range(90)]
                return client.compute(profile(points)).result(timeout=40)


def main():
    lines = []
    for name, threads in TRANSECTS.items():
        result = survey(name, threads)
        lines.append(f"{name:<10}{result['stations']:>5}{result['climb']:>10.1f} m")
        print(lines[-1], flush=True)
    Path("plateau.txt").write_text("\n".join(lines) + "\n")
    if len(lines) != len(TRANSECTS):
        raise SystemExit("transects are missing")


if __name__ == "__main__":
    main()
