"""Healthy jobs on arrays, a third time: climate, signals, images, algebra, models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait

__all__ = ["GRIDS_AGAIN"]

Block = Any


def _weather(data: Path) -> Any:
    import xarray as xr

    return xr.open_zarr(data / "grids" / "weather.zarr")


def climate_and_its_anomalies(client: Client, data: Path) -> None:
    t = _weather(data).t.chunk({"time": 365})
    usual = t.groupby("time.dayofyear").mean()
    (t.groupby("time.dayofyear") - usual).std("time").compute()


def weighted_means_of_months(client: Client, data: Path) -> None:
    weather = _weather(data)
    weights = np.cos(np.deg2rad(weather.latitude))
    means = weather.weighted(weights).mean(("latitude", "longitude"))
    means.resample(time="1MS").mean().compute()


def onto_levels(client: Client, data: Path) -> None:
    """Profiles are put onto other levels, column by column, as xgcm does."""
    import xarray as xr

    def profile(values: Block, heights: Block) -> Block:
        wanted = np.linspace(0.1, 0.9, 12)
        return np.interp(wanted, np.sort(heights), values)

    weather = _weather(data).chunk({"time": 20, "latitude": -1, "longitude": 60})
    xr.apply_ufunc(
        profile,
        weather.t.isel(time=slice(0, 240)),
        weather.w.isel(time=slice(0, 240)),
        input_core_dims=[["latitude"], ["latitude"]],
        output_core_dims=[["level"]],
        vectorize=True,
        dask="parallelized",
        output_dtypes=["float64"],
        dask_gufunc_kwargs={"output_sizes": {"level": 12}},
    ).mean().compute()


def a_year_appended_by_months(client: Client, data: Path) -> None:
    weather = _weather(data)[["u", "v"]].drop_encoding().chunk({"time": 60})
    target = data / "out-year.zarr"
    for n, at in enumerate(range(0, 1_200, 240)):
        part = weather.isel(time=slice(at, at + 240))
        how: dict[str, Any] = {"append_dim": "time"} if n else {"mode": "w"}
        part.to_zarr(target, **how)


def spectra_of_latitudes(client: Client, data: Path) -> None:
    u = _weather(data).u.chunk({"time": 120, "longitude": -1}).data
    power = abs(da.fft.rfft(u, axis=2)) ** 2
    power.mean(axis=(0, 1)).compute()


def quantiles_of_each_pixel(client: Client, data: Path) -> None:
    t = _weather(data).t.chunk({"time": -1, "latitude": 15, "longitude": 30})
    t.quantile([0.05, 0.95], dim="time").compute()


def moving_windows(client: Client, data: Path) -> None:
    x = da.random.random(8_000_000, chunks=400_000)
    windows = da.lib.stride_tricks.sliding_window_view(x, 30)
    windows.mean(axis=1).max().compute()


def three_tensors(client: Client, data: Path) -> None:
    a = da.random.random((60, 400, 80), chunks=(20, 200, 80))
    b = da.random.random((60, 80, 400), chunks=(20, 80, 200))
    da.einsum("nij,njk->nik", a, b).sum().compute()


def largest_of_each_row(client: Client, data: Path) -> None:
    x = da.random.normal(size=(6_000, 8_000), chunks=(1_000, 2_000))
    dask.compute(da.topk(x, 5, axis=1).mean(), x.argmax(axis=1), da.nanmin(x, axis=0))


def more_than_fits_held(client: Client, data: Path) -> None:
    """Held on purpose, larger than memory: what does not fit goes to disk and comes back."""
    x = da.random.random((18_000, 6_000), chunks=(1_000, 6_000)).persist()
    wait(x)
    x.sum().compute()
    (x + 1).mean().compute()


def many_tasks_worth_their_while(client: Client, data: Path) -> None:
    """Five thousand blocks of some milliseconds: a large graph, and fine."""

    def worked(block: Block) -> Block:
        return np.sort(np.fft.fft2(block).real, axis=None).reshape(block.shape)

    x = da.random.random((25_000, 12_500), chunks=(250, 250))
    x.map_blocks(worked).sum(split_every=16).compute()


def segmented_images(client: Client, data: Path) -> None:
    def objects(block: Block) -> Block:
        from skimage import filters, measure

        smooth = filters.gaussian(block[0], 2)
        labels = measure.label(smooth > filters.threshold_otsu(smooth))
        return np.array([labels.max()])

    images = da.random.random((60, 400, 400), chunks=(1, 400, 400))
    images.map_blocks(objects, drop_axis=(1, 2), dtype=int).sum().compute()


def greenness_of_tiles(client: Client, data: Path) -> None:
    """Two bands of a satellite, what is green in them, in coarser pixels."""
    red = da.random.random((12, 2_400, 2_400), chunks=(1, 1_200, 1_200))
    near = da.random.random((12, 2_400, 2_400), chunks=(1, 1_200, 1_200))
    green = (near - red) / (near + red)
    coarse = da.coarsen(np.mean, green.rechunk((1, 2_400, 2_400)), {1: 8, 2: 8})
    da.nanmax(coarse, axis=0).compute()


def logistic_regression(client: Client, data: Path) -> None:
    from dask_ml.linear_model import LogisticRegression

    x = da.random.random((80_000, 8), chunks=(10_000, 8))
    y = (x.sum(axis=1) > 4).astype(int)
    LogisticRegression(solver="gradient_descent", max_iter=12).fit(x, y)


def forest_by_joblib(client: Client, data: Path) -> None:
    import joblib
    from sklearn.datasets import make_regression
    from sklearn.ensemble import RandomForestRegressor

    x, y = make_regression(n_samples=4_000, n_features=12, random_state=0)
    with joblib.parallel_backend("dask"):
        RandomForestRegressor(60, max_depth=9).fit(x, y).predict(x)


GRIDS_AGAIN: tuple[Any, ...] = (
    climate_and_its_anomalies, weighted_means_of_months, onto_levels,
    a_year_appended_by_months, spectra_of_latitudes, quantiles_of_each_pixel,
    moving_windows, three_tensors, largest_of_each_row, more_than_fits_held,
    many_tasks_worth_their_while, segmented_images, greenness_of_tiles,
    logistic_regression, forest_by_joblib,
)  # fmt: skip
