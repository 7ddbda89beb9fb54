"""Dive statistics of ocean gliders; dives are listed in the mission database."""

import logging
import sqlite3
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("glider")


def mission_database(path, gliders=5, dives=40):
    rng = np.random.default_rng(19)
    base = sqlite3.connect(path)
    base.execute(
        "create table dive (glider text, number int, max_depth real, minutes real)"
    )
    for g in range(gliders):
        base.executemany(
            "insert into dive values (?, ?, ?, ?)",
            [
                (
                    f"sg{500 + g}",
                    n,
                    float(rng.uniform(180, 990)),
                    float(rng.uniform(60, 340)),
                )
                for n in range(dives)
            ],
        )
    base.commit()
    return base


class Mission:
    def __init__(self, base, name):
        self.name = name
        self.base = base
        self.deepest_allowed = 1000.0

    def gliders(self):
        return [
            row[0]
            for row in self.base.execute("select distinct glider from dive order by 1")
        ]

    def dives(self, glider):
        return self.base.execute(
            "select max_depth, minutes from dive where glider = ?", (glider,)
        ).fetchall()


def vertical_speed(glider, mission):
    dives = np.array(mission.dives(glider))
    speed = 2 * dives[:, 0] / (dives[:, 1] * 60)
    return (
        glider,
        float(speed.mean()),
        float(dives[:, 0].max() / mission.deepest_allowed),
    )


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        mission = Mission(mission_database(Path(tmp) / "mission.db"), "spring-transect")
        names = mission.gliders()
        log.info("%s: %d gliders", mission.name, len(names))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            work = client.map(
                partial(vertical_speed, mission=mission), names, pure=False
            )
            for glider, speed, use in client.gather(work):
                log.info(
                    "%s climbs at %.3f m/s, uses %.0f %% of the depth",
                    glider,
                    speed,
                    100 * use,
                )


if __name__ == "__main__":
    main()
