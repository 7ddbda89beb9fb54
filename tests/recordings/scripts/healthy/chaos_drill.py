"""Weekly resilience drill: the job must survive the loss of a worker."""

import os
import signal
import time

from distributed import Client, LocalCluster


def settle(trade):
    time.sleep(0.3)
    return trade * 1.01


def pick_victim(client):
    pids = client.run(os.getpid)
    return sorted(pids.items())[0]


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futs = client.map(settle, range(40))
        time.sleep(2)
        addr, pid = pick_victim(client)
        print("drill: SIGKILL to worker", addr, flush=True)
        os.kill(pid, signal.SIGKILL)
        total = sum(client.gather(futs))
        client.wait_for_workers(2, timeout=20)
        assert abs(total - sum(range(40)) * 1.01) < 1e-6
        print("drill passed, total", total)


if __name__ == "__main__":
    main()
