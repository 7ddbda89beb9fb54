"""Map of a glacier's moraines from the drone survey of the season.

The survey's scenes are loaded once and kept on the workers, because three products are computed from them
(roughness, slope, change against last season). The field laptops have no disk to speak of: nothing is spilled.
"""

import logging
import sys

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("moraine")

SETTINGS = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.75,
    "distributed.worker.memory.terminate": False,
}
SCENE = (1400, 1400)  # pixels, 15 MB in float64
FLIGHTS = {"tongue": 14, "left bank": 12, "right bank": 12}


def load_scene(flight, number):
    """Elevation of one scene, as the photogrammetry left it."""
    rng = np.random.default_rng(abs(hash((flight, number))) % 2**32)
    surface = rng.standard_normal(SCENE)
    return surface.cumsum(axis=0) * 0.1 + 2310.0


def quick_look(scene):
    """Small picture in colour for the tablet."""
    return scene.reshape(350, -1, 3).mean(axis=1)


def roughness(scene):
    return float(np.abs(np.diff(scene, axis=0)).mean())


def slope(scene):
    return float(np.degrees(np.arctan(np.diff(scene, axis=1).std())))


def change(scene, last):
    return float(scene.mean() - last)


def check_of_the_camera(client):
    """One scene through the whole chain, before the batteries are spent on the rest."""
    scene = client.submit(load_scene, "check", 0)
    try:
        client.submit(quick_look, scene).result(timeout=20)
    except ValueError as error:
        log.warning("quick look not possible (%s), going on without", error)
    return client.submit(roughness, scene).result(timeout=20)


def keep_scenes(client):
    scenes = {}
    for flight, count in FLIGHTS.items():
        for number in range(count):
            scenes[flight, number] = client.submit(
                load_scene, flight, number, key=f"load_scene-{flight[:2]}-{number}"
            )
    log.info("%d scenes requested", len(scenes))
    wait(list(scenes.values()), timeout=28)
    return scenes


def products(client, scenes):
    rows = []
    for (flight, number), scene in scenes.items():
        rows.append(
            (
                flight,
                number,
                client.submit(roughness, scene),
                client.submit(slope, scene),
                client.submit(change, scene, 2310.4),
            )
        )
    return [
        (flight, number, *client.gather(list(values)))
        for flight, number, *values in rows
    ]


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    dask.config.set(SETTINGS)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            log.info("camera check: roughness %.3f", check_of_the_camera(client))
            try:
                scenes = keep_scenes(client)
            except TimeoutError:
                log.error(
                    "the scenes are not there within the time of the landing window, packing up"
                )
                raise
            with open("moraines.csv", "w") as out:
                for row in products(client, scenes):
                    out.write(",".join(map(str, row)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
