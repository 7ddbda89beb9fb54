import json
import tempfile
import threading
import time
from pathlib import Path

from distributed import Client, LocalCluster


class FixingNotPublished(RuntimeError):
    pass


def publish_later(path, delay):
    def write():
        path.write_text(json.dumps({"state": "final", "EURUSD": 1.0834}))

    t = threading.Timer(delay, write)
    t.daemon = True
    t.start()


def read_fixing(path):
    return json.loads(Path(path).read_text())


def await_final(client, path, limit):
    polls = []
    begin = time.monotonic()
    while time.monotonic() - begin < limit:
        polls.append(client.submit(read_fixing, str(path)))
        if polls[-1].result()["state"] == "final":
            return polls[-1].result()
        time.sleep(1)
    raise FixingNotPublished(
        f"{len(polls)} polls in {limit} s, state still {polls[-1].result()['state']!r}"
    )


def main():
    path = Path(tempfile.mkdtemp()) / "fixing.json"
    path.write_text(json.dumps({"state": "preliminary"}))
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        publish_later(path, 4)
        print("fixing", await_final(client, path, 14))


if __name__ == "__main__":
    main()
