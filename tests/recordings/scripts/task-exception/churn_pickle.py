"""Apply the stored churn model to the customer base."""

import os
import pickle
import sys
import tempfile
import types

import numpy as np
from dask.distributed import Client, LocalCluster

MODULE_V1 = """
class ChurnModel:
    def __init__(self, coef, names):
        self.coef = coef
        self.names = names
"""
MODULE_V2 = """
class ChurnModel:
    version = 2
    def __init__(self, coef, feature_names, intercept=0.0):
        self.coef = coef
        self.feature_names = feature_names
        self.intercept = intercept
    def predict(self, rows):
        x = [[row[name] for name in self.feature_names] for row in rows]
        return [sum(a * b for a, b in zip(self.coef, r)) + self.intercept for r in x]
"""


def train_in_march(root):
    module = types.ModuleType("churnlib")
    exec(MODULE_V1, module.__dict__)
    sys.modules["churnlib"] = module
    with open(os.path.join(root, "churn.pkl"), "wb") as out:
        pickle.dump(module.ChurnModel([0.3, -0.2], ["age", "orders"]), out)
    del sys.modules["churnlib"]
    with open(os.path.join(root, "churnlib.py"), "w") as out:
        out.write(MODULE_V2)


def customers(segment):
    rng = np.random.default_rng(segment)
    return [
        {"age": int(a), "orders": int(o)}
        for a, o in zip(rng.integers(18, 90, 500), rng.integers(0, 40, 500))
    ]


def predict(root, rows):
    if root not in sys.path:
        sys.path.insert(0, root)
    with open(os.path.join(root, "churn.pkl"), "rb") as handle:
        model = pickle.load(handle)
    return model.predict(rows)


def main():
    with tempfile.TemporaryDirectory() as root:
        train_in_march(root)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            segments = client.map(customers, range(6))
            scores = [client.submit(predict, root, rows) for rows in segments]
            for segment, values in enumerate(client.gather(scores)):
                print(segment, round(float(np.mean(values)), 3))


if __name__ == "__main__":
    main()
