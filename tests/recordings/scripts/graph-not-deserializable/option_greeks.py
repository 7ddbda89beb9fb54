import os
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client

NEW = """
__version__ = "2.3"
class Quote:
    def __init__(self, s, k, vol): self.s, self.k, self.vol = s, k, vol
def delta(q): return max(0.0, min(1.0, 0.5 + (q.s - q.k) / (q.s * q.vol)))
def vanna(q): return delta(q) * q.vol / q.s
"""
OLD = NEW.split("def vanna")[0].replace("2.3", "2.1")


def release(root, version, text):
    d = root / version
    d.mkdir(parents=True)
    (d / "greeks.py").write_text(text)
    return str(d)


def main():
    root = Path(tempfile.mkdtemp(prefix="greeks"))
    current, image = release(root, "desk", NEW), release(root, "worker-image", OLD)
    sys.path.insert(0, current)
    import greeks

    print("pricing with greeks", greeks.__version__)
    sf = str(root / "s.json")
    env = dict(os.environ, PYTHONPATH=image)
    procs = [
        subprocess.Popen([sys.executable, "-m", "dask", *args], env=env)
        for args in (
            ["scheduler", "--port", "0", "--scheduler-file", sf, "--no-dashboard"],
            [
                "worker",
                "--scheduler-file",
                sf,
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                str(root),
            ],
        )
    ]
    try:
        with Client(scheduler_file=sf, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            quotes = [greeks.Quote(100 + i, 100, 0.2) for i in range(10)]
            print("delta", sum(client.gather(client.map(greeks.delta, quotes))))
            print("vanna", sum(client.gather(client.map(greeks.vanna, quotes))))
    finally:
        for p in procs:
            p.terminate()


if __name__ == "__main__":
    main()
