"""Release test of serum batches; a batch that breaks the analyser twice is rejected, as the protocol says."""

import argparse
import logging
import os
import signal
import sys
import time

import dask
import numpy as np
from distributed import Client, KilledWorker, LocalCluster, get_worker

log = logging.getLogger("serum")
BREAKERS = {
    8: signal.SIGSEGV,
    19: None,
}  # what is known to break the analyser, kept as a control


def titre(batch, wells):
    """Mean titre of the wells; the control batches bring the analyser down."""
    time.sleep(0.15)
    if batch in BREAKERS:
        if BREAKERS[batch] is None:
            os._exit(13)
        os.kill(os.getpid(), BREAKERS[batch])
        time.sleep(10)
    rng = np.random.default_rng(batch)
    return batch, float(rng.lognormal(3, 0.2, wells).mean())


def grow_culture(batch):
    """A control without growth is an error and counts as 'negative'."""
    if batch % 8 == 0:
        raise RuntimeError(f"batch {batch}: no growth in the control")
    return batch, get_worker().name


def release_tests(client, batches, wells):
    accepted, rejected = {}, []
    ordinary = [b for b in range(batches) if b not in BREAKERS]
    futures = client.map(
        titre, ordinary, wells=wells, key=[f"titre-{b}" for b in ordinary]
    )
    accepted.update(client.gather(futures))
    # the controls one by one, so that no innocent batch is blamed with them
    for batch in BREAKERS:
        future = client.submit(titre, batch, wells, key=f"control-{batch}")
        try:
            accepted.update([future.result()])
        except KilledWorker as exc:
            log.error("batch %d rejected: %s", batch, str(exc).splitlines()[0])
            rejected.append(batch)
        client.wait_for_workers(2, timeout=90)
    return accepted, rejected


def cultures(client, batches):
    futures = client.map(
        grow_culture, range(batches), key=[f"culture-{b}" for b in range(batches)]
    )
    grown = client.gather(futures, errors="skip")
    negative = [f.key for f in futures if f.status == "error"]
    log.warning("%d cultures without growth: %s", len(negative), ", ".join(negative))
    return len(grown), len(negative)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=32)
    parser.add_argument("--wells", type=int, default=20_000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        accepted, rejected = release_tests(client, args.batches, args.wells)
        grown, negative = cultures(client, args.batches)
        # the night shift has one analyser only
        closing = list(client.scheduler_info(n_workers=-1)["workers"])[0]
        client.retire_workers([closing], close_workers=True)
        log.warning("analyser %s retired", closing)
        late = client.gather(client.map(titre, [101, 102, 103], wells=args.wells))
        log.info("%d late batches", len(late))
    log.info(
        "%d accepted, %d rejected, %d grown, %d negative",
        len(accepted),
        len(rejected),
        grown,
        negative,
    )
    good = sorted(rejected) == sorted(BREAKERS) and grown + negative == args.batches
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
