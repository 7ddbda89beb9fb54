"""Perforation gauge of scanned stamps; the native comparison runs in a pool of processes of each worker."""
import argparse
import logging
import sys
import tempfile
from pathlib import Path

import dask
from distributed import Client, LocalCluster, WorkerPlugin, as_completed

log = logging.getLogger("stamps")

# shipped to the workers, so that the processes of the pool can import it too
GAUGE = '''
import ctypes
import faulthandler
import time


def start():
    faulthandler.enable()


def copy_rows(image, rows, width):
    """The rows of the edge, copied as the C library wants them."""
    target = ctypes.create_string_buffer(max(rows, 1) * width)
    ctypes.memmove(target, image, rows * width)
    return target.raw


def gauge(stamp):
    """Holes per two centimetres along the upper edge."""
    name, width, height, margin = stamp
    image = bytes((x * x + len(name)) % 251 for x in range(width * max(height, 1)))
    time.sleep(0.3)
    edge = copy_rows(image, height - margin, width)
    holes = sum(1 for a, b in zip(edge, edge[1:]) if a < 40 <= b)
    return name, round(8 + holes % 70 / 10, 1)
'''


class GaugePool(WorkerPlugin):
    """Adds the executor "gauge": native code must not run in the threads of the worker."""

    name = "gauge-pool"

    def setup(self, worker):
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        import perfgauge
        worker.executors["gauge"] = ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("fork"), initializer=perfgauge.start)

    def teardown(self, worker):
        worker.executors["gauge"].shutdown(wait=False, cancel_futures=True)


def album(count):
    """Name, width, height, margin of the scans, as the catalogue lists them."""
    stamps = []
    for number in range(count):
        height = 90 + number % 7
        margin = 80
        if number == 17:
            height, margin = 60, 64
        stamps.append((f"CH-{1850 + number}", 120, height, margin))
    return stamps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stamps", type=int, default=40)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    dask.config.set({"distributed.worker.daemon": False})
    with tempfile.TemporaryDirectory(prefix="stamps-") as folder:
        module = Path(folder, "perfgauge.py")
        module.write_text(GAUGE)
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        import perfgauge

        with LocalCluster(n_workers=2, threads_per_worker=2, memory_limit="250MiB", dashboard_address=None) as cluster, \
                Client(cluster) as client:
            client.upload_file(str(module))
            client.register_plugin(GaugePool())
            with dask.annotate(executor="gauge"):
                futures = client.map(perfgauge.gauge, album(args.stamps), pure=False)
            found = {}
            for future in as_completed(futures):
                name, holes = future.result()
                found[name] = holes
                log.info("%s: %.1f", name, holes)
            log.info("%d stamps gauged", len(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
