"""Runs the spore counter's nightly checks with unittest: errors, a lost worker and a refusal are what it checks for."""

import os
import signal
import sys
import time
import unittest

import dask
from dask.distributed import Client, KilledWorker


def count(slide):
    if slide < 0:
        raise IndexError(f"slide {slide}")
    return slide * 3


def crash():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGSEGV)


class SporeChecks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        dask.config.set({"distributed.scheduler.allowed-failures": 0})
        cls.client = Client(n_workers=1, threads_per_worker=1, dashboard_address=None)

    @classmethod
    def tearDownClass(cls):
        cls.client.shutdown()

    def test_counts(self):
        self.assertEqual(
            self.client.gather(self.client.map(count, range(4))), [0, 3, 6, 9]
        )

    def test_negative_slide(self):
        with self.assertRaisesRegex(IndexError, "slide -2"):
            self.client.submit(count, -2).result()

    def test_crash_is_reported(self):
        with self.assertRaises(KilledWorker):
            self.client.submit(crash).result(timeout=40)
        self.client.wait_for_workers(1, timeout=40)
        self.assertEqual(self.client.submit(count, 5).result(timeout=40), 15)

    @unittest.expectedFailure
    def test_rounding_of_old_counter(self):
        self.assertEqual(self.client.submit(count, 0.1).result(), 0.3)


if __name__ == "__main__":
    result = unittest.main(exit=False, argv=[sys.argv[0], "-v"]).result
    sys.exit(0 if result.wasSuccessful() else 1)
