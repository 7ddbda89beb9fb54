"""Parse what can be parsed, list the rest."""

from dask.distributed import Client, as_completed


def parse(line):
    name, value = line.split(";")
    return name, float(value)


def main():
    lines = [f"s{n};{n / 3:.2f}" if n % 10 else f"s{n}" for n in range(50)]
    good, bad = {}, []
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = {client.submit(parse, line): line for line in lines}
        for future in as_completed(futures):
            try:
                name, value = future.result()
                good[name] = value
            except ValueError:
                bad.append(futures[future])
    print(len(good), "parsed,", len(bad), "left for a human")


if __name__ == "__main__":
    main()
