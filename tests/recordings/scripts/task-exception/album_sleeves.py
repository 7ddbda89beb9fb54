"""Previews of album sleeves for the label's web shop.

Printers deliver sleeves as PostScript; each one is turned into a small picture by the same command
line tool that the print shop uses, then its dominant colour is taken for the shelf view.
"""

import json
import logging
import os
import subprocess
import tempfile
from pathlib import Path

import dask
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("sleeves")

SETTINGS = {
    "converter": "sleevepress-render",
    "resolution": 72,
    "formats": {"lp": 310, "ep": 180, "cd": 120},
}

SLEEVES = [(f"LBL-{n:03d}", ("lp", "ep", "cd")[n % 3]) for n in range(9)]


def write_sleeve(folder, number, size):
    path = Path(folder) / f"{number}.ps"
    path.write_text(f"%!PS\n{size} {size} scale\n0 0 1 1 rectfill\nshowpage\n")
    return str(path)


def tool_version(tool):
    """Best effort, for the log only."""
    try:
        return subprocess.run(
            [tool, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown version"


def render_preview(path, resolution, tool):
    target = path.replace(".ps", ".ppm")
    subprocess.run(
        [tool, "-r", str(resolution), "-o", target, path],
        check=True,
        capture_output=True,
    )
    return target


def dominant_colour(picture):
    data = Path(picture).read_bytes()[15:]
    return tuple(sum(data[i::3]) // max(1, len(data) // 3) for i in range(3))


def shelf_entry(number, kind, colour):
    return {"number": number, "kind": kind, "colour": "#%02x%02x%02x" % colour}


def build_shelf(folder):
    entries = []
    for number, kind in SLEEVES:
        source = delayed(write_sleeve)(folder, number, SETTINGS["formats"][kind])
        picture = delayed(render_preview)(
            source, SETTINGS["resolution"], SETTINGS["converter"]
        )
        entries.append(
            delayed(shelf_entry)(number, kind, delayed(dominant_colour)(picture))
        )
    return entries


def run_with_retry(client, entries, attempts=2):
    for attempt in range(1, attempts + 1):
        try:
            return dask.compute(*entries)
        except Exception as error:
            if attempt == attempts:
                raise RuntimeError("the shelf could not be built") from error
            log.warning(
                "attempt %d did not work (%s), once more", attempt, type(error).__name__
            )
            client.restart()


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    log.info("converter: %s", tool_version(SETTINGS["converter"]))
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            shelf = run_with_retry(client, build_shelf(folder))
    Path("shelf.json").write_text(json.dumps(shelf, indent=1))
    print(len(shelf), "sleeves on the shelf")


if __name__ == "__main__":
    main()
