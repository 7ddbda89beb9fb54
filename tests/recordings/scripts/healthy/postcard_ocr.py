"""Read old postcards: two engines race for each card, unreadable ones go to the quarantine list."""

import argparse
import logging
import os
import random
import sys
import tempfile
import time

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("postcards")


class Unreadable(Exception):
    pass


def prepare(card, folder):
    """The scanner's share is flaky: the first open of every fifth card fails."""
    marker = os.path.join(folder, f"seen-{card}")
    if card % 5 == 0 and not os.path.exists(marker):
        open(marker, "w").close()
        raise ConnectionResetError(104, f"share went away while opening card {card}")
    rng = random.Random(card)
    return card, [rng.randrange(256) for _ in range(4000)]


def engine(name, scan, pace):
    card, pixels = scan
    if card in (13, 26):
        raise Unreadable(f"card {card}: water damage over 80 % of the text")
    deadline = time.time() + pace
    words = 0
    while time.time() < deadline:
        words = sum(1 for p in pixels if p > 128)
        time.sleep(0.02)
    return card, name, words


def race(client, scan, card):
    """Both engines; the first answer wins, the other one is cancelled (it ends by itself soon)."""
    fast = client.submit(engine, "fast", scan, 0.1, key=f"fast-{card}", pure=False)
    slow = client.submit(
        engine, "slow", scan, 1.5, key=f"slow-{card}", pure=False, priority=-10
    )
    try:
        for future in as_completed([fast, slow]):
            return future.result()
    finally:
        client.cancel([fast, slow], force=True, reason="the other engine was faster")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=30)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    quarantine, read = [], {}
    with (
        tempfile.TemporaryDirectory(prefix="cards-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="250MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        scans = client.map(
            prepare, range(args.cards), folder=folder, retries=2, pure=False
        )
        for card in range(args.cards):
            try:
                _, name, words = race(client, scans[card], card)
                read[card] = words
            except Unreadable as exc:
                log.error("quarantine: %s", exc, exc_info=card == 13)
                quarantine.append(card)
            if card == args.cards // 3:
                # a bad measurement on purpose: the cluster must survive it
                probe = client.submit(lambda: 1 / 0, key="probe-division")
                log.warning("probe ended with %r", probe.exception())
            if card == args.cards // 2:
                # the engines leak, so a fresh start half way
                client.restart(timeout=90)
                scans[card + 1 :] = client.map(
                    prepare,
                    range(card + 1, args.cards),
                    folder=folder,
                    retries=2,
                    pure=False,
                )
                log.warning("cluster restarted after card %d", card)
        log.info(
            "%d cards read, %d in quarantine: %s",
            len(read),
            len(quarantine),
            quarantine,
        )
    if quarantine != [13, 26]:
        log.error("unexpected quarantine")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
