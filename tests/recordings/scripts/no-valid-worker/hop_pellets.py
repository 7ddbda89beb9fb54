"""Pressing plan of a hop pellet mill: aroma prediction needs the licensed chemistry kernel, which only some
workers may use at a time, everything else runs anywhere.

Workers come with their equipment written in sites.toml, the way the mills deliver it.
"""

import logging
import sys
import time
import tomllib

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, SpecCluster, Scheduler, Nanny, wait

log = logging.getLogger("hop_pellets")

SITES = """
[[worker]]
name = "mill-north"
threads = 1
[worker.equipment]
Chem = 1

[[worker]]
name = "mill-south"
threads = 1
[worker.equipment]
press = 2
"""


def workers_of(text):
    specification = {}
    for entry in tomllib.loads(text)["worker"]:
        specification[entry["name"]] = {
            "cls": Nanny,
            "options": {
                "nthreads": entry["threads"],
                "resources": entry["equipment"],
                "memory_limit": "350MB",
                "name": entry["name"],
                "dashboard": False,
            },
        }
    return specification


def lot(number):
    rng = np.random.default_rng(number)
    return pd.DataFrame(
        {
            "alpha": rng.normal(9, 2, 500),
            "oil": rng.gamma(2, 0.6, 500),
            "moisture": rng.normal(10, 1, 500),
        }
    )


def dry(frame, target=8.5):
    frame = frame.assign(moisture=np.minimum(frame["moisture"], target))
    return frame


def predict_aroma(frame):
    return float(
        (
            frame["oil"] * 1.8 + frame["alpha"] * 0.3 - (frame["moisture"] - 8) ** 2
        ).mean()
    )


def press_plan(scores, tons=40):
    order = sorted(range(len(scores)), key=lambda n: -scores[n])
    return [{"lot": n, "tons": round(tons * scores[n] / sum(scores), 2)} for n in order]


def compute(client, lots):
    dried = [
        client.submit(dry, client.submit(lot, n, key=f"lot-{n}"), key=f"dry-{n}")
        for n in range(lots)
    ]
    scores = [
        client.submit(
            predict_aroma, frame, resources={"chem": 1}, key=f"predict_aroma-{n}"
        )
        for n, frame in enumerate(dried)
    ]
    plan = client.submit(press_plan, scores, key="press_plan", resources={"press": 1})
    wait(dried, timeout=30)
    log.info("%d lots dried", lots)
    return plan.result(timeout=12)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    # a dry run with two lots in threads, as the mill's IT wants it: it proves the input, not the numbers
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            resources={"chem": 1, "press": 1},
        ) as rehearsal,
        Client(rehearsal) as client,
    ):
        log.info("rehearsal: %s", compute(client, lots=2))

    started = time.monotonic()
    scheduler = {
        "cls": Scheduler,
        "options": {"dashboard": False, "host": "127.0.0.1", "port": 0},
    }
    cluster = SpecCluster(workers=workers_of(SITES), scheduler=scheduler, name="mills")
    try:
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=20)
            plan = compute(client, lots=8)
            for row in plan:
                print(row["lot"], row["tons"])
    except TimeoutError:
        log.error(
            "no plan after %.0f s, mills keep yesterday's", time.monotonic() - started
        )
        sys.exit(3)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
