"""Letters of the reception desk of a group of clinics.

For each clinic the waiting times of the week are estimated on the workers, then the letters are composed and handed
to the printing house one by one, which takes only a few in a second.
"""

import configparser
import io
import logging
import time
from dataclasses import dataclass, field

import numpy as np
from dask import delayed
from distributed import Client

log = logging.getLogger("reception")

SETTINGS = """
[cluster]
workers = 2
memory = 350MB

[printing]
pause = 0.25
letters = 12

[clinics]
names = Aldgate, Bermondsey, Camberwell, Dulwich
"""


@dataclass
class PrintingHouse:
    pause: float
    accepted: list = field(default_factory=list)

    def hand_over(self, letter):
        time.sleep(self.pause)
        self.accepted.append(letter)


def waiting_times(clinic, desk):
    """Mean waiting time of one desk, simulated over many days."""
    rng = np.random.default_rng(abs(hash((len(clinic), desk))) % 2**32)
    total = 0.0
    for _ in range(6):
        arrivals = np.sort(rng.uniform(0, 480, (2_000, 60)), axis=1)
        service = rng.exponential(7, arrivals.shape)
        free = np.zeros(len(arrivals))
        for k in range(arrivals.shape[1]):
            begin = np.maximum(arrivals[:, k], free)
            total += float((begin - arrivals[:, k]).mean())
            free = begin + service[:, k]
    return total / 360


def quantiles(times):
    return np.quantile(times, [0.1, 0.5, 0.9]).round(1).tolist()


def compose(clinic, n, spread):
    low, middle, high = spread
    return (
        f"Dear patient {n:03d},\nat {clinic} please expect to wait {middle} minutes "
        f"(between {low} and {high}).\nThe reception desk"
    )


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    settings = configparser.ConfigParser()
    settings.read_file(io.StringIO(SETTINGS))
    clinics = [name.strip() for name in settings["clinics"]["names"].split(",")]
    house = PrintingHouse(settings.getfloat("printing", "pause"))

    client = Client(
        n_workers=settings.getint("cluster", "workers"),
        threads_per_worker=1,
        memory_limit=settings["cluster"]["memory"],
        dashboard_address=None,
    )
    try:
        for clinic in clinics:
            times = [delayed(waiting_times)(clinic, desk) for desk in range(6)]
            spread = delayed(quantiles)(times).compute()
            log.info("%s: %s", clinic, spread)
            for n in range(settings.getint("printing", "letters")):
                house.hand_over(compose(clinic, n, spread))
    finally:
        client.close()
    log.info("%d letters handed over", len(house.accepted))


if __name__ == "__main__":
    main()
