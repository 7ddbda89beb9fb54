"""Map legends: steps in the shell, a queue with patience, and a lock that may be taken."""

import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, Lock, Queue, TimeoutError


def symbols(sheet):
    queue = Queue("symbols")
    for n in range(sheet % 4):
        queue.put(f"{sheet}:{n}")
    return sheet % 4


def drain(queue):
    items = []
    while True:
        try:
            items.append(queue.get(timeout=1))
        except TimeoutError:
            print("queue is empty")
            return items


def has_legend(path):
    """Like grep: 0 found, 1 not found."""
    code = "import sys; sys.exit('legend' not in open(sys.argv[1]).read())"
    return subprocess.run([sys.executable, "-c", code, str(path)]).returncode == 0


def main():
    with tempfile.TemporaryDirectory() as tmp:
        sheets = []
        for n in range(4):
            path = Path(tmp) / f"sheet{n}.txt"
            path.write_text("legend: roads" if n % 2 else "contours only")
            sheets.append(path)
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as c:
            print("with legend:", sum(c.gather(c.map(has_legend, sheets))))
            queue = Queue("symbols", client=c)
            counts = c.gather(c.map(symbols, range(12)))
            items = drain(queue)
            assert len(items) == sum(counts)
            lock = Lock("atlas")
            lock.acquire()
            again = Lock("atlas").acquire(timeout=0.5)
            print("locked twice:", again)
            lock.release()


if __name__ == "__main__":
    main()
