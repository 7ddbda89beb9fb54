"""Run a command-line tool's main() in tasks."""

import argparse

from dask.distributed import Client


def tool_main(argv):
    parser = argparse.ArgumentParser(prog="convert")
    parser.add_argument("file")
    parser.add_argument("--quality", type=int, default=80)
    asked = parser.parse_args(argv)
    return asked.file, asked.quality


def convert(file, quality):
    return tool_main([file, "--quality", str(quality)])


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    files = [f"scan-{n}.tif" for n in range(8)]
    qualities = [80, 75, 90, 80, "best", 80, 70, 80]
    print(client.gather(client.map(convert, files, qualities)))
