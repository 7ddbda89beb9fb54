"""Never runs: the crontab has the name of the old entry point."""

from dask.distributed import Client

if __name__ == "__main__":
    print(Client(n_workers=1))
