"""Stack the night's exposures of the comet survey field by field.

One field = a series of short exposures that are aligned on the comet's motion
and median-combined.  Photometry of the stack goes into the nightly table.
"""

import argparse
import logging
import sys
import time
from dataclasses import dataclass

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("comet_stacks")

EXPOSURES = 20
SIDE = 1000


@dataclass(frozen=True)
class Field:
    name: str
    seed: int
    rate: float  # arc seconds per hour

    @property
    def label(self):
        return f'{self.name} ({self.rate:.1f}"/h)'


def night_plan(n):
    """The fields of tonight's plan in order of right ascension."""
    rng = np.random.default_rng(2026)
    return [
        Field(f"C{i:03d}", int(rng.integers(1 << 30)), float(rng.uniform(5, 80)))
        for i in range(n)
    ]


def read_exposures(field):
    """All exposures of the field as one cube (exposure, y, x)."""
    rng = np.random.default_rng(field.seed)
    cube = np.empty((EXPOSURES, SIDE, SIDE), dtype=np.float64)
    for i in range(EXPOSURES):
        cube[i] = rng.normal(1200, 35, size=(SIDE, SIDE))
        time.sleep(0.05)  # tape robot
    return cube


def align(cube, rate):
    """Shift every exposure by the motion of the comet, in place."""
    step = rate / 3600 * 90 / 0.4
    for i in range(cube.shape[0]):
        cube[i] = np.roll(cube[i], int(round(step * i)), axis=1)
    return cube


def photometry(image):
    core = image[SIDE // 2 - 10 : SIDE // 2 + 10, SIDE // 2 - 10 : SIDE // 2 + 10]
    background = float(np.median(image[::20, ::20]))
    return {
        "flux": float(core.sum() - background * core.size),
        "background": background,
    }


def stack_field(field):
    started = time.time()
    cube = align(read_exposures(field), field.rate)
    # row by row, the median of the whole cube needs a second copy
    stacked = np.stack([np.median(cube[:, y, :], axis=0) for y in range(SIDE)])
    time.sleep(1.0)  # plate solving is done by the lab's service
    row = photometry(stacked)
    row.update(field=field.name, seconds=round(time.time() - started, 2))
    return row


def check_pilot(client, field):
    """The first field is run alone: the focus check wants it early."""
    row = client.submit(stack_field, field, key=f"pilot-{field.name}").result()
    log.info(
        "pilot %s: background %.1f, flux %.0f",
        field.label,
        row["background"],
        row["flux"],
    )
    if not 1000 < row["background"] < 1500:
        raise ValueError(
            f"pilot field {field.name}: background {row['background']:.1f} out of range"
        )
    return row


def report(rows):
    for row in sorted(rows, key=lambda r: r["field"]):
        log.info(
            "%(field)s flux=%(flux).0f background=%(background).1f (%(seconds)s s)", row
        )
    log.info("%d fields stacked", len(rows))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fields", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="380MB")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    plan = night_plan(args.fields)
    log.info("tonight: %s", ", ".join(f.name for f in plan))
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=args.threads,
            memory_limit=args.memory_limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = [check_pilot(client, plan[0])]
        futures = client.map(
            stack_field, plan[1:], key=[f"stack-{f.name}" for f in plan[1:]]
        )
        rows += client.gather(futures)
    report(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
