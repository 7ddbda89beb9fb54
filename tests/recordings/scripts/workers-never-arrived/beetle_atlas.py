"""Nightly refresh of the beetle atlas: occurrence counts per map square.

The workers run on two nodes. On start each of them brings its local copy of
the reference tables up to date (preload `refsync.py`), from the slow archive.
"""

import argparse
import collections
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

log = logging.getLogger("atlas")

TABLES = [
    "carabidae",
    "cerambycidae",
    "chrysomelidae",
    "coccinellidae",
    "curculionidae",
    "dytiscidae",
    "elateridae",
    "lucanidae",
    "scarabaeidae",
    "staphylinidae",
    "squares",
    "synonyms",
]

REFSYNC = '''\
import logging
import os
import pathlib
import time

log = logging.getLogger("distributed.preload.refsync")


def copy_slowly(source, target, seconds=6):
    """The archive gives 64 kB a second to each node."""
    data = source.read_bytes()
    time.sleep(seconds)
    target.write_bytes(data)


def dask_setup(worker):
    archive = pathlib.Path(os.environ["ATLAS_ARCHIVE"])
    cache = pathlib.Path(os.environ["ATLAS_CACHE"])
    names = sorted(p.name for p in archive.iterdir())
    absent = [n for n in names if not (cache / n).exists()]
    log.warning("%s: %d of %d tables to copy", cache.parent.name, len(absent), len(names))
    for n, name in enumerate(absent, 1):
        copy_slowly(archive / name, cache / name)
        log.warning("copied %s (%d of %d)", name, n, len(absent))
    log.warning("%s: reference tables complete", cache.parent.name)
'''


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def prepare(root):
    archive = root / "archive"
    archive.mkdir()
    for name in TABLES:
        (archive / name).write_text("\n".join(f"{name},{n}" for n in range(500)))
    for node in ("meadow", "forest"):
        (root / node / "cache").mkdir(parents=True)
    for name in TABLES:  # meadow has been with us since spring
        (root / "meadow" / "cache" / name).write_bytes((archive / name).read_bytes())
    (root / "refsync.py").write_text(REFSYNC)


def launch(root, node, *args):
    env = dict(
        os.environ,
        PYTHONDONTWRITEBYTECODE="1",
        ATLAS_ARCHIVE=str(root / "archive"),
        ATLAS_CACHE=str(root / node / "cache"),
    )
    return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=root, env=env)


def stop(processes):
    for proc in reversed(processes):
        proc.terminate()
    for proc in processes:
        try:
            proc.wait(6)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def count_square(square):
    rng = random.Random(square)
    time.sleep(0.5)
    return square, collections.Counter(rng.choice(TABLES[:10]) for _ in range(300))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--squares", type=int, default=24)
    parser.add_argument(
        "--wait", type=float, default=25, help="seconds for the nodes to come up"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    processes = []
    with tempfile.TemporaryDirectory(prefix="atlas-") as tmp:
        root = Path(tmp)
        prepare(root)
        port = free_port()
        try:
            processes.append(
                launch(
                    root,
                    "meadow",
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            for node in ("meadow", "forest"):
                processes.append(
                    launch(
                        root,
                        node,
                        "worker",
                        f"tcp://127.0.0.1:{port}",
                        "--name",
                        node,
                        "--no-nanny",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        "--preload",
                        "refsync.py",
                        "--local-directory",
                        tmp,
                        "--dashboard-address",
                        "127.0.0.1:0",
                    )
                )
            with Client(f"tcp://127.0.0.1:{port}", timeout=60) as client:
                client.wait_for_workers(2, timeout=args.wait)
                counts = dict(
                    client.gather(client.map(count_square, range(args.squares)))
                )
                log.info("%d squares refreshed", len(counts))
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
