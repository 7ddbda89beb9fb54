import subprocess
import tempfile

from dask.distributed import Client, LocalCluster


def hits(word, path):
    done = subprocess.run(["grep", "-c", word, path], capture_output=True, text=True)
    if done.returncode > 1:
        raise RuntimeError(done.stderr)
    return word, int(done.stdout)


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".log") as fh:
        fh.write("start\nlogin alice\nKilledWorker seen last week\nstop\n" * 50)
        fh.flush()
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            for word, n in client.gather(
                client.map(
                    hits, ["login", "segfault", "OOM", "KilledWorker"], path=fh.name
                )
            ):
                print(word, n)


if __name__ == "__main__":
    main()
