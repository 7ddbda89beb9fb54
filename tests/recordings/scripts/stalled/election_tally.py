import signal

from dask.distributed import Client, Event, LocalCluster


def open_ballots(district):
    Event("polls-closed").wait()
    return district, 1000 + district


def count(parts):
    return dict(parts)


class NightlyTimeout(Exception):
    pass


def on_alarm(signum, frame):
    raise NightlyTimeout("Timeout >6.0s in stage 'tally'")


def main():
    signal.signal(signal.SIGALRM, on_alarm)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        gate = Event("polls_closed", client=client)
        districts = client.map(open_ballots, range(6))
        gate.set()
        signal.alarm(6)
        print(client.submit(count, districts).result())
        signal.alarm(0)
    finally:
        signal.alarm(0)
        client.close()
        cluster.close(timeout=4)


if __name__ == "__main__":
    main()
