"""Charges of the bills of lading of a voyage.

`freight_lib` is the shipping line's own package and is rolled out in release
folders; a release is chosen by PYTHONPATH.  The long-lived cluster is started
by `start_site`, the voyage job by hand or by the voyage calendar.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

RELEASES = {
    "release-41": """\
__version__ = "4.1"


def charge_bill(bill):
    return {"bill": bill["no"], "amount": round(bill["tonnes"] * bill["rate"], 2)}
""",
    "release-42": """\
__version__ = "4.2"


def charge_bill(bill, fuel_index=1.0):
    amount = bill["tonnes"] * bill["rate"] * fuel_index
    return {"bill": bill["no"], "amount": round(amount, 2)}
""",
}


def roll_out(root):
    for release, source in RELEASES.items():
        folder = root / release / "freight_lib"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)


def start_site(root, scheduler_file):
    """What the service manager ran at the site's last restart."""
    env = dict(os.environ, PYTHONPATH=str(root / "release-41"))
    dask = [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(scheduler_file), "--no-dashboard"]
    yield subprocess.Popen(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *where],
        env=env,
        cwd=root,
    )
    for n in range(2):
        yield subprocess.Popen(
            [*dask, "worker", *where, "--nthreads", "1", "--name", f"quay-{n}"],
            env=env,
            cwd=root,
        )


def bills_of(voyage, count=60):
    if voyage.startswith("X"):
        raise ValueError(f"voyage {voyage} is a repositioning trip")
    return [
        {"no": f"{voyage}-{i:03d}", "tonnes": 4.0 + i % 9, "rate": 31.5}
        for i in range(count)
    ]


def charge_voyage(client, voyages, fuel_index):
    import dask.bag as db

    from freight_lib import charge_bill

    bills = []
    for voyage in voyages:
        try:
            bills.extend(bills_of(voyage))
        except ValueError as e:
            click.echo(f"skipped: {e}")
    check = charge_bill(bills[0], fuel_index=fuel_index)
    click.echo(f"first bill, charged here: {check}")
    charged = db.from_sequence(bills, npartitions=6).map(
        charge_bill, fuel_index=fuel_index
    )
    return charged.pluck("amount").sum().compute(scheduler=client)


@click.command()
@click.option("--voyage", "voyages", multiple=True, default=["V118", "X002", "V119"])
@click.option("--fuel-index", default=1.07)
def main(voyages, fuel_index):
    from dask.distributed import Client

    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        roll_out(root)
        sys.path.insert(0, str(root / "release-42"))
        import freight_lib

        click.echo(f"freight_lib {freight_lib.__version__}")
        scheduler_file = root / "site.json"
        site = []
        try:
            site.extend(start_site(root, scheduler_file))
            with Client(scheduler_file=str(scheduler_file), timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                total = charge_voyage(client, voyages, fuel_index)
            click.echo(f"charged: {total:.2f}")
        finally:
            for p in reversed(site):
                p.terminate()
            for p in reversed(site):
                p.wait(15)


if __name__ == "__main__":
    main()
