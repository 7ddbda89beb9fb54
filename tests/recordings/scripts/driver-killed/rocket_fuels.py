import os
import signal
import subprocess
import sys
import time

from dask.distributed import Client

SOLVER = "import sys, time; steps = int(sys.argv[1]); time.sleep(steps / 100); print(steps * 0.31)"


def burn(steps, limit):
    """One burn of the solver; a solver that does not converge in time goes, with all that it started."""
    solver = subprocess.Popen(
        [sys.executable, "-c", SOLVER, str(steps)], stdout=subprocess.PIPE, text=True
    )
    try:
        out, _ = solver.communicate(timeout=limit)
        return float(out)
    except subprocess.TimeoutExpired:
        os.killpg(os.getpgid(solver.pid), signal.SIGTERM)
        solver.wait()
        return float("nan")


def main():
    if os.getpgid(0) != os.getpid():
        os.setpgid(0, 0)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        print("first burn:", client.submit(burn, 50, 10).result(), flush=True)
        mixtures = [60, 80, 4000, 70]
        for mixture, thrust in zip(
            mixtures, client.gather(client.map(burn, mixtures, limit=8))
        ):
            print(mixture, "->", thrust, flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
