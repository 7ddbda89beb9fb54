"""Recomputes the shop prices of all pastries overnight, with the price rules of the current release."""

import argparse
import importlib
import logging
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from distributed import Client, wait

log = logging.getLogger("prices")

RULES = {
    "r41": '''
        """Price rules."""
        RELEASE = "r41"


        def shop_price(item, region):
            return round(item["cost"] * 2.6 + region["rent"], 2)
    ''',
    "r42": '''
        """Price rules."""
        RELEASE = "r42"


        def shop_price(item, region):
            return round(item["cost"] * 2.6 + region["rent"], 2)


        def seasonal_price(item, region, season):
            return round(shop_price(item, region) * season["factor"], 2)
    ''',
}
SEASON = {"name": "advent", "factor": 1.08}


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--release", default="current")
    p.add_argument("--items", type=int, default=40)
    return p.parse_args(argv)


def deploy(root):
    """As the deploy host lays it out: one folder per release and a link to the newest."""
    for release, text in RULES.items():
        folder = root / release
        folder.mkdir()
        lines = text.splitlines()[1:]
        (folder / "price_rules.py").write_text(
            "\n".join(line[8:] for line in lines) + "\n"
        )
    (root / "current").symlink_to(root / "r41")


def switch(root, release):
    link = root / "current"
    link.unlink()
    link.symlink_to(root / release)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dask_process(root, *words):
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    here = os.path.realpath(root / "current")
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, [here, os.environ.get("PYTHONPATH")])
    )
    return subprocess.Popen([sys.executable, "-m", "dask", *words], env=env, cwd=root)


def add_worker(root, address, name):
    return dask_process(
        root,
        "worker",
        address,
        "--name",
        name,
        "--nthreads",
        "1",
        "--memory-limit",
        "260MiB",
        "--local-directory",
        str(root),
        "--no-dashboard",
    )


def price_all(client, rules, items):
    region = {"name": "Lyon", "rent": 0.35}
    futures = [
        client.submit(rules.seasonal_price, item, region, SEASON, pure=False)
        for item in items
    ]
    wait(futures, timeout=20)
    return client.gather(futures)


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    sys.dont_write_bytecode = True
    procs = []
    with tempfile.TemporaryDirectory(
        prefix="prices-", ignore_cleanup_errors=True
    ) as tmp:
        root = pathlib.Path(tmp)
        deploy(root)
        port = free_port()
        address = f"tcp://127.0.0.1:{port}"
        try:
            for name in ("oven-a", "oven-b"):
                procs.append(add_worker(root, address, name))
            time.sleep(0.5)
            switch(root, "r42")
            procs.append(
                dask_process(
                    root,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            sys.path.insert(0, os.path.realpath(root / args.release))
            rules = importlib.import_module("price_rules")
            log.info("rules of %s", rules.RELEASE)
            with Client(address, timeout=60) as client:
                client.wait_for_workers(2, timeout=80)
                items = [
                    {"name": f"pastry-{n}", "cost": 0.4 + n / 50}
                    for n in range(args.items)
                ]
                prices = price_all(client, rules, items)
            print(f"{len(prices)} prices, mean {sum(prices) / len(prices):.2f}")
        finally:
            for p in reversed(procs):
                p.terminate()
            for p in procs:
                p.wait(40)


if __name__ == "__main__":
    main()
