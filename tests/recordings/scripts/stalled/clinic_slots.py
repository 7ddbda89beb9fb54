"""Plans the appointment slots of the clinics; the booking database allows few connections at a time."""

import argparse
import logging
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, Semaphore

log = logging.getLogger("slots")
CLINICS = ["ashford", "bexley", "croydon", "dorking", "epsom", "farnham"]


class Connection:
    """One connection of the booking database, counted over all the workers."""

    def __init__(self, limit, purpose):
        self.limit, self.purpose = limit, purpose

    def __enter__(self):
        self.limit.acquire()
        time.sleep(0.3)
        return self

    def __exit__(self, *details):
        self.limit.release()

    def rows(self, clinic, count):
        time.sleep(1.0)
        return [(clinic, self.purpose, number) for number in range(count)]


def doctors_of(limit, clinic):
    with Connection(limit, "doctor") as connection:
        return connection.rows(clinic, 4)


def holidays_of(limit, clinic):
    with Connection(limit, "holiday") as connection:
        return connection.rows(clinic, 2)


def plan_clinic(limit, clinic, doctors):
    plan = []
    with Connection(limit, "slot") as connection:
        slots = connection.rows(clinic, 16)
        closed = {number for _, _, number in holidays_of(limit, clinic)}
        for _, _, slot in slots:
            if slot not in closed:
                plan.append((clinic, slot, doctors[slot % len(doctors)][2]))
    return plan


def plan_all(client, limit):
    doctors = client.map(
        doctors_of,
        [limit] * len(CLINICS),
        CLINICS,
        key=[f"doctors_of-{name}" for name in CLINICS],
    )
    client.gather(doctors)
    log.info("doctors of %d clinics read", len(CLINICS))
    return [
        client.submit(plan_clinic, limit, clinic, staff, key=f"plan_clinic-{clinic}")
        for clinic, staff in zip(CLINICS, doctors)
    ]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=2)
    parser.add_argument(
        "--deadline", type=float, default=22.0, help="seconds until the clinics open"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="slots-") as base:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MiB",
            dashboard_address=":0",
            local_directory=base,
        )
        client = Client(cluster)
        try:
            limit = Semaphore(max_leases=args.connections, name="booking-db")
            plans = plan_all(client, limit)
            end = time.monotonic() + args.deadline
            while time.monotonic() < end:
                states = [plan.status for plan in plans]
                log.info(
                    "plans: %d of %d finished", states.count("finished"), len(plans)
                )
                if "pending" not in states:
                    break
                time.sleep(4)
            else:
                log.error(
                    "deadline of %.0f s reached, no plan is published", args.deadline
                )
                return 2
            log.info(
                "%d slots planned", sum(len(plan) for plan in client.gather(plans))
            )
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
