"""Excise returns: duty on spirits per bonded warehouse, with the tax library that the finance group releases.

Releases are folders; the job reads from `current` which release it has to use, and workers are a
long-lived pool that was started by the operations group.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from contextlib import ExitStack

from distributed import Client

LIBRARY_14 = '''
"""excisetax 1.4"""
__version__ = "1.4.0"


class Rates:
    def __init__(self, per_litre):
        self.per_litre = per_litre


def duty(rates, litres, abv):
    return litres * abv / 100 * rates.per_litre
'''

LIBRARY_15 = '''
"""excisetax 1.5: reliefs for small producers"""
__version__ = "1.5.0"


class Rates:
    def __init__(self, per_litre):
        self.per_litre = per_litre


def duty(rates, litres, abv, relief=0.0):
    return litres * abv / 100 * rates.per_litre * (1 - relief)
'''

WAREHOUSES = {
    "Leith": 0.0,
    "Oban": 0.05,
    "Islay": 0.08,
    "Keith": 0.0,
    "Rothes": 0.02,
    "Dufftown": 0.0,
}


def install(root):
    for version, text in (("1.4", LIBRARY_14), ("1.5", LIBRARY_15)):
        folder = root / "releases" / version
        folder.mkdir(parents=True)
        (folder / "excisetax.py").write_text(text)
    os.symlink(root / "releases" / "1.5", root / "current", target_is_directory=True)


def spawn(stack, words, path, root):
    env = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(
            [str(path), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words], env=env, cwd=root
    )
    stack.callback(process.wait, 10)
    stack.callback(process.terminate)
    return process


def pool(stack, root):
    ticket = str(root / "pool.json")
    spawn(
        stack,
        [
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            ticket,
        ],
        root / "current",
        root,
    )
    for number, release in enumerate(["current", "releases/1.4"]):
        spawn(
            stack,
            [
                "worker",
                "--scheduler-file",
                ticket,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"bond-{number}",
            ],
            root / release,
            root,
        )
    return ticket


def casks(warehouse, count):
    return [(180 + (len(warehouse) * n) % 70, 57.0 + n % 7) for n in range(count)]


def main():
    with ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        install(root)
        sys.path.insert(0, str(root / "current"))
        import excisetax

        print("excisetax", excisetax.__version__)
        client = stack.enter_context(
            Client(scheduler_file=pool(stack, root), timeout=20)
        )
        client.wait_for_workers(2, timeout=20)
        rates = excisetax.Rates(31.64)
        owed = {}
        for warehouse, relief in WAREHOUSES.items():
            lots = casks(warehouse, 30)
            owed[warehouse] = [
                client.submit(
                    excisetax.duty, rates, litres, abv, relief=relief, pure=False
                )
                for litres, abv in lots
            ]
        for warehouse, futures in owed.items():
            try:
                print(f"{warehouse:10} {sum(client.gather(futures)):12.2f}")
            except TypeError as problem:
                raise RuntimeError(
                    f"return of {warehouse} could not be made"
                ) from problem


if __name__ == "__main__":
    main()
