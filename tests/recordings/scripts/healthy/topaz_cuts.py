"""Search of good cuts for rough topaz: several strategies race, the losers are cancelled."""

import argparse
import logging
import random
import tempfile
import time
import warnings

from distributed import Client, LocalCluster, as_completed, wait
from distributed.client import FutureCancelledError

log = logging.getLogger("topaz")

STONES = {"imperial-3": 18.4, "blue-7": 9.1, "sherry-2": 22.7, "pink-1": 6.3}
STRATEGIES = {"brilliant": 0.6, "emerald": 1.1, "cushion": 4.0}


class NoCut(ValueError):
    """The stone is too small for this cut."""


def try_cut(stone, carats, strategy, seconds):
    time.sleep(seconds)
    if strategy == "brilliant" and carats < 8:
        raise NoCut(f"{stone}: {carats} ct is too small for a {strategy} cut")
    if carats > 20:
        warnings.warn(f"{stone}: inclusions near the girdle", stacklevel=1)
    rng = random.Random(f"{stone}{strategy}")
    return strategy, round(carats * rng.uniform(0.3, 0.6), 2)


def polish(cut, hours):
    time.sleep(hours / 10)
    return cut[0], round(cut[1] * 0.985, 2)


def first_cut(client, stone, carats):
    """The first strategy that gives a cut wins."""
    futures = [
        client.submit(try_cut, stone, carats, s, t, pure=False)
        for s, t in STRATEGIES.items()
    ]
    winner = None
    for future in as_completed(futures):
        if future.status == "error":
            log.warning("%s: %s", stone, future.exception())
            continue
        winner = future.result()
        break
    losers = [f for f in futures if not f.done()]
    client.cancel(losers, force=True)
    for future in losers:
        try:
            future.result(timeout=5)
        except FutureCancelledError:
            log.info("%s: slower strategy cancelled", stone)
    return winner


def impatient_polish(client, cuts):
    """A first try with little patience, then as long as it takes."""
    futures = {
        stone: client.submit(polish, cut, 40, pure=False) for stone, cut in cuts.items()
    }
    try:
        wait(list(futures.values()), timeout=2)
    except TimeoutError:
        log.warning("polishing takes longer than 2 s, wait on")
    return client.gather(futures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--restart", action=argparse.BooleanOptionalAction, default=True
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="topaz-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            cuts = {
                stone: first_cut(client, stone, carats)
                for stone, carats in STONES.items()
            }
            if args.restart:
                # the cutting library keeps its tables for ever: fresh processes for the second stage
                log.warning("restart the workers between the stages")
                pending = client.submit(polish, ("test", 1.0), 300, pure=False)
                time.sleep(0.5)
                client.restart(timeout=40)
                log.info("test stone after the restart: %s", pending.status)
            polished = impatient_polish(client, cuts)
            for stone, (strategy, carats) in sorted(polished.items()):
                log.info("%-11s %-10s %6.2f ct", stone, strategy, carats)


if __name__ == "__main__":
    main()
