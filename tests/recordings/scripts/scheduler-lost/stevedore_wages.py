"""Fortnightly wages of the stevedores.

First the clock cards are summed per gang on the cluster.  Then the wages office's old rounding and deduction rules,
which are sequential, run here in the driver.  At last the pay slips are rendered on the cluster and written as one
file.  The cluster belongs to the port and is started by the port's own commands.
"""

import json
import subprocess
import sys
import tempfile
import time
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import click
import dask
import dask.bag as db
from distributed import Client

GANGS = [f"gang-{letter}" for letter in "ABCDEFGH"]

# as on the port's servers (ansible role "dask-small")
PORT_SCHEDULER = [
    "scheduler",
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    "--no-dashboard",
    "--idle-timeout",
    "9s",
]
PORT_WORKER = [
    "worker",
    "--nworkers",
    "1",
    "--nthreads",
    "2",
    "--memory-limit",
    "400MB",
    "--no-dashboard",
]


def start(words, folder):
    words = [
        sys.executable,
        "-m",
        "dask",
        *words,
        "--scheduler-file",
        str(folder / "scheduler.json"),
    ]
    return subprocess.Popen(words, cwd=folder)


def clock_cards(gang):
    """Hours of a gang's men over the fortnight."""
    base = sum(map(ord, gang))
    return [
        {"gang": gang, "man": man, "hours": 60 + (base * man) % 37}
        for man in range(1, 41)
    ]


def gang_hours(gang):
    time.sleep(0.2)
    cards = clock_cards(gang)
    return {"gang": gang, "men": cards, "hours": sum(card["hours"] for card in cards)}


def pay_slip(line):
    return f"{line['gang']}/{line['man']:02d}  {line['hours']:>3} h  {line['net']:>9}"


def apply_rules(sheets, rate, seconds_per_gang):
    """Deductions in the order of the collective agreement; every line depends on the carry of the line before."""
    carry = Decimal(0)
    for sheet in sheets:
        until = time.monotonic() + seconds_per_gang
        lines = []
        for card in sheet["men"]:
            gross = rate * card["hours"] + carry
            net = (gross * Decimal("0.7615")).quantize(Decimal("0.05"), ROUND_HALF_EVEN)
            carry = gross * Decimal("0.7615") - net
            lines.append({**card, "net": str(net)})
        while (
            time.monotonic() < until
        ):  # the agreement's tables are read from a slow card index
            time.sleep(0.05)
        click.echo(f"rules applied to {sheet['gang']}")
        yield from lines


def render(client, lines):
    slips = db.from_sequence(lines, npartitions=8).map(pay_slip)
    return client.compute(slips).result(timeout=20)


@click.command()
@click.option("--rate", default="21.40", help="Wage of an hour.")
@click.option("--target", default="slips.txt", type=click.Path(path_type=Path))
def main(rate, target):
    dask.config.set({"distributed.comm.timeouts.connect": "5s"})
    with tempfile.TemporaryDirectory(
        prefix="wages-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        processes = [start(PORT_SCHEDULER, folder)]
        try:
            while not (folder / "scheduler.json").exists():
                time.sleep(0.1)
            processes += [start(PORT_WORKER, folder) for _ in range(2)]
            with Client(
                scheduler_file=str(folder / "scheduler.json"), timeout="10s"
            ) as client:
                client.wait_for_workers(2, timeout=30)
                sheets = client.gather(client.map(gang_hours, GANGS))
                click.echo(
                    f"hours of {len(sheets)} gangs: {sum(sheet['hours'] for sheet in sheets)}"
                )
                lines = list(apply_rules(sheets, Decimal(rate), seconds_per_gang=1.8))
                (folder / "lines.json").write_text(json.dumps(lines))
                slips = render(client, lines)
            target.write_text("\n".join(slips) + "\n")
            click.echo(f"{len(slips)} slips in {target}")
        finally:
            for process in reversed(processes):
                if process.poll() is None:
                    process.terminate()
            for process in processes:
                try:
                    process.wait(6)
                except subprocess.TimeoutExpired:
                    process.kill()


if __name__ == "__main__":
    main()
