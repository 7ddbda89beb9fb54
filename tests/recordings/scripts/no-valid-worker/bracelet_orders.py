"""Engraving previews for the bracelet shop.

Orders of the afternoon are rendered as small depth maps; those with a portrait go through the
laser simulation, which may only run where the workshop's controller licence is.
"""

import argparse
import logging
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("bracelets")

LICENCES = {"controller": 1}


def text_preview(order_id, text):
    rng = np.random.default_rng(order_id)
    band = rng.normal(size=(40, 400)).cumsum(axis=1)
    time.sleep(0.05)
    return order_id, float(band.std()), len(text)


def portrait_depth(order_id):
    rng = np.random.default_rng(order_id)
    face = rng.random((200, 200))
    return order_id, np.minimum(face * 0.4, 0.25)


def laser_simulation(portrait):
    order_id, depth = portrait
    passes = np.ceil(depth / 0.05)
    return order_id, float(passes.mean()), 0


def open_workshop(n_workers, licence_name):
    """Workers of the render machine; each may hold one licence."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
        resources={licence_name: 1},
    )


def render(client, orders, patience):
    texts = [client.submit(text_preview, i, t, pure=False) for i, t in orders if t]
    portraits = [client.submit(portrait_depth, i) for i, t in orders if not t]
    lasers = [client.submit(laser_simulation, p, resources=LICENCES) for p in portraits]

    done = client.gather(texts)
    log.info("%d text previews are ready", len(done))

    start = time.monotonic()
    pending = list(lasers)
    while pending:
        try:
            finished = wait(pending, timeout=3, return_when="FIRST_COMPLETED")
            done += client.gather(list(finished.done))
            pending = list(finished.not_done)
        except TimeoutError:
            waited = time.monotonic() - start
            log.info("%d portraits still out after %.0f s", len(pending), waited)
            if waited > patience:
                for future in pending:
                    future.cancel()
                raise RuntimeError(
                    f"workshop too slow today: {len(pending)} of {len(orders)} previews not rendered "
                    f"in {patience} s"
                ) from None
    return done


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=24)
    parser.add_argument("--patience", type=float, default=10)
    parser.add_argument(
        "--licence", default="Controller", help="licence that the render machine holds"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    orders = [(i, "" if i % 6 == 5 else f"for ever {i}") for i in range(args.orders)]
    with open_workshop(2, args.licence) as cluster, Client(cluster) as client:
        try:
            previews = render(client, orders, args.patience)
        except RuntimeError as error:
            log.error("%s", error)
            return 3
    print(f"{len(previews)} previews rendered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
