"""Mix the drizzle batches once the recipe is published."""

import tempfile
import time

from distributed import Client, Event, LocalCluster


def mix_batch(number):
    Event("recipe-published").wait()
    time.sleep(0.2)
    return number, "mixed"


def publish_recipe(recipe):
    time.sleep(0.5)
    Event("recipe-published").set()
    return recipe


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        batches = client.map(mix_batch, range(16))
        recipe = client.submit(publish_recipe, {"sugar": 3, "water": 1})
        print("recipe", recipe.result())
        print("batches", len(client.gather(batches)))


if __name__ == "__main__":
    main()
