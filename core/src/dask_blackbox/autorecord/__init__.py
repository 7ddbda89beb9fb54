"""Recording without a change to the code: `dask blackbox run`, and the scheduler preload."""
