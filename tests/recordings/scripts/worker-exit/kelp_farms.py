"""Growth model of the kelp farms, with the institute's old command-line code."""

import sys
import time

import dask
from dask.distributed import Client

dask.config.set({"distributed.scheduler.allowed-failures": 1})


class Growth:
    """Was a command once: it still ends like one."""

    def __init__(self, argv):
        self.site, self.temperature = argv[0], float(argv[1])

    def check(self):
        if not 2.0 <= self.temperature <= 18.0:
            print(f"growth: {self.site}: temperature out of range", file=sys.stderr)
            sys.exit(64)

    def run(self):
        self.check()
        time.sleep(0.2)
        return self.site, 0.11 * self.temperature


def grow(site, temperature):
    return Growth([site, str(temperature)]).run()


SITES = {"fjord": 7.5, "sound": 9.1, "lagoon": 21.4, "reef": 12.0, "inlet": 6.6}


def main():
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        futures = [client.submit(grow, s, t) for s, t in SITES.items()]
        for site, rate in client.gather(futures):
            print(f"{site:10s} {rate:.2f} m/week")


if __name__ == "__main__":
    main()
