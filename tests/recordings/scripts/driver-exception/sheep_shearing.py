import contextlib
import logging
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import dask.bag as db
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")
log = logging.getLogger("shearing")

CONVERT = """
import pathlib, sys
source, target = map(pathlib.Path, sys.argv[1:])
for sheet in sorted(source.glob("*.sheet")):
    head, *rows = sheet.read_text().splitlines()
    if not head.startswith("shed;"):
        print("convert: %s: unknown sheet version %r" % (sheet.name, head), file=sys.stderr)
        sys.exit(3)
    (target / (sheet.stem + ".txt")).write_text("\\n".join(rows))
"""


@contextlib.contextmanager
def no_zombies():
    """Children reap themselves while the converters run."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


def convert(source, target, folder):
    program = folder / "convert.py"
    program.write_text(CONVERT)
    with no_zombies():
        done = subprocess.run(
            [sys.executable, str(program), str(source), str(target)], check=True
        )
    log.info("converter finished with %s", done.returncode)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = folder / "sheets", folder / "texts"
        source.mkdir(), target.mkdir()
        for shed in range(3):
            (source / f"shed{shed}.sheet").write_text(
                "v2/shed\n" + "\n".join(str(4 + k % 3) for k in range(30))
            )
        convert(source, target, folder)
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=None):
            wool = db.read_text(str(target / "*.txt")).map(float).sum().compute()
            log.info("wool: %.1f kg", wool)


if __name__ == "__main__":
    main()
