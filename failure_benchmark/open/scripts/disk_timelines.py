"""Makes the timelines of disks with a command-line tool."""

import subprocess
import sys

from dask.distributed import Client, LocalCluster

TOOL = """
import sys
for event in range(int(sys.argv[1])):
    print(f"2026-03-02T00:00:{event % 60:02} file changed: /var/log/app-{event}.log")
"""


def timeline(disk, events):
    tool = subprocess.Popen(
        [sys.executable, "-c", TOOL, str(events)], stdout=subprocess.PIPE
    )
    if tool.wait() != 0:
        raise RuntimeError(f"the timeline of disk {disk} failed")
    return len(tool.stdout.read())


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        sizes = client.map(timeline, range(6), [200, 300, 250, 4000, 100, 200])
        print(sum(client.gather(sizes)))
