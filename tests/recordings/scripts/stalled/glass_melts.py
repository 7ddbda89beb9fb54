"""Glass melts: the viscosity table comes from the cluster, the report is written by a child process."""

import multiprocessing as mp
import sys

from dask.distributed import Client


class ReportLate(Exception):
    pass


def viscosity(celsius):
    return 10 ** (-1.6 + 4300 / (celsius - 250))


def write_report(client, temperatures, results):
    values = client.gather(client.map(viscosity, temperatures, key="report"))
    results.put({t: round(v, 2) for t, v in zip(temperatures, values)})


def main():
    context = mp.get_context("fork")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        print("control:", round(client.submit(viscosity, 1100).result(), 2))
        results = context.Queue()
        report = context.Process(
            target=write_report, args=(client, [900, 1000, 1200], results), daemon=True
        )
        report.start()
        report.join(25)
        if report.is_alive():
            report.kill()
            report.join()
            raise ReportLate("no report of the melts after 25 s")
        print(results.get(timeout=5))


if __name__ == "__main__":
    sys.exit(main())
