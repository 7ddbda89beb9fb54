"""unittest on a cluster in this process."""

import unittest

import dask
from dask.distributed import Client


@dask.delayed
def double(n):
    return 2 * n


class Doubling(unittest.TestCase):
    def setUp(self):
        self.client = Client(processes=False, n_workers=1, dashboard_address=None)
        self.addCleanup(self.client.close)

    def test_one(self):
        self.assertEqual(double(4).compute(), 8)

    def test_sum(self):
        self.assertEqual(dask.delayed(sum)([double(n) for n in range(5)]).compute(), 20)


if __name__ == "__main__":
    unittest.main()
