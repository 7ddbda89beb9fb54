"""Crane loads; a manifest that cannot be read is asked for again and its future retried."""

import json
import tempfile
from pathlib import Path

from dask.distributed import Client, wait


def load(path):
    return sum(json.loads(Path(path).read_text())["tons"])


def request_again(path):
    Path(path).write_text(json.dumps({"tons": [4, 5]}))


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for crane in range(6):
            path = Path(folder) / f"crane{crane}.json"
            text = json.dumps({"tons": [crane, 12]})
            path.write_text(text if crane != 4 else text[:-4])
            paths.append(str(path))
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as client:
            loads = dict(zip(paths, client.map(load, paths)))
            total = client.submit(sum, list(loads.values()))
            wait(total)
            print("status of the total:", total.status)
            for path, future in loads.items():
                if future.status == "error":
                    print(Path(path).name, "->", repr(future.exception()))
                    request_again(path)
                    future.retry()
            total.retry()
            print("tons:", total.result(timeout=30))


if __name__ == "__main__":
    main()
