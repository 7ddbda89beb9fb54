"""Counts of eels that climb the ladders at the weirs.

The counters send one file a day and ladder.  Ladders whose counter is known to send a damaged header are read by
a second reader; days that cannot be read at all are put on a list for the field team, and the command ends with
code 4, so that the scheduler of the authority opens a ticket.
"""

import logging
import struct
from pathlib import Path

import click
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("eels")
RECORD = "<HBB"  # minute of the day, eels, length class
MAGIC = b"EELS"


class HeaderDamaged(Exception):
    pass


def read_strict(path):
    raw = Path(path).read_bytes()
    if raw[:4] != MAGIC:
        raise HeaderDamaged(f"{Path(path).name}: starts with {raw[:4]!r}")
    return tally(path, raw[4:])


def read_tolerant(path):
    raw = Path(path).read_bytes()
    return tally(path, raw[4:])


def tally(path, body):
    by_hour = [0] * 24
    for minute, eels, _ in struct.iter_unpack(RECORD, body):
        by_hour[minute // 60] += eels
    return Path(path).stem, by_hour


def make_files(folder, ladders=5, days=4):
    folder.mkdir(exist_ok=True)
    for ladder in range(ladders):
        for day in range(days):
            body = b"".join(
                struct.pack(RECORD, (i * 17 + ladder) % 1440, (i + day) % 4, 2)
                for i in range(300)
            )
            head = MAGIC
            if ladder == 2:  # the old counter at the mill weir
                head = b"\xff\xff\xff\xff"
            if (ladder, day) == (4, 1):  # battery ran flat at night
                body = body[:-3]
            (folder / f"ladder{ladder}-day{day}.bin").write_bytes(head + body)
    return sorted(str(p) for p in folder.glob("*.bin"))


def collect(client, paths):
    first = {client.submit(read_strict, p, pure=False): p for p in paths}
    queue = as_completed(list(first))
    second, good, bad = {}, {}, {}
    for future in queue:
        path = first.get(future) or second.get(future)
        error = future.exception()
        if error is None:
            name, hours = future.result()
            good[name] = sum(hours)
        elif isinstance(error, HeaderDamaged):
            log.warning("%s, once more with the tolerant reader", error)
            again = client.submit(read_tolerant, path, pure=False)
            second[again] = path
            queue.add(again)
        else:
            log.error("%s is given to the field team", Path(path).name)
            bad[Path(path).name] = error
    return good, bad


@click.command()
@click.option("--folder", default="counts", type=click.Path(path_type=Path))
@click.option("--workers", default=2, show_default=True)
@click.pass_context
def main(ctx, folder, workers):
    """Read the counters' files and print the eels of each."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    paths = make_files(folder)
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="300MB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            good, bad = collect(client, paths)
    for name, eels in sorted(good.items()):
        click.echo(f"{name:<16}{eels:>8}")
    click.echo(f"{len(good)} read, {len(bad)} for the field team")
    if bad:
        ctx.exit(4)


if __name__ == "__main__":
    main()
