import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor

import dask


@dask.delayed
def relax(cell):
    time.sleep(0.1)
    if cell == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return cell, -3.2 * cell


@dask.delayed
def lowest(cells):
    return min(cells, key=lambda c: c[1])


def main():
    cells = [relax(k) for k in range(20)]
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(2, mp_context=context) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        print("ground state", lowest(cells).compute())


if __name__ == "__main__":
    main()
