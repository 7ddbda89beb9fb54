"""Measures how long the reviews of a guest house are."""

import os
import random
import tempfile

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def write_reviews(path):
    words = "room bed view host quiet street breakfast stairs garden".split()
    choose = random.Random(4)
    with open(path, "w") as file:
        file.write("review,text,stars\n")
        for review in range(4000):
            lines = [" ".join(choose.choices(words, k=9)) for _ in range(4)]
            text = "\n".join(lines) if review > 300 else lines[0]
            file.write(f'{review},"{text}",{review % 5 + 1}\n')


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(), "reviews.csv")
    write_reviews(path)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        reviews = dd.read_csv(path, blocksize=64_000, sample=20_000)
        print(reviews.text.str.len().mean().compute())
