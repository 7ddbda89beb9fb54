"""Count events by type from newline-delimited JSON."""

import json
import os
import tempfile

import dask.bag as db
from dask.distributed import Client

folder = tempfile.mkdtemp()


def write_events(number):
    with open(os.path.join(folder, f"events-{number}.jsonl"), "w") as file:
        for n in range(300):
            file.write(json.dumps({"type": ["view", "click"][n % 2], "n": n}) + "\n")
        if number == 4:
            file.write('{"type": "view", "n": 3')  # the writer was stopped here


if __name__ == "__main__":
    for number in range(7):
        write_events(number)
    client = Client(n_workers=2, threads_per_worker=2, dashboard_address=None)
    events = db.read_text(f"{folder}/events-*.jsonl").map(json.loads)
    print(dict(events.pluck("type").frequencies().compute()))
