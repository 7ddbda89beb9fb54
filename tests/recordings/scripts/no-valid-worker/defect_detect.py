"""Detect surface defects; inference is tied to the accelerator slots."""

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def photo(serial):
    rng = np.random.default_rng(serial)
    return rng.random((256, 256), dtype="float32")


def normalise(image):
    return (image - image.mean()) / image.std()


def infer(image):
    kernel = np.ones((3, 3)) / 9
    score = sum(
        kernel[i, j] * image[i : 254 + i, j : 254 + j]
        for i in range(3)
        for j in range(3)
    )
    return float(score.max())


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            resources={"GPU": 1},
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        images = client.map(normalise, client.map(photo, range(12)))
        wait(images)
        print("images ready", len(images))
        scores = client.map(infer, images, resources={"GPU": 2})
        done, open_ = wait(scores, timeout=10)
        values = client.gather(list(done))
        print("defective", sum(v > 1.2 for v in values), "open", len(open_))


if __name__ == "__main__":
    main()
