"""Fetches the catalogues of the tea auctions and values the lots."""

import logging
import random
import sys
import tempfile
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("tea_auctions")

CENTRES = ["colombo", "guwahati", "kochi", "kolkata", "mombasa", "siliguri"]


class CatalogueServer:
    """Serves catalogues; a centre's line is not always up at once."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def fetch(self, centre):
        visits = self.folder / f"{centre}.visits"
        with visits.open("a") as sink:
            sink.write("x")
        number = len(visits.read_text())
        if centre == "kochi" and number < 3:
            raise ConnectionResetError(
                104, f"Connection reset by peer: catalogue of {centre}"
            )
        if centre == "mombasa" and number < 2:
            raise TimeoutError(f"catalogue of {centre}: read timed out")
        rng = random.Random(centre)
        return [
            {
                "lot": f"{centre[:3]}-{n}",
                "kg": rng.randint(200, 1200),
                "bid": rng.uniform(1.8, 6.5),
            }
            for n in range(150)
        ]


def fetch_catalogue(centre, folder):
    try:
        return CatalogueServer(folder).fetch(centre)
    except OSError:
        logging.getLogger("tea_auctions.fetch").exception(
            "catalogue of %s not there yet", centre
        )
        raise


def value(lot):
    return lot["kg"] * lot["bid"]


def main():
    with tempfile.TemporaryDirectory(prefix="tea-") as tmp:
        with LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                catalogues = client.map(fetch_catalogue, CENTRES, folder=tmp, retries=4)
                lots = [
                    lot for catalogue in client.gather(catalogues) for lot in catalogue
                ]
                log.info("%d lots of %d centres", len(lots), len(CENTRES))
                total = db.from_sequence(lots, npartitions=4).map(value).sum().compute()
                log.info("value of the week %.0f", total)
                if len(lots) != 150 * len(CENTRES):
                    log.error("lots are missing")
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
