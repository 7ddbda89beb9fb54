import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
)
client = Client(cluster)


def load_curve(block, block_info=None):
    hours = np.arange(block.shape[0])[:, None]
    return block + np.sin(hours / 24 * 2 * np.pi)


def forecast(horizon=96, feeders=400):
    base = da.random.normal(50, 4, size=(horizon, feeders), chunks=(horizon, 100))
    shaped = base.map_blocks(load_curve, dtype="f8")
    return shaped.mean(axis=1)


def peak(curve):
    values = curve.compute()
    hour = int(values.argmax())
    return hour, float(values[hour])


hour, load = peak(forecast())
print(f"peak load {load:.1f} MW at hour {hour}")
client.close()
cluster.close()
