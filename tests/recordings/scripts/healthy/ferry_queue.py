"""Ferry queues: a cluster for arrivals and one for departures, closed as they come."""

from dask.distributed import Client, LocalCluster


def arrivals(hour):
    return 20 + (hour * 17) % 23


def departures(hour, queue):
    return max(0, queue - 30 + hour % 3)


def local(**options):
    return LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", **options
    )


def main():
    first, second = local(), local(processes=False)
    a = Client(first, set_as_default=False)
    b = Client(second, set_as_default=False)
    waiting = a.map(arrivals, range(24))
    queues = a.gather(waiting)
    first.close()  # before its client
    left = b.gather(b.map(departures, range(24), queues))
    b.close()
    print("left on the pier:", sum(left))
    third = local(processes=False)
    with Client(third) as c:
        again = c.gather(c.map(departures, range(24), left))
        second.close()
        print("after the second ferry:", sum(again))
    third.close()
    a.close()


if __name__ == "__main__":
    main()
