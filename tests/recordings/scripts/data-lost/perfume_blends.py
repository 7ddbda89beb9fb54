"""Scores perfume blends against the panel's notes, with an asynchronous driver."""

import argparse
import asyncio
import contextlib
import logging
import random
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("blends")

NOTES = ["amber", "bergamot", "cedar", "iris", "musk", "neroli", "oud", "vetiver"]


def panel_scores(note):
    """What the panel said about one note."""
    time.sleep(0.6)
    rng = random.Random(note)
    return {f"p{n}": rng.uniform(1, 9) for n in range(400)}


def normalise(scores):
    time.sleep(0.2)
    mean = sum(scores.values()) / len(scores)
    return {k: v / mean for k, v in scores.items()}


def blend_score(first, second, name):
    time.sleep(0.3)
    return name, sum(first[k] * second[k] for k in first) / len(first)


@contextlib.asynccontextmanager
async def session(address, name):
    """Client of one step. Every step has its own, so that the dashboard tells them apart."""
    async with Client(address, asynchronous=True, name=name) as client:
        log.info("%s: connected", name)
        yield client
    log.info("%s: done", name)


async def load_panel(address):
    async with session(address, "panel-loader") as client:
        tables = {}
        for note in NOTES:
            raw = client.submit(panel_scores, note, key=f"panel_scores-{note}")
            tables[note] = client.submit(normalise, raw, key=f"normalise-{note}")
        pending = list(tables.values())
        async for _ in as_completed(pending):
            pass
        log.info("%d tables on the cluster", len(tables))
        return {note: table.key for note, table in tables.items()}


async def score_blends(address, tables, limit):
    async with session(address, "blender") as client:
        from dask.distributed import Future

        handles = {note: Future(key, client=client) for note, key in tables.items()}
        jobs = []
        for i, first in enumerate(NOTES):
            for second in NOTES[i + 1 :]:
                name = f"{first}+{second}"
                jobs.append(
                    client.submit(
                        blend_score,
                        handles[first],
                        handles[second],
                        name,
                        key=f"blend_score-{name}",
                    )
                )
        scored = await asyncio.wait_for(client.gather(jobs), timeout=limit)
        return sorted(scored, key=lambda item: -item[1])


async def night(address, limit):
    started = time.monotonic()
    tables = await load_panel(address)
    best = await score_blends(address, tables, limit)
    for name, score in best[:5]:
        log.info("%-18s %.3f", name, score)
    log.info("night took %.1f s", time.monotonic() - started)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=20.0)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="blends-") as tmp:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
            local_directory=tmp,
        ) as cluster:
            asyncio.run(night(cluster.scheduler_address, args.limit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
