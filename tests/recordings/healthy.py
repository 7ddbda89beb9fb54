"""Healthy runs of real workloads, of which nothing may be found.

python tests/recordings/healthy.py [NAME …] [--set N] [--store FOLDER] [--diagnose-only]

Each is a function in a module `healthy_*.py`, whose decorator says on which cluster it runs and
what is true of it.  Set 1 was there while rules were developed; set 2 is after public suites of
benchmarks; the authors of set 3 had not looked at the rules.
"""

from __future__ import annotations

import sys

from workload import all_healthy, main

if __name__ == "__main__":
    sys.exit(main(__file__, all_healthy()))
