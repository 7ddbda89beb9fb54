import pathlib
import subprocess
import sys
import tempfile

STEPS = {
    "extract": """
from dask.distributed import Client, LocalCluster


def pull(k):
    return k * 2


def main():
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print("rows", sum(client.gather(client.map(pull, range(10)))))


if __name__ == "__main__":
    main()
""",
    "load": """
from dask.distributed import Client, LocalCluster


def push(k):
    return k + 1


cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
print("loaded", sum(client.gather(client.map(push, range(10)))))
client.close()
cluster.close()
""",
}


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nightly-"))
    for name, body in STEPS.items():
        script = folder / f"step_{name}.py"
        script.write_text(body)
        print("step", name, flush=True)
        subprocess.run([sys.executable, str(script)], check=True, timeout=22)
    print("nightly finished")


if __name__ == "__main__":
    main()
