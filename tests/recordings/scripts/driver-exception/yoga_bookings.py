"""Weekly key figures of a chain of yoga studios.

For each studio: bookings, no-shows, income, and which share of the trial
lessons ended in a membership.  The booking service is slow and now and then
answers with an error, so that each page is asked for up to three times.
"""

import contextlib
import json
import os
import pathlib
import random
import tempfile

from dask.distributed import Client, LocalCluster

STUDIOS = ["Elm Street", "Old Dairy", "Riverside", "Station", "Glasshouse"]
PAGES = 6


class ServiceBusy(Exception):
    pass


def fetch_page(folder, studio, page):
    """One page of bookings; the service refuses the first request of some pages."""
    seen = pathlib.Path(folder) / f"{studio.replace(' ', '_')}_{page}.asked"
    if page == 4 and not seen.exists():
        seen.touch()
        raise ServiceBusy(f"503 for {studio}, page {page}")
    rnd = random.Random(f"{studio}/{page}")
    rows = []
    for number in range(200):
        kind = rnd.choices(["single", "member", "trial"], [3, 6, 1])[0]
        if studio == "Glasshouse" and kind == "trial":
            kind = "single"  # opened on Monday, has no trial lessons yet
        rows.append(
            {
                "kind": kind,
                "came": rnd.random() > 0.08,
                "price": {"single": 18.0, "member": 9.5, "trial": 5.0}[kind],
                "joined": kind == "trial" and rnd.random() < 0.4,
            }
        )
    return rows


def summarise(pages):
    rows = [row for page in pages for row in page]
    return {
        "bookings": len(rows),
        "no_shows": sum(not row["came"] for row in rows),
        "income": sum(row["price"] for row in rows if row["came"]),
        "trials": sum(row["kind"] == "trial" for row in rows),
        "joined": sum(row["joined"] for row in rows),
    }


def trial_rate(figures):
    return figures["joined"] / figures["trials"]


@contextlib.contextmanager
def staging():
    folder = tempfile.mkdtemp(prefix="bookings-")
    try:
        yield folder
    finally:
        os.rmdir(folder)


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    )
    with cluster, Client(cluster) as client, staging() as folder:
        summaries = {}
        for studio in STUDIOS:
            pages = client.map(
                fetch_page, [folder] * PAGES, [studio] * PAGES, range(PAGES), retries=2
            )
            summaries[studio] = client.submit(summarise, pages)
        week = client.gather(summaries)
        report = {}
        for studio, figures in week.items():
            print(
                f"{studio:<12}{figures['bookings']:>7} bookings {figures['income']:>9.2f} EUR",
                flush=True,
            )
            report[studio] = {
                **figures,
                "no_show_rate": figures["no_shows"] / figures["bookings"],
                "trial_rate": trial_rate(figures),
            }
        pathlib.Path("week_48.json").write_text(json.dumps(report, indent=2))
        for file in pathlib.Path(folder).glob("*.asked"):
            file.unlink()


if __name__ == "__main__":
    main()
