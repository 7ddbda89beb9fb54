"""Route checks for the lantern parade: every float against every street of its route, answers by midnight."""

import argparse
import logging
import os
import random
import tempfile
import time

from distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("floats")


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--floats", type=int, default=18)
    p.add_argument("--drafts", type=int, default=6)
    return p.parse_args(argv)


def make_floats(count):
    rng = random.Random(1111)
    return [
        {
            "id": n,
            "width": round(rng.uniform(2.2, 3.4), 2),
            "height": round(rng.uniform(3, 5.4), 2),
        }
        for n in range(count)
    ]


def street_register(folder, float_id):
    """The city's register drops the first connection of each caller since its last update."""
    mark = os.path.join(folder, f"caller-{float_id}")
    if float_id % 5 == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise ConnectionResetError(
            f"street register closed the connection of caller {float_id}"
        )
    return [
        {"street": f"street {k}", "width": 2.6 + 0.15 * k, "clearance": 4.1 + 0.2 * k}
        for k in range(6)
    ]


def check_route(folder, item):
    time.sleep(0.4)
    streets = street_register(folder, item["id"])
    tight = [
        s["street"]
        for s in streets
        if s["width"] < item["width"] or s["clearance"] < item["height"]
    ]
    if len(tight) > 4:
        raise ValueError(
            f"float {item['id']} fits into {len(streets) - len(tight)} streets only"
        )
    return item["id"], tight


def draft_brochure(n):
    for _ in range(100):
        time.sleep(0.1)
    return f"draft {n}"


def check_all(client, folder, floats):
    accepted, refused = {}, {}
    futures = client.map(
        check_route, [folder] * len(floats), floats, retries=2, pure=False
    )
    number = dict(zip(futures, (f["id"] for f in floats)))
    for future in as_completed(futures):
        try:
            float_id, tight = future.result()
            accepted[float_id] = tight
        except ValueError as e:
            refused[number[future]] = str(e)
            log.warning("refused: %s", e)
    return accepted, refused


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    floats = make_floats(args.floats)
    with tempfile.TemporaryDirectory(prefix="floats-") as folder:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                accepted, refused = check_all(client, folder, floats)
                log.info("%d accepted, %d refused", len(accepted), len(refused))

                drafts = client.map(draft_brochure, range(args.drafts), pure=False)
                done, late = wait(drafts[:1], timeout=30)
                log.error(
                    "brochure takes too long, dropping %d drafts",
                    args.drafts - len(done),
                )
                client.cancel(
                    drafts[1:], reason="last year's brochure is good enough", force=True
                )

                # the second half of the night belongs to the traffic model
                first = sorted(client.scheduler_info()["workers"])[0]
                client.retire_workers([first])
                log.warning("worker %s given back", first)
                again, _ = check_all(
                    client, folder, [f for f in floats if f["id"] in accepted]
                )
        if set(again) != set(accepted):
            raise SystemExit("second pass differs from the first")
    print(f"{len(accepted)} floats accepted, {len(refused)} to be rebuilt")


if __name__ == "__main__":
    main()
