import os
import pathlib
import subprocess
import sys
import tempfile

from dask.distributed import Client

OLD = "VERSION = '1.4'\n\n\ndef convert(amount):\n    return amount * 1.08\n"
NEW = (
    "VERSION = '2.0'\n\n\ndef convert(amount):\n    return amount * 1.08\n\n\n"
    "def convert_with_spread(amount):\n    return convert(amount) * 0.998\n"
)


def install(root, release, body):
    site = root / f"treasury-{release}"
    site.mkdir(parents=True)
    (site / "fxrates.py").write_text(body)
    return str(site)


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="treasury-"))
    current = install(root, "current", NEW)
    node = install(root, "node", OLD)
    sys.path.insert(0, current)
    import fxrates

    print("fxrates", fxrates.VERSION)
    sfile = str(root / "sched.json")
    base = os.environ.get("PYTHONPATH", "")
    procs = []
    for role, extra, site in (
        ("scheduler", ["--port", "0"], current),
        ("worker", ["--nthreads", "1", "--name", "node1"], node),
        ("worker", ["--nthreads", "1", "--name", "node2"], node),
    ):
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    role,
                    "--no-dashboard",
                    "--scheduler-file",
                    sfile,
                ]
                + extra,
                env=dict(
                    os.environ, PYTHONPATH=os.pathsep.join(filter(None, [site, base]))
                ),
            )
        )
    try:
        client = Client(scheduler_file=sfile, timeout=15)
        client.wait_for_workers(2, timeout=20)
        plain = client.map(fxrates.convert, range(10))
        print("booked", sum(client.gather(plain)))
        spread = client.map(fxrates.convert_with_spread, range(100, 120))
        print("quoted", client.submit(sum, spread).result(timeout=8))
    finally:
        for p in reversed(procs):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
