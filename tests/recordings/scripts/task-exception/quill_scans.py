"""Letter counts of the quill scans; each page is cut into strips, which a small pool works off."""

import multiprocessing

import dask.bag as db
from dask.distributed import Client


def strip_count(strip):
    return sum(strip.count(letter) for letter in "aeiou")


def page_count(page):
    strips = [page[i : i + 400] for i in range(0, len(page), 400)]
    if len(strips) < 3:
        return sum(map(strip_count, strips))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        return sum(pool.map(strip_count, strips))


def main():
    pages = ["quill and ink " * n for n in (10, 20, 40, 900, 30)]
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        counts = db.from_sequence(pages, npartitions=5).map(page_count)
        print("vowels on all pages:", counts.sum().compute())


if __name__ == "__main__":
    main()
