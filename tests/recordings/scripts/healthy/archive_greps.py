"""Look for retired call numbers in the library's catalogue dumps; most of the dumps have none."""

import argparse
import logging
import os
import pathlib
import subprocess
import tempfile

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("archive")
RETIRED = ["Rq 4471", "Zb 1020", "Mn 77"]


def write_dumps(folder, count):
    for n in range(count):
        lines = [
            f"{('Aa', 'Hc', 'Tv')[k % 3]} {n * 100 + k};title {k}" for k in range(300)
        ]
        if n in (3, 7):
            lines[120] = f"{RETIRED[n % 3]};misplaced volume"
        (folder / f"dump_{n:02d}.csv").write_text("\n".join(lines) + "\n")


@dask.delayed
def grep(pattern, path):
    done = subprocess.run(
        ["grep", "-c", "-F", pattern, path], capture_output=True, text=True
    )
    if done.returncode > 1:
        raise RuntimeError(done.stderr)
    print(
        f"grep {pattern!r} in {os.path.basename(path)}: exit status {done.returncode}",
        flush=True,
    )
    return pattern, path, int(done.stdout)


@dask.delayed
def sort_unique(path):
    handle, scratch = tempfile.mkstemp(suffix=".sorted")
    os.close(handle)
    try:
        subprocess.run(["sort", "-u", "-o", scratch, path], check=True)
        return sum(1 for _ in open(scratch))
    finally:
        os.unlink(scratch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dumps", type=int, default=12)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write_dumps(folder, args.dumps)
        paths = sorted(str(p) for p in folder.glob("*.csv"))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            hits = dask.compute(*[grep(p, path) for p in RETIRED for path in paths])
            lines = dask.compute(*[sort_unique(path) for path in paths])
        for pattern, path, count in hits:
            if count:
                log.warning(
                    "%s: %d time(s) in %s", pattern, count, os.path.basename(path)
                )
        print(sum(lines), "lines,", sum(c for _, _, c in hits), "retired numbers")


if __name__ == "__main__":
    main()
