"""unittest for the aggregation."""

import unittest

import dask.bag as db
from dask.distributed import Client


def parse(line):
    name, value = line.split("=")
    return name, int(value)


class Aggregation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")

    @classmethod
    def tearDownClass(cls):
        cls.client.shutdown()

    def test_bad_line_is_refused(self):
        with self.assertRaises(ValueError):
            db.from_sequence(["a=1", "b=two"]).map(parse).compute()

    def test_sum(self):
        lines = [f"{'ab'[n % 2]}={n}" for n in range(10)]
        pairs = db.from_sequence(lines, npartitions=3).map(parse)
        added = pairs.foldby(0, lambda total, pair: total + pair[1], 0, int.__add__, 0)
        sums = dict(added.compute())
        self.assertEqual(sums, {"a": 20, "b": 30})


if __name__ == "__main__":
    unittest.main()
