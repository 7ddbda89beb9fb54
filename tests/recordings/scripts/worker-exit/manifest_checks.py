"""Customs manifests of the container terminal, checked before the ship is unloaded.

Checks are done by the port's own tool, which was written for the command line years ago; here its main() is called
for every manifest with the options that the manifest's header asks for.
"""

import logging
import pathlib
import sys

import dask
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("manifests")

TOOL = '''
"""portcheck: checks one manifest. Usage: portcheck [--strict] [--berth B] FILE"""
import argparse
import time


def build_parser():
    parser = argparse.ArgumentParser(prog="portcheck")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--berth", choices=["north", "south", "ro-ro"], default="north")
    parser.add_argument("file")
    return parser


def main(argv):
    options = build_parser().parse_args(argv)
    with open(options.file) as lines:
        next(lines)
        containers = [line.split() for line in lines]
    time.sleep(0.15)
    wrong = [c[0] for c in containers if len(c[0]) != 11 or (options.strict and float(c[1]) > 30.5)]
    return {"file": options.file, "containers": len(containers), "wrong": wrong}
'''


def receive_manifests(folder, ships):
    """As they come by mail: the first line holds the options that the agent of the ship wants."""
    folder.mkdir(exist_ok=True)
    paths = []
    for ship in range(ships):
        header = "--strict" if ship % 3 == 0 else "--berth south"
        if ship == 7:
            header = "--berth deep-sea"
        rows = [
            f"MSKU{(ship * 811 + n * 37) % 10**7:07d} {8 + (n * 17 + ship) % 22}.0"
            for n in range(150)
        ]
        if ship == 3:
            rows[40] = "MSKU0004711 unweighed"
        path = folder / f"ship_{ship:02d}.txt"
        path.write_text("\n".join([header, *rows]) + "\n")
        paths.append(path.absolute())
    return paths


def check_manifest(path, tools):
    if tools not in sys.path:
        sys.path.insert(0, tools)
    import portcheck

    with open(path) as lines:
        wanted = lines.readline().split()
    return portcheck.main([*wanted, str(path)])


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    tools = pathlib.Path("tools")
    tools.mkdir(exist_ok=True)
    (tools / "portcheck.py").write_text(TOOL)
    paths = receive_manifests(pathlib.Path("manifests"), 16)

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    checked, unreadable = [], []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {
            client.submit(
                check_manifest,
                path,
                str(tools.absolute()),
                key=f"check_manifest-{path.stem}",
            ): path
            for path in paths
        }
        for future in as_completed(futures):
            try:
                result = future.result()
            except ValueError as error:
                log.warning("%s is not readable: %s", futures[future].name, error)
                unreadable.append(futures[future].name)
                continue
            checked.append(result)
            log.info(
                "%s: %d containers, %d wrong",
                futures[future].name,
                result["containers"],
                len(result["wrong"]),
            )
    log.info("%d checked, %d unreadable", len(checked), len(unreadable))


if __name__ == "__main__":
    main()
