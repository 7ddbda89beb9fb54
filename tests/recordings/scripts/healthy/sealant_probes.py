"""Probes cartridges with the vendor's command-line tools; some of the tools are expected to give up."""

import subprocess
import sys
import time

from dask.distributed import Client, LocalCluster

TOOL = """
import os, signal, sys, time
cartridge = int(sys.argv[1])
if cartridge % 5 == 1:
    sys.exit("no cartridge in the holder")
if cartridge % 5 == 2:
    os.kill(os.getpid(), signal.SIGSEGV)
if cartridge % 5 == 3:
    time.sleep(600)
print(cartridge * 1.5)
"""


def probe(cartridge):
    try:
        done = subprocess.run(
            [sys.executable, "-c", TOOL, str(cartridge)],
            capture_output=True,
            text=True,
            timeout=4 if cartridge % 5 == 3 else 60,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        return (
            cartridge,
            None,
            f"tool ended with {error.returncode}: {error.stderr.strip()}",
        )
    except subprocess.TimeoutExpired:
        return cartridge, None, "tool did not answer"
    return cartridge, float(done.stdout), ""


def viscosity(probed):
    time.sleep(0.1)
    cartridge, value, remark = probed
    return cartridge, value if value is not None else 12.0, remark


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            probed = client.map(probe, range(15))
            results = client.gather(client.map(viscosity, probed))
    for cartridge, value, remark in results:
        print(cartridge, value, remark)
    assert sum(bool(remark) for _, _, remark in results) == 9


if __name__ == "__main__":
    main()
