"""Dispatch invoices through the shared executor facade."""

import concurrent.futures as cf

from dask.distributed import Client, LocalCluster


def customer(number):
    return {
        "number": number,
        "country": ["DE", "FR", "XX"][2 if number == 37 else number % 2],
        "net": 100 + number,
    }


def vat(record):
    rate = {"DE": 0.19, "FR": 0.20}[record["country"]]
    return {**record, "gross": round(record["net"] * (1 + rate), 2)}


def render(number):
    record = vat(customer(number))
    return f"{record['number']};{record['gross']}"


def main():
    sent, failed = [], []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with client.get_executor(pure=False) as pool:
            jobs = {pool.submit(render, number): number for number in range(60)}
            for job in cf.as_completed(jobs):
                if job.exception() is None:
                    sent.append(job.result())
                else:
                    failed.append(jobs[job])
    print("sent", len(sent), "of", len(jobs))
    if failed:
        raise SystemExit(2)


if __name__ == "__main__":
    main()
