import unittest

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def overtime(row):
    return max(0, row.hours - row.contract) * row.rate


class PayrollTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        )
        cls.client = Client(cls.cluster)
        cls.sheet = pd.DataFrame(
            {
                "person": ["ann", "bo", "cy", "di"],
                "hours": [38, 45, 40, None],
                "contract": [38, 40, 40, 20],
                "rate": [31, 28, "29,50", 30],
            }
        )

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def test_headcount(self):
        self.assertEqual(len(dd.from_pandas(self.sheet, npartitions=2)), 4)

    def test_overtime(self):
        frame = dd.from_pandas(self.sheet.iloc[:3], npartitions=1)
        paid = frame.apply(overtime, axis=1, meta=("paid", "f8")).sum().compute()
        self.assertAlmostEqual(paid, 140)


if __name__ == "__main__":
    unittest.main(verbosity=2)
