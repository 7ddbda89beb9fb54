"""`python -m dask_failures`."""

from dask_failures.cli import main

main(prog_name="dask-failures")
