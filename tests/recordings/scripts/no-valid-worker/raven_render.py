"""Render the raven scenes on the workers that carry a card."""

import tempfile

from distributed import Client, LocalCluster


def render_scene(scene):
    return scene * 2


def scene_size(scene):
    return scene % 5


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
            resources={"gpu": 1},
        ) as cluster,
        Client(cluster) as client,
    ):
        sizes = client.map(scene_size, range(20))
        scenes = client.map(render_scene, sizes, resources={"GPU": 1})
        print(
            "rendered",
            sum(client.submit(sum, scenes).result(timeout=25) for _ in range(1)),
        )


if __name__ == "__main__":
    main()
