"""Weave cost of the night's patterns with the mill's machine settings."""

import json
import logging
import pathlib
import tempfile

import dask.bag as db
from dask.distributed import Client, LocalCluster

log = logging.getLogger("looms")
DEFAULTS = {
    "picks_per_minute": 420,
    "selvedge_cm": 1.6,
    "gain": {"L1": 1.0, "L2": 1.0, "L3": 1.0},
}


def settings_file(folder):
    path = folder / "mill.json"
    path.write_text(json.dumps(DEFAULTS, indent=1))
    return path


def calibrate(loom, path):
    path = pathlib.Path(path)
    settings = json.loads(path.read_text())
    strokes = [
        settings["picks_per_minute"] + (len(loom) * 3 + n) % 11 for n in range(50)
    ]
    gain = settings["picks_per_minute"] * len(strokes) / sum(strokes)
    print(f"loom {loom}: gain {gain:.4f}, {path.name} updated", flush=True)
    path.write_text(
        json.dumps(
            {"picks_per_minute": settings["picks_per_minute"], "gain": {loom: gain}}
        )
    )
    return loom


def patterns(count):
    return [
        {
            "pattern": f"P{n}",
            "loom": f"L{1 + n % 3}",
            "picks": 900 + 35 * n,
            "width": 110 + n,
        }
        for n in range(count)
    ]


def minutes(pattern, speed):
    return pattern["pattern"], pattern["picks"] / speed


def yarn(settings, todo):
    edge = 2 * settings["selvedge_cm"]
    return sum((p["width"] + edge) * p["picks"] for p in todo)


def main():
    logging.basicConfig(level=logging.INFO)
    todo = patterns(30)
    with tempfile.TemporaryDirectory() as tmp:
        path = settings_file(pathlib.Path(tmp))
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            done = client.gather(
                [
                    client.submit(calibrate, loom, str(path))
                    for loom in ("L1", "L2", "L3")
                ]
            )
            log.info("calibrated %s", ", ".join(done))
            settings = json.loads(path.read_text())
            speed = settings["picks_per_minute"]
            times = (
                db.from_sequence(todo, npartitions=4)
                .map(minutes, speed=speed)
                .compute()
            )
            log.info("%.0f machine minutes", sum(m for _, m in times))
            print("yarn", round(yarn(settings, todo)))


if __name__ == "__main__":
    main()
