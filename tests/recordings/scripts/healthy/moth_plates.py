"""Count the light traps' moths; sheets that cannot be read go into quarantine."""

import json
import logging
import pathlib
import shutil
import sys
import tempfile

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("moths")


class SheetError(ValueError):
    pass


def write_sheets(folder, count):
    for n in range(count):
        text = json.dumps({"trap": n, "moths": [(n * 5 + k) % 13 for k in range(10)]})
        if n % 9 == 4:
            text = text[: len(text) // 2]
        (folder / f"trap_{n:02d}.json").write_text(text)
    return sorted(folder.glob("*.json"))


def count_moths(path):
    try:
        sheet = json.loads(pathlib.Path(path).read_text())
    except json.JSONDecodeError as exc:
        raise SheetError(f"{pathlib.Path(path).name} is cut off") from exc
    return sheet["trap"], sum(sheet["moths"])


def process(client, paths, quarantine):
    futures = dict(zip(client.map(count_moths, [str(p) for p in paths]), paths))
    wait(list(futures))
    counts = {}
    for future, path in futures.items():
        error = future.exception()
        if isinstance(error, SheetError):
            log.error("skipping %s: %s", path.name, error)
            shutil.move(path, quarantine / path.name)
        elif error is not None:
            raise error
        else:
            trap, moths = future.result()
            counts[trap] = moths
    return counts


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        sheets, quarantine = (
            pathlib.Path(tmp) / "sheets",
            pathlib.Path(tmp) / "quarantine",
        )
        sheets.mkdir()
        quarantine.mkdir()
        paths = write_sheets(sheets, 30)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            counts = process(client, paths, quarantine)
        skipped = len(list(quarantine.iterdir()))
        print(
            f"{sum(counts.values())} moths in {len(counts)} traps, {skipped} sheets in quarantine"
        )
        if skipped > 5:
            sys.exit("too many unreadable sheets")


if __name__ == "__main__":
    main()
