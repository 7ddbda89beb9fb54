import dask.array as da
import numpy as np
from distributed import Client, LocalCluster


def record(hours):
    t = da.arange(hours * 3600, chunks=3600) / 3600
    return (
        1013
        + 3 * da.sin(2 * np.pi * t / 12.4)
        + da.random.normal(0, 0.2, size=t.shape, chunks=t.chunks)
    )


def drop_spikes(p):
    return p[abs(p - 1013) < 3.4]


def spectrum(p):
    return abs(da.fft.rfft(p.rechunk(-1)))


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        raw = record(48)
        print("samples", raw.size, "mean", float(raw.mean().compute()))
        clean = drop_spikes(raw)
        print("kept", int((abs(raw - 1013) < 3.4).sum().compute()))
        amp = spectrum(clean).compute()
        print("peak", amp[1:].argmax())


if __name__ == "__main__":
    main()
