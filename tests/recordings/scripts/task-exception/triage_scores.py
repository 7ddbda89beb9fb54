"""Night run of the emergency-ward triage scores.

One task derives the cut-off values of the night from all hospitals and publishes them;
the scoring tasks pick them up and classify their patients.
"""

import argparse
import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Variable, fire_and_forget, wait

log = logging.getLogger("triage")

HOSPITALS = [
    "st-anna",
    "nordklinik",
    "charlotte",
    "westend",
    "marien",
    "elisabeth",
    "havelhoehe",
    "urban",
]
SCHEMA_V2 = {"elisabeth"}
LEVELS = ("green", "yellow", "orange", "red")


def load_vitals(hospital, patients):
    """Vital signs of the last day, one record a patient."""
    time.sleep(0.4)
    rng = np.random.default_rng(sum(map(ord, hospital)))
    pulse = rng.normal(85, 18, patients)
    spo2 = np.clip(rng.normal(96, 2.5, patients), 70, 100)
    temp = rng.normal(37.2, 0.8, patients)
    oxygen = "oxygen_saturation" if hospital in SCHEMA_V2 else "spo2"
    return {"hospital": hospital, "pulse": pulse, oxygen: spo2, "temp": temp}


def count_beds(hospital):
    """Beds in use at midnight."""
    time.sleep(0.8)
    return hospital, 20 + sum(map(ord, hospital)) % 35


def risk(vitals, spo2):
    return (
        np.abs(vitals["pulse"] - 75) / 20
        + (100 - spo2) / 4
        + np.abs(vitals["temp"] - 37) / 0.8
    )


def saturation(vitals):
    for name in ("spo2", "oxygen_saturation"):
        if name in vitals:
            return vitals[name]
    raise ValueError(f"no saturation for {vitals['hospital']}")


def publish_cutoffs(tables, quantiles):
    """Cut-offs over all hospitals, published for the scoring tasks."""
    pooled = np.concatenate([risk(t, t["spo2"]) for t in tables])
    cutoffs = [float(q) for q in np.quantile(pooled, quantiles)]
    Variable("triage-cutoffs").set(cutoffs)
    return cutoffs


def score_hospital(vitals):
    """Number of patients in each triage level."""
    cutoffs = Variable("triage-cutoffs").get()
    level = np.digitize(risk(vitals, saturation(vitals)), cutoffs)
    counts = np.bincount(level, minlength=len(LEVELS))
    return vitals["hospital"], dict(zip(LEVELS, counts.tolist()))


def night_run(client, patients, limit):
    vitals = client.map(load_vitals, HOSPITALS, [patients] * len(HOSPITALS))
    wait(vitals)
    log.info("vitals of %d hospitals loaded", len(vitals))
    fire_and_forget(
        client.submit(
            publish_cutoffs, vitals, [0.5, 0.8, 0.95], key="publish_cutoffs", priority=5
        )
    )
    beds = dict(client.gather(client.map(count_beds, HOSPITALS)))
    log.info("%d beds in use", sum(beds.values()))
    scores = client.map(score_hospital, vitals)
    wait(scores, timeout=limit)
    return dict(client.gather(scores))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=400)
    parser.add_argument("--limit", type=int, default=28, help="seconds for the scoring")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        log.info("cluster with %d threads", sum(client.nthreads().values()))
        result = night_run(client, args.patients, args.limit)
        for hospital, counts in sorted(result.items()):
            log.info("%-12s %s", hospital, counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
