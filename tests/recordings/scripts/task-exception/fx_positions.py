import os
import subprocess
import sys
import tempfile

from distributed import Client


def vendor_rate(pair):
    token = os.environ["FX_VENDOR_TOKEN"]
    return (hash((token, pair)) % 1000) / 500


def revalue(book, rate):
    return {k: v * rate for k, v in book.items()}


def worker_env():
    keep = ("PATH", "HOME", "LANG", "TMPDIR")
    return {k: os.environ[k] for k in keep if k in os.environ}


def main():
    os.environ["FX_VENDOR_TOKEN"] = "tok-81f2"
    print("preflight", vendor_rate("EURUSD") >= 0)
    tmp = tempfile.mkdtemp(prefix="fx")
    sf = os.path.join(tmp, "s.json")
    dask_cmd = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            dask_cmd
            + ["scheduler", "--port", "0", "--scheduler-file", sf, "--no-dashboard"]
        ),
        subprocess.Popen(
            dask_cmd
            + [
                "worker",
                "--scheduler-file",
                sf,
                "--nthreads",
                "2",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                tmp,
            ],
            env=worker_env(),
        ),
    ]
    try:
        with Client(scheduler_file=sf, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            rates = client.map(vendor_rate, ["EURUSD", "GBPUSD", "USDJPY"])
            books = client.map(revalue, [{"a": 1.0}, {"b": 2.0}, {"c": 3.0}], rates)
            print(client.gather(books))
    finally:
        for p in procs:
            p.terminate()


if __name__ == "__main__":
    main()
