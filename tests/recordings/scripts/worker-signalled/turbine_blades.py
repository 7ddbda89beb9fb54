import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from dask.distributed import Client


def simulate(blade):
    t0 = time.time()
    x = 0.0
    while time.time() - t0 < 6:
        x += 1e-6
    return blade, x


def stop(proc):
    proc.terminate()
    try:
        proc.wait(5)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def policy_agent(client, halt):
    # node housekeeping of the batch system
    seen = set()
    while not halt.is_set():
        info = client.scheduler_info(n_workers=-1)["workers"]
        for address in info:
            try:
                pid = client.run(os.getpid, workers=[address]).get(address)
            except Exception:
                continue
            if pid and pid not in seen:
                seen.add(pid)
                time.sleep(0.8)
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)


def main():
    folder = tempfile.mkdtemp()
    sfile = os.path.join(folder, "s.json")
    sched = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sfile,
        ]
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            sfile,
            "--nworkers",
            "1",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            folder,
        ]
    )
    halt = threading.Event()
    try:
        client = Client(scheduler_file=sfile, timeout=15)
        client.wait_for_workers(1, timeout=20)
        job = client.submit(simulate, "B-17")
        threading.Thread(target=policy_agent, args=(client, halt), daemon=True).start()
        print(job.result(timeout=22))
    finally:
        halt.set()
        stop(worker)
        stop(sched)


if __name__ == "__main__":
    main()
