"""Transcode with a helper that is stopped once enough frames are there."""

import signal
import subprocess
import sys

from dask.distributed import Client, LocalCluster

HELPER = "import itertools,sys,time\nfor i in itertools.count():\n    print(i, flush=True); time.sleep(0.01)"


def frames(clip, wanted):
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER], stdout=subprocess.PIPE, text=True
    )
    got = [int(next(helper.stdout)) for _ in range(wanted)]
    helper.send_signal(signal.SIGKILL)
    code = helper.wait()
    print(f"clip {clip}: helper killed with code {code}")
    return len(got)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        counts = client.gather(client.map(frames, range(6), [25] * 6))
        assert counts == [25] * 6
        print("frames", sum(counts))


if __name__ == "__main__":
    main()
