"""Prints the maps for the planning committee.

Sheets are rendered by ordinary workers and sent to the plotter by one worker that sits on the plotter's host
(resource "plotter"). That host is expensive and is given back as soon as the sheets are out. Sheets that come out
smudged are plotted once more.
"""

import asyncio
import logging
import os
import time
from pathlib import Path

import dask
from distributed import Nanny, Scheduler, Client, wait

log = logging.getLogger("maps")

SHEETS = [
    "centre",
    "docklands",
    "east-hill",
    "mill-lane",
    "north-gate",
    "old-town",
    "parkside",
    "station",
]
PATIENCE = float(os.environ.get("MAPS_PATIENCE", "14"))


class Smudged(RuntimeError):
    pass


def render_sheet(sheet):
    time.sleep(0.3)
    return sheet, sum(map(ord, sheet)) * 1000


def plot_sheet(rendered, attempt):
    sheet, ink = rendered
    time.sleep(0.2)
    if attempt == 1 and sheet == "old-town":
        raise Smudged(f"{sheet}: margin smudged")
    return f"{sheet}: {ink} dots, attempt {attempt}"


async def plot(client, rendered, sheets, attempt):
    """Plot the sheets; gives what came out and which are to be done again."""
    futures = {
        s: client.submit(
            plot_sheet,
            rendered[s],
            attempt,
            key=f"plot_sheet-{s}-{attempt}",
            resources={"plotter": 1},
        )
        for s in sheets
    }
    await wait(list(futures.values()), timeout=PATIENCE)
    done, again = [], []
    for sheet, future in futures.items():
        try:
            done.append(await future)
        except Smudged as err:
            log.warning("%s", err)
            again.append(sheet)
    return done, again


async def evening():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        ordinary = [
            await Nanny(
                scheduler.address, nthreads=1, name=f"render-{n}", memory_limit="350MB"
            )
            for n in range(2)
        ]
        plotter = await Nanny(
            scheduler.address,
            nthreads=1,
            name="plotter-host",
            memory_limit="350MB",
            resources={"plotter": 1},
        )
        try:
            async with Client(scheduler.address, asynchronous=True) as client:
                rendered = {
                    s: client.submit(render_sheet, s, key=f"render_sheet-{s}")
                    for s in SHEETS
                }
                await wait(list(rendered.values()))

                done, again = await plot(client, rendered, SHEETS, attempt=1)
                log.info("%d of %d sheets out", len(done), len(SHEETS))
                await client.retire_workers(names=["plotter-host"])
                log.info("plotter host given back")

                attempt = 1
                while again and attempt < 3:
                    attempt += 1
                    more, again = await plot(client, rendered, again, attempt)
                    done += more
                Path("sheets.txt").write_text("\n".join(done))
        finally:
            await asyncio.gather(
                *(nanny.close() for nanny in [*ordinary, plotter]),
                return_exceptions=True,
            )


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("distributed").setLevel(logging.WARNING)
    with dask.config.set({"distributed.worker.memory.spill": False}):
        try:
            asyncio.run(evening())
        except TimeoutError:
            log.error("the committee meets without maps")
            raise


if __name__ == "__main__":
    main()
