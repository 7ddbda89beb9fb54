import concurrent.futures
import logging
import multiprocessing
import os

from dask.distributed import Client

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("acorns")


def segment(tree):
    if tree == 3:
        os.abort()
    return tree * 11 % 7


def careful_segment(tree):
    return tree * 11 % 7


def count(trees):
    """The fast segmenter runs in processes of its own, as it is known to crash on mossy bark."""
    try:
        with concurrent.futures.ProcessPoolExecutor(
            2, mp_context=multiprocessing.get_context("spawn")
        ) as pool:
            return sum(pool.map(segment, trees, timeout=40))
    except concurrent.futures.process.BrokenProcessPool as error:
        log.warning("segmenter crashed (%s), taking the careful one", error)
        return sum(map(careful_segment, trees))


def main():
    trees = list(range(6))
    total = count(trees)
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        again = sum(client.gather(client.map(careful_segment, trees)))
    assert total == again
    log.info("acorns: %d", total)


if __name__ == "__main__":
    main()
