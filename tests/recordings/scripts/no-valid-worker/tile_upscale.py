import sys
import time

import numpy as np
from distributed import Client, LocalCluster, TimeoutError


def read_tile(i):
    return np.full((64, 64), i, dtype="u1")


def upscale(tile):
    time.sleep(0.05)
    return tile.repeat(2, 0).repeat(2, 1)


def sharpen(tile):
    return float(tile.std() + tile.mean())


def main():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MB",
        resources={"gpu": 1},
        dashboard_address=None,
    )
    client = Client(cluster)
    tiles = client.map(read_tile, range(20))
    big = client.map(upscale, tiles, resources={"GPU": 1})
    out = client.map(sharpen, big)
    try:
        started = time.time()
        while not all(f.done() for f in out):
            if time.time() - started > 20:
                raise TimeoutError(
                    f"{sum(not f.done() for f in out)} tiles not ready after 20 s"
                )
            time.sleep(0.5)
        print("tiles", len(client.gather(out)))
    except TimeoutError as e:
        print("ERROR", e)
        for f in tiles + big + out:
            f.cancel()
        sys.exit(1)
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
