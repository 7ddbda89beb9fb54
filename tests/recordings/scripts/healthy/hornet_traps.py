"""Nightly counts of the hornet traps.

Photos of the traps are counted; blurred ones go to the volunteers' queue.
The weather service is flaky, so its calls are retried. Two counting methods
run side by side for the big traps and the first answer is taken.
"""

import argparse
import logging
import random
import tempfile
import time
import warnings
from pathlib import Path

from distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("hornet")


class BlurredPhoto(ValueError):
    pass


class ServiceBusy(ConnectionError):
    pass


def count_photo(trap):
    rng = random.Random(trap)
    time.sleep(0.3)
    sharpness = rng.random()
    if trap % 7 == 3:
        raise BlurredPhoto(f"trap {trap}: sharpness {sharpness:.2f}")
    return rng.randrange(0, 40)


def weather(day, folder):
    """Two refusals are usual before the service answers."""
    tries = Path(folder) / f"weather-{day}"
    seen = int(tries.read_text()) if tries.exists() else 0
    tries.write_text(str(seen + 1))
    time.sleep(0.2)
    if seen < 2:
        raise ServiceBusy(f"503 for day {day}, try again later")
    return 14.0 + day % 6


def count_big(trap, method):
    for _ in range(10 if method == "quick" else 60):
        time.sleep(0.1)
    return method, 200 + trap


def stage_counts(client, traps):
    counts, queue = {}, []
    futures = {client.submit(count_photo, t): t for t in range(traps)}
    for future in as_completed(futures):
        exc = future.exception()
        if isinstance(exc, BlurredPhoto):
            log.warning("%s, queued for the volunteers", exc)
            queue.append(futures[future])
        elif exc is not None:
            raise exc
        else:
            counts[futures[future]] = future.result()
    return counts, queue


def stage_weather(client, folder):
    futures = client.map(weather, range(5), folder=folder, retries=4, pure=False)
    return client.gather(futures)


def stage_big(client):
    winners = []
    for trap in (901, 902):
        race = [
            client.submit(count_big, trap, m, pure=False) for m in ("quick", "thorough")
        ]
        done, pending = wait(race, return_when="FIRST_COMPLETED")
        winners.append(next(iter(done)).result())
        client.cancel(list(pending))
    return winners


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--traps", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(prefix="hornet-") as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MB",
                local_directory=folder,
                dashboard_address="127.0.0.1:0",
            ) as cluster,
            Client(cluster) as client,
        ):
            counts, queue = stage_counts(client, args.traps)
            if len(queue) > 2:
                warnings.warn(
                    f"{len(queue)} blurred photos, clean the lenses", RuntimeWarning
                )
            temperatures = stage_weather(client, folder)
            winners = stage_big(client)
            log.info("big traps: %s", winners)

            # fresh workers for the report, the counting library keeps its buffers
            client.restart(timeout=60)
            again = client.submit(count_photo, queue[0], pure=False)
            log.info("second look at trap %d: %s", queue[0], again.exception())
            total = client.submit(sum, list(counts.values())).result(timeout=60)
    log.info(
        "%d hornets at %.1f degrees, %d photos queued",
        total,
        sum(temperatures) / len(temperatures),
        len(queue),
    )


if __name__ == "__main__":
    main()
