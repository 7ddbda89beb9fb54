"""Read log lines lazily."""

from dask.distributed import Client


def lines(name):
    text = f"{name} started\n{name} stopped\n"
    return (line for line in text.splitlines())


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    for log in client.gather(client.map(lines, ["web", "db"])):
        print(list(log))
