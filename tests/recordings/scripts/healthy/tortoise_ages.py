"""Estimates the ages of the tortoises from their scute rings, in two passes."""

import argparse
import logging
import os
import random
import sys
import tempfile
import time
import warnings

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("tortoises")


def camera_ready(base, number):
    """The image store answers every second time only."""
    marker = os.path.join(base, f"seen-{number}")
    if number % 4 == 0 and not os.path.exists(marker):
        with open(marker, "w"):
            pass
        raise ConnectionResetError(
            f"image store closed the connection for tortoise {number}"
        )
    time.sleep(0.15)
    return random.Random(number).randint(8, 90)


def rings_to_age(number, rings):
    if number % 11 == 5:
        raise ValueError(f"rings of tortoise {number} are worn")
    if rings > 60:
        warnings.warn(
            f"tortoise {number}: {rings} rings is beyond the table", stacklevel=2
        )
    return number, round(rings * 1.07, 1)


def first_pass(client, base, count):
    ages, worn = {}, []
    rings = [
        client.submit(camera_ready, base, n, key=f"camera_ready-{n}", retries=3)
        for n in range(count)
    ]
    futures = {
        client.submit(rings_to_age, n, one, key=f"rings_to_age-{n}"): n
        for n, one in enumerate(rings)
    }
    for future in as_completed(futures):
        if future.status == "error":
            worn.append(futures[future])
        else:
            number, age = future.result()
            ages[number] = age
    return ages, sorted(worn)


def by_weight(number):
    time.sleep(0.2)
    return number, 12.5 + number % 40


def second_pass(client, worn):
    """Worn shells are estimated from the weight, twice as many guesses as needed, first ones win."""
    futures = [
        client.submit(by_weight, number, key=f"by_weight-{number}") for number in worn
    ]
    spare = [
        client.submit(time.sleep, 5, key=f"spare-{number}", pure=False)
        for number in worn
    ]
    result = dict(client.gather(futures))
    client.cancel(spare)
    return result


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--animals", type=int, default=40)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="tortoises-") as base:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=2,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            ages, worn = first_pass(client, base, args.animals)
            log.warning("%d shells are worn: %s", len(worn), worn)
            address = sorted(client.scheduler_info()["workers"])[0]
            client.retire_workers([address], close_workers=True)
            log.info("retired %s for the second pass", address)
            ages.update(second_pass(client, worn))
            client.restart()
            check = client.submit(sum, list(ages.values())).result()
            if len(ages) != args.animals:
                log.error("only %d of %d animals have an age", len(ages), args.animals)
                return 1
            log.info("%d ages, mean %.1f years", len(ages), check / len(ages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
