"""Bed occupancy per ward: open the ward's log, hand back what was found."""

import io
import logging
import random

from dask.distributed import Client

log = logging.getLogger("beds")


class WardReport:
    """Occupancy of a ward and the handle to its notes."""

    def __init__(self, ward, occupied, notes):
        self.ward = ward
        self.occupied = occupied
        self.notes = notes


def read_ward(ward):
    rng = random.Random(ward)
    raw = io.BytesIO(b"\n".join(b"bed %d" % rng.randint(1, 40) for _ in range(60)))
    notes = io.BufferedReader(raw)
    beds = {line.strip() for line in notes}
    return WardReport(ward, len(beds), notes)


def main():
    logging.basicConfig(level=logging.INFO)
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        wards = client.map(read_ward, range(12))
        full = client.map(lambda w: w.occupied > 25, wards)
        log.info("full wards: %d", sum(client.gather(full)))
        reports = client.gather(wards)
        for report in reports:
            log.info("ward %s: %s", report.ward, report.occupied)


if __name__ == "__main__":
    main()
