"""Copper shares of the furnace log: one block of shared memory for the checker and the workers, no copies."""

import contextlib
import subprocess
import sys
from multiprocessing import shared_memory

import numpy as np
from dask.distributed import Client

CHECKER = """
import sys
from multiprocessing import shared_memory
import numpy as np
block = shared_memory.SharedMemory(name=sys.argv[1])
values = np.ndarray((int(sys.argv[2]),), dtype="f8", buffer=block.buf)
print("checker: %d values, mean %.4f" % (len(values), values.mean()))
del values
block.close()
"""


def share_above(name, size, limit):
    block = shared_memory.SharedMemory(name=name)
    try:
        return float((np.ndarray((size,), dtype="f8", buffer=block.buf) > limit).mean())
    finally:
        block.close()


def main():
    log = np.random.default_rng(7).uniform(0.5, 0.9, 400_000)
    block = shared_memory.SharedMemory(create=True, size=log.nbytes)
    np.ndarray(log.shape, dtype="f8", buffer=block.buf)[:] = log
    try:
        subprocess.run(
            [sys.executable, "-c", CHECKER, block.name, str(len(log))], check=True
        )
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as client:
            futures = client.map(
                share_above, [block.name] * 4, [len(log)] * 4, [0.6, 0.7, 0.8, 0.85]
            )
            print(client.gather(futures))
    finally:
        block.close()
        with contextlib.suppress(FileNotFoundError):
            block.unlink()


if __name__ == "__main__":
    main()
