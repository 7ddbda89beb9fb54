"""What a history of many runs costs: reading it at the end of a run, and listing it.

    python benchmarks/history_volume.py [--runs 10000]

In an S3 server on this machine (moto's), through the store's own client; a bucket far
away adds its latency to each of the few requests.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dask_blackbox.manifest import Manifest
from dask_blackbox.reader.earlier_runs import earlier_runs, put_sketch
from dask_blackbox.reader.job_histories import FOR_NAMES, job_history
from dask_blackbox.sketch import packed
from dask_blackbox.store import open_store
from dask_blackbox.testing import embedded_s3

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))


def main() -> None:
    """Print the times."""
    from sketches import a_night, a_prefix, failed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    facts = {"package/driver": {f"package-{n}": f"1.{n}" for n in range(300)}}
    parts = tuple(a_prefix(f"part-of-it{n}", compute=200 - n) for n in range(150))

    def made(number: int) -> None:
        night = a_night(number, facts=facts, prefixes=parts)
        put_sketch(store, night if number % 9 else failed(night))

    with embedded_s3() as server, ThreadPoolExecutor(8) as putting:
        store = open_store(server.url, settings=server.settings)
        begun = time.perf_counter()
        for _ in putting.map(made, range(runs), chunksize=50):
            pass
        print(f"{runs:,} sketches written in {time.perf_counter() - begun:.0f} s")
        print(
            f"a sketch: {len(packed(a_night(1, facts=facts, prefixes=parts))):,} bytes"
        )
        last = a_night(runs)
        manifest = Manifest(
            recording="x", job=last.job, run_id=last.run_id, started=last.started
        )
        begun = time.perf_counter()
        history = earlier_runs(store, manifest)
        took = time.perf_counter() - begun
        print(
            f"the history of one run: {took:.2f} s, {len(history.sketches)} sketches of "
            f"{len(history.names):,} runs{', and more' if history.more else ''}"
        )
        for option, timeout in (("", FOR_NAMES), (" --all", None)):
            begun = time.perf_counter()
            reported = job_history(store, "nightly", timeout=timeout)
            took = time.perf_counter() - begun
            print(
                f"dask blackbox history{option}: {took:.2f} s, {reported.total:,} runs"
            )


if __name__ == "__main__":
    main()
