import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("wool")

COMPACT = """
import pathlib, resource, sys
store = pathlib.Path(sys.argv[1])
lock = store / "store.lock"
lock.touch(exist_ok=False)
resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
index = bytearray(8 * 40_000_000)
(store / "index.bin").write_bytes(index[:4096])
lock.unlink()
"""


class StoreBusy(Exception):
    pass


def append(store, bale):
    lock = Path(store) / "store.lock"
    deadline = time.monotonic() + 6
    while lock.exists():
        if time.monotonic() > deadline:
            raise StoreBusy(f"{lock} is held, bale {bale} not stored")
        time.sleep(0.1)
    with open(Path(store) / f"bale-{bale}.txt", "w") as out:
        out.write(f"{bale}\n")
    return bale


def compact(store, folder):
    tool = Path(folder) / "compact.py"
    tool.write_text(COMPACT)
    done = subprocess.run([sys.executable, str(tool), str(store)])
    if done.returncode:
        log.warning(
            "compaction ended with %s, the old index stays in use", done.returncode
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.mkdir()
        compact(store, folder)
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as client:
            stored = client.gather(client.map(append, [str(store)] * 5, range(5)))
            log.info("stored %d bales", len(stored))


if __name__ == "__main__":
    main()
