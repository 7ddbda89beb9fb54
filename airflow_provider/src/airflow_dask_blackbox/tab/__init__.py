"""The tab "Dask run" and its pages: what Airflow's API server serves of recordings."""
