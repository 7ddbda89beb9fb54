import logging
import subprocess
import sys

from distributed import Client, LocalCluster

log = logging.getLogger("mosaic")


def cloud_mask(scene):
    cover = (scene * 29) % 100
    if cover > 70:
        raise ValueError(f"scene {scene}: cloud cover {cover} %")
    return scene, cover


def warp_scene(scene, crs):
    cmd = ["gdalwarp", "-t_srs", crs, f"/vsimem/{scene}.tif", "out.tif"]
    return subprocess.run(cmd, check=True, capture_output=True).stdout


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        masks = client.map(cloud_mask, range(12))
        usable = []
        for f in masks:
            try:
                usable.append(f.result()[0])
            except ValueError:
                log.warning("leaving out a scene", exc_info=True)
        log.info("%d usable scenes", len(usable))
        warped = client.map(warp_scene, usable, crs="EPSG:25832")
        try:
            client.gather(warped)
        except Exception:
            log.exception("mosaic not produced")
            return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
