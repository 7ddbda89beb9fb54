import ctypes

import dask
from dask import delayed
from distributed import Client, LocalCluster


def sweep_header(n):
    return {"sweep": n, "gates": 400 + n}


def wait_for_decoder(header):
    lib = ctypes.PyDLL(None)
    if header["sweep"] == 3:
        lib.sleep(ctypes.c_uint(40))
    return header["gates"]


def composite(gates):
    return max(gates)


def main():
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "5s",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            heads = [delayed(sweep_header)(i) for i in range(8)]
            gates = [delayed(wait_for_decoder)(h) for h in heads]
            out = client.compute(delayed(composite)(gates))
            print("max gates", out.result(timeout=45))


if __name__ == "__main__":
    main()
