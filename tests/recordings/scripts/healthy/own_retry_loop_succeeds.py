"""Submit again what failed: the second attempts succeed."""

from dask.distributed import Client, as_completed


def download(station, attempt):
    if attempt == 1 and station % 5 == 0:
        raise ConnectionError(f"station {station} does not answer")
    return station


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        stations = {client.submit(download, n, 1): n for n in range(20)}
        waiting = as_completed(list(stations))
        done = []
        for future in waiting:
            if future.status == "finished":
                done.append(future.result())
            else:
                again = client.submit(download, stations[future], 2)
                stations[again] = stations[future]
                waiting.add(again)
        print(len(done), "stations")
