"""Mark an airline's kerosene hedges to market before the desk opens.

Usage: kerosene_hedges.py [--paths N]

The desk's settings are in ``config/desk.ini``.  The farm's workers are started the way the operators' unit file does.
"""

import configparser
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import click
from distributed import Client

Strip = namedtuple("Strip", "counterparty product month tonnes strike")

STRIPS = [
    Strip("NORDIC", "jet-a1", 1, 4000, 812.0),
    Strip("NORDIC", "jet-a1", 2, 4000, 815.0),
    Strip("ADRIA", "jet-a1", 3, 2500, 820.5),
    Strip("ADRIA", "gasoil", 1, 1500, 745.0),
    Strip("LEVANT", "gasoil", 2, 1200, 748.0),
]

DESK_INI = """\
[desk]
currency = USD
haircut = 0.02

[jet-a1]
spot = 818.4
volatility = 0.31

[gasoil]
spot = 742.0
volatility = 0.27
"""


def read_settings():
    parser = configparser.ConfigParser()
    parser.read("config/desk.ini")
    return parser


def value_strip(strip, paths, seed):
    """Monte Carlo value of a call on the monthly price."""
    settings = read_settings()
    haircut = settings.getfloat("desk", "haircut", fallback=0.0)
    spot = settings.getfloat(strip.product, "spot")
    volatility = settings.getfloat(strip.product, "volatility")
    rng = random.Random(seed)
    t = strip.month / 12
    pay = 0.0
    for _ in range(paths):
        price = spot * math.exp(
            volatility * math.sqrt(t) * rng.gauss(0, 1) - 0.5 * volatility**2 * t
        )
        pay += max(price - strip.strike, 0.0)
    return strip, strip.tonnes * pay / paths * (1 - haircut)


class Farm:
    def __init__(self):
        self.spool = Path(tempfile.mkdtemp(prefix="farm-spool-"))
        self.file = self.spool / "farm.json"
        self.children = []

    def up(self, workers=2):
        base = [sys.executable, "-m", "dask"]
        tail = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.children.append(
            subprocess.Popen(
                [*base, "scheduler", "--host", "127.0.0.1", "--port", "0", *tail],
                cwd=self.spool,
            )
        )
        for i in range(workers):
            home = self.spool / f"slot{i}"
            home.mkdir()
            self.children.append(
                subprocess.Popen(
                    [
                        *base,
                        "worker",
                        "--no-nanny",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "400MB",
                        *tail,
                    ],
                    cwd=home,
                )
            )
        return Client(scheduler_file=str(self.file), timeout=20)

    def down(self):
        while self.children:
            child = self.children.pop()
            child.terminate()
            child.wait(15)


@click.command()
@click.option("--paths", default=20_000, show_default=True)
def main(paths):
    config = Path("config")
    config.mkdir(exist_ok=True)
    (config / "desk.ini").write_text(DESK_INI)
    settings = read_settings()
    click.echo(
        f"currency {settings['desk']['currency']}, products: {', '.join(settings.sections()[1:])}"
    )
    # one strip here first, as a check of the market data
    _, check = value_strip(STRIPS[0], 500, 0)
    click.echo(f"check: {check:,.0f}")

    farm = Farm()
    try:
        client = farm.up()
        client.wait_for_workers(2, timeout=20)
        started = time.time()
        futures = [
            client.submit(value_strip, s, paths, i) for i, s in enumerate(STRIPS)
        ]
        total = 0.0
        for strip, value in client.gather(futures):
            click.echo(f"{strip.counterparty:8} {strip.product:8} {value:14,.0f}")
            total += value
        click.echo(f"total {total:,.0f} in {time.time() - started:.1f} s")
        client.close()
    finally:
        farm.down()


if __name__ == "__main__":
    main()
