"""Price the spring orders of a plant nursery and write one pick list per greenhouse.

``greenhouse/`` is this project's own package.  The scheduler is started beside it; workers get a scratch folder each so
that their spill files do not land in the project.
"""

import logging
import os
import pathlib
import subprocess
import sys
import textwrap
from contextlib import ExitStack, contextmanager

import click
from distributed import Client, as_completed

try:
    import orjson as json_lib
except ImportError:
    import json as json_lib

log = logging.getLogger("orders")

FILES = {
    "greenhouse/__init__.py": "__version__ = '1.8'\n",
    "greenhouse/pricing.py": """
        import dataclasses


        @dataclasses.dataclass
        class Line:
            plant: str
            quantity: int
            unit: float


        def discount(quantity):
            return 0.9 if quantity >= 50 else 1.0


        def price_order(number, lines):
            total = sum(l.quantity * l.unit * discount(l.quantity) for l in lines)
            return {"order": number, "lines": len(lines), "total": round(total, 2)}
    """,
}


def unpack_project(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    sys.path.insert(0, str(root))


@contextmanager
def process(*args, **kwargs):
    p = subprocess.Popen([sys.executable, "-m", "dask", *args], **kwargs)
    try:
        yield p
    finally:
        p.terminate()
        try:
            p.wait(6)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def count_stock(bed):
    return bed, (bed * 7919) % 400


def orders(n):
    from greenhouse.pricing import Line

    plants = ["hellebore", "primrose", "sage", "thyme", "yew"]
    for i in range(n):
        yield (
            i,
            [
                Line(plants[(i + k) % 5], 5 + (i * k) % 60, 1.5 + k)
                for k in range(1 + i % 4)
            ],
        )


@click.command()
@click.option("--count", default=40, show_default=True)
@click.option("--workers", default=2, show_default=True)
def main(count, workers):
    logging.basicConfig(level=logging.INFO)
    project = pathlib.Path("project").resolve()
    unpack_project(project)
    rendezvous = pathlib.Path("nursery.json").resolve()
    with ExitStack() as stack:
        stack.enter_context(
            process(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(rendezvous),
                cwd=project,
            )
        )
        for i in range(workers):
            scratch = pathlib.Path("scratch", f"w{i}")
            scratch.mkdir(parents=True, exist_ok=True)
            stack.enter_context(
                process(
                    "worker",
                    "--scheduler-file",
                    str(rendezvous),
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--no-nanny",
                    "--name",
                    f"bench-{i}",
                    cwd=scratch,
                    env=dict(os.environ, TZ="UTC"),
                )
            )
        client = stack.enter_context(Client(scheduler_file=str(rendezvous), timeout=20))
        client.wait_for_workers(workers, timeout=20)

        from greenhouse.pricing import price_order

        stock = dict(client.gather(client.map(count_stock, range(12))))
        log.info("%d beds counted, %d plants", len(stock), sum(stock.values()))
        priced, failed = [], 0
        futures = [
            client.submit(price_order, number, lines, key=f"price-{number}")
            for number, lines in orders(count)
        ]
        for f in as_completed(futures, timeout=12):
            if f.status == "error":
                failed += 1
            else:
                priced.append(f.result())
        if failed:
            log.error("%d of %d orders without a price", failed, count)
            sys.exit(4)
        pathlib.Path("orders.json").write_bytes(json_lib.dumps(priced))


if __name__ == "__main__":
    main()
