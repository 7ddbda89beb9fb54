"""Two campaigns on one cluster; restart between them to free memory."""

from dask.distributed import Client, wait


def first_campaign(n):
    return [n] * 1000


def second_campaign(n):
    settings = {"depth": 3, "rate": 0.1}
    return settings["learning_rate"] * n


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    done = client.map(first_campaign, range(20))
    wait(done)
    print(len(client.gather(done)))
    del done
    client.restart()
    print(client.gather(client.map(second_campaign, range(20)))[-1])


if __name__ == "__main__":
    main()
