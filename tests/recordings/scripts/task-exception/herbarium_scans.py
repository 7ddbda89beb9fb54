"""Export the herbarium's scanned shelves as contact sheets."""

import logging
import os
import tempfile
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("herbarium")


def shelf_scans(shelf):
    scans = [
        {"sheet": f"{shelf}-{n}", "width": 4200 + n, "dpi": 300 if n % 2 else 600}
        for n in range(8)
    ]
    if shelf == "rosaceae":
        scans[5]["dpi"] = 0
    return scans


def export_shelf(shelf, out):
    folder = os.path.join(out, shelf)
    os.mkdir(folder)
    millimetres = 0.0
    for scan in shelf_scans(shelf):
        width = 25.4 * scan["width"] / scan["dpi"]
        with open(os.path.join(folder, scan["sheet"] + ".txt"), "w") as sheet:
            sheet.write(f"{width:.1f} mm\n")
        millimetres += width
        time.sleep(0.02)
    return shelf, millimetres


def export_all(client, shelves, out):
    futures = client.map(export_shelf, shelves, out=out, pure=False)
    return dict(client.gather(futures))


def with_retry(action, attempts=3, pause=1.0):
    for attempt in range(1, attempts + 1):
        try:
            return action()
        except Exception:
            if attempt == attempts:
                raise
            log.warning(
                "attempt %d of %d did not succeed, again in %.0f s",
                attempt,
                attempts,
                pause,
            )
            time.sleep(pause)


def main():
    logging.basicConfig(level=logging.INFO)
    shelves = ["asteraceae", "fabaceae", "rosaceae", "poaceae", "ericaceae"]
    with tempfile.TemporaryDirectory() as out:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            widths = with_retry(lambda: export_all(client, shelves, out))
            for shelf, width in sorted(widths.items()):
                print(f"{shelf}: {width:.0f} mm")


if __name__ == "__main__":
    main()
