"""Finds the best key of hymn tunes for a congregation and hands the score sheet over to the printers."""

import os
import shutil
import signal
import sys
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster, progress  # noqa: F401

COMFORT = (57, 74)  # A3 to D5


class Sheet:
    """The score sheet; only handed over when it is complete."""

    def __init__(self, target):
        self.target = target
        self.folder = tempfile.mkdtemp(prefix="hymns-")
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        draft = os.path.join(self.folder, "sheet.txt")
        if self.lines:
            with open(draft, "w") as out:
                out.write("\n".join(self.lines))
        try:
            shutil.move(draft, self.target)
            print(f"handed over {self.target}")
        finally:
            shutil.rmtree(self.folder)


def melody(number):
    rng = np.random.default_rng(number)
    notes = 62 + np.cumsum(rng.integers(-3, 4, 48))
    return notes[notes > 200] if number == 83 else notes


def best_key(number):
    notes = melody(number)
    shifts = {}
    for shift in range(-5, 6):
        moved = notes + shift
        shifts[shift] = int(((moved < COMFORT[0]) | (moved > COMFORT[1])).sum())
    span = int(notes.max() - notes.min())
    best = min(shifts, key=lambda s: (shifts[s], abs(s)))
    return number, best, shifts[best], span


def main():
    signal.alarm(75)  # the printers don't wait
    target = os.path.abspath("sheet.txt")
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="900MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            try:
                with Sheet(target) as sheet:
                    settings = client.gather(
                        client.map(best_key, range(1, 121), batch_size=40)
                    )
                    for number, shift, outside, span in settings:
                        sheet.lines.append(
                            f"{number:4d} {shift:+d} {outside:3d} {span:3d}"
                        )
            except OSError as error:
                print(
                    f"printers' folder not reachable: {error.strerror}", file=sys.stderr
                )
                return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
