"""Find the longest name in each file; one file has none."""

import operator

from dask import bag
from dask.distributed import Client


def names_in(text):
    return [word for word in text.split() if word.istitle()]


def longest(texts):
    return max((name for text in texts for name in names_in(text)), key=len)


if __name__ == "__main__":
    texts = ["Anna met Bert", "Carl saw Dora", "nobody was there", "Emil is Fritz"]
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        lines = bag.from_sequence(texts, npartitions=4)
        print(lines.reduction(longest, operator.itemgetter(0)).compute())
