"""Monthly payroll on the encrypted cluster."""

import dask
from dask.distributed import Client, LocalCluster
from distributed.security import Security


def net_pay(gross):
    return round(gross * (0.81 if gross < 2500 else 0.7), 2)


def connect(address, security):
    with dask.config.set({"distributed.comm.timeouts.connect": "5s"}):
        return Client(address, security=security, timeout=6)


def main():
    server_side = Security.temporary()
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        security=server_side,
        dashboard_address=None,
        protocol="tls",
    ) as cluster:
        with connect(cluster.scheduler_address, server_side) as admin:
            print("workers:", len(admin.scheduler_info()["workers"]))
        payroll_credentials = Security.temporary()
        with connect(cluster.scheduler_address, payroll_credentials) as client:
            print(sum(client.gather(client.map(net_pay, range(1800, 4200, 60)))))


if __name__ == "__main__":
    main()
