"""Make the falcon crew rosters: each week asks the cluster for its days."""

import tempfile
import time

from distributed import Client, LocalCluster, get_client


def plan_day(week, day):
    time.sleep(0.1)
    return f"w{week}d{day}"


def plan_week(week):
    client = get_client()
    days = [client.submit(plan_day, week, day) for day in range(5)]
    return [day.result() for day in days]


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        weeks = client.map(plan_week, range(8))
        for week in client.gather(weeks):
            print(*week)


if __name__ == "__main__":
    main()
