"""Visits per gym and hour from the turnstiles, with a progress line for the operator."""

import collections
import datetime as dt
import logging
import random
import threading
import time

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("gym")


class Progress:
    """Counts what is done; used by several threads of the operator's console."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self._guard = threading.Lock()

    def step(self):
        with self._guard:
            self.done += 1
            return self.done / self.total


class CheckinReport:
    def __init__(self, client, gyms, day, retries=1):
        self.client = client
        self.gyms = gyms
        self.day = day
        self.retries = retries
        self.progress = Progress(len(gyms))

    @staticmethod
    def read_turnstile(gym, day):
        rng = random.Random(f"{gym}{day}")
        start = dt.datetime.combine(day, dt.time(6))
        return [start + dt.timedelta(minutes=rng.randrange(960)) for _ in range(600)]

    def count_hours(self, visits):
        hours = collections.Counter(visit.hour for visit in visits)
        self.progress.step()
        return dict(hours)

    def merge(self, parts):
        total = collections.Counter()
        for part in parts:
            total.update(part)
        return total

    def opening_hours(self, gym):
        return {"city": (6, 23), "harbour": (7, 22)}[gym]

    def run(self):
        visits = {}
        for gym in self.gyms:
            try:
                first, last = self.opening_hours(gym)
            except KeyError:
                log.warning("no opening hours of %s, all hours count", gym)
                first, last = 0, 24
            visits[gym] = self.client.submit(
                self.read_turnstile, gym, self.day, retries=self.retries
            )
        counts = self.client.map(
            self.count_hours, list(visits.values()), retries=self.retries, pure=False
        )
        return self.merge(self.client.gather(counts))


def with_retry(action, attempts=2, pause=1.0):
    for attempt in range(1, attempts + 1):
        try:
            return action()
        except Exception as error:
            log.warning("attempt %d of %d: %s", attempt, attempts, type(error).__name__)
            if attempt == attempts:
                raise
            time.sleep(pause)


def main():
    gyms = ["city", "harbour", "station", "campus", "mill"]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            report = CheckinReport(client, gyms, dt.date(2026, 11, 28))
            totals = with_retry(report.run)
            for hour in sorted(totals):
                log.info("%02d:00 %5d", hour, totals[hour])


if __name__ == "__main__":
    main()
