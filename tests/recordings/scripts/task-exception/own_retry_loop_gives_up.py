"""Submit again what failed, three times at most, as results come in."""

from dask.distributed import Client, as_completed


def download(station, attempt):
    if station == 7:
        raise ConnectionError(f"station {station} does not answer (attempt {attempt})")
    return station


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        attempts = {client.submit(download, n, 1): (n, 1) for n in range(12)}
        waiting = as_completed(list(attempts))
        done = []
        for future in waiting:
            station, attempt = attempts[future]
            if future.status == "finished":
                done.append(future.result())
                continue
            if attempt == 3:
                raise RuntimeError(
                    f"giving up on station {station}"
                ) from future.exception()
            again = client.submit(download, station, attempt + 1)
            attempts[again] = (station, attempt + 1)
            waiting.add(again)
        print(len(done), "stations")


if __name__ == "__main__":
    main()
