"""Healthy jobs on grids, as public suites have them: rechunking, stores, climate, images.

Some need xarray, zarr or scipy, which are not among the tests' dependencies.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait
from workload_list import COMMANDS, IN_PROCESS, healthy, local

__all__ = ["make_grids"]

Block = Any


def make_grids(folder: Path) -> None:
    """Write an array of whole numbers and a year of weather, once."""
    folder = folder / "grids"
    if (folder / "done").exists():
        return
    import xarray as xr
    import zarr

    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(11)
    cube = zarr.create_array(
        str(folder / "cube.zarr"),
        shape=(400, 400, 400),
        chunks=(100, 100, 100),
        dtype="uint8",
    )
    cube[:] = random.integers(0, 256, (400, 400, 400), dtype="uint8")
    time = np.datetime64("2020-01-01") + np.arange(1_460) * np.timedelta64(6, "h")
    dims = ("time", "latitude", "longitude")
    weather = xr.Dataset(
        {
            name: (dims, random.random((1_460, 60, 120), dtype="float32"))
            for name in ("u", "v", "t", "w")
        },
        coords={
            "time": time,
            "latitude": np.linspace(90, -90, 60),
            "longitude": np.arange(120) * 3.0,
        },
    )
    chunks = {name: {"chunks": (60, 60, 120)} for name in ("u", "v", "t", "w")}
    weather.to_zarr(folder / "weather.zarr", encoding=chunks)
    (folder / "done").touch()


def _weather(data: Path) -> Any:
    import xarray as xr

    return xr.open_zarr(data / "grids" / "weather.zarr")


@healthy(set=2)
def sum_of_columns(client: Client, data: Path) -> None:
    """Thin chunks, five times the memory of the cluster, gone at once."""
    da.zeros((4_000_000, 300), chunks=(-1, 1)).sum(axis=1).sum().compute()


@healthy(set=2, cluster=local(2, 8))
def sum_of_squares_of_disk(client: Client, data: Path) -> None:
    """Chunks that take a while to come, as from storage, on enough threads."""
    import time

    def read(block: Block) -> Block:
        time.sleep(0.1)
        return block.copy()

    x = da.zeros((16_000, 16_000), chunks=(2_000, 2_000)).map_blocks(read)
    x.sum(axis=1).sum().compute()


@healthy(set=2, cluster=local(1, 2, "3GiB"))
def vorticity(client: Client, data: Path) -> None:
    """Pad by one, heal the chunks, multiply by the spacing, subtract."""

    def padded(x: Any) -> Any:
        x = da.pad(x, ((0, 1), (0, 0), (0, 0)), mode="wrap")
        return x.rechunk({0: 801})

    u = da.random.random((800, 800, 24), chunks=(800, 800, 1))
    v = da.random.random((800, 800, 24), chunks=(800, 800, 1))
    dx = da.random.random((801, 800), chunks=-1)
    dy = da.random.random((801, 800), chunks=-1)
    curl = dx[..., None] * padded(u) - dy[..., None] * padded(v)
    curl.map_blocks(lambda block: block[:1, :1, :1], chunks=(1, 1, 1)).compute()


@healthy(set=2, cluster=IN_PROCESS)
def double_difference(client: Client, data: Path) -> None:
    a = da.random.random((6_000, 6_000), chunks="8 MiB")
    b = da.random.random((6_000, 6_000), chunks="8 MiB")
    abs(a[1:, 1:] - b[:-1, :-1]).max().compute()


@healthy(set=2)
def window_into_an_image(client: Client, data: Path) -> None:
    x = da.random.random((5_000, 5_000), chunks=(50, 50))
    x.map_overlap(lambda block: block, depth=1)[2_500:2_510, 2_500:2_510].compute()


@healthy(set=2, cluster=COMMANDS)
def cumulated(client: Client, data: Path) -> None:
    x = da.random.random((4_000, 6_000), chunks=(500, 1_000))
    x.cumsum(axis=0).max(axis=0).sum().compute()


@healthy(set=2)
def swapped_axes(client: Client, data: Path) -> None:
    with dask.config.set({"array.rechunk.method": "p2p"}):
        x = da.random.random((7_000, 7_000), chunks=(-1, 350))
        x.rechunk((350, -1)).sum().compute()


@healthy(set=2)
def swapped_axes_in_memory(client: Client, data: Path) -> None:
    """Pieces on their way lie in memory, and no result accounts for them."""
    with dask.config.set(
        {
            "array.rechunk.method": "p2p",
            "distributed.p2p.storage.disk": False,
        }
    ):
        for _ in range(3):
            x = da.random.random((8_000, 8_000), chunks=(-1, 250))
            x.rechunk((250, -1)).std(axis=1).sum().compute()


@healthy(set=2)
def oversplit_chunks_healed(client: Client, data: Path) -> None:
    x = da.random.random((9_000, 9_000), chunks="3 MiB")
    x.rechunk("40 MiB").sum().compute()


@healthy(set=2)
def neighbouring_groups(client: Client, data: Path) -> None:
    x = da.random.random((1_200, 10, 4_000), chunks=(60, 2, 2_000))
    x.rechunk((100, 5, 4_000)).sum().compute()


@healthy(set=2, cluster=local(3))
def life(client: Client, data: Path) -> None:
    """Conway's game for some generations, each from the one before, held."""

    def step(block: Block) -> Block:
        around = sum(
            np.roll(block, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)
        )
        alive = (around == 3) | ((around == 4) & (block == 1))
        return alive.astype("uint8")

    world = (da.random.random((4_000, 4_000), chunks=1_000) > 0.6).astype("uint8")
    for _ in range(8):
        world = world.map_overlap(step, depth=1, boundary="periodic").persist()
        wait(world)
    world.sum().compute()


@healthy(set=2)
def singular_values_held(client: Client, data: Path) -> None:
    x = da.random.random((8_000, 3_000), chunks=(1_000, 3_000)).persist()
    for seed in range(2):
        u, s, v = da.linalg.svd_compressed(x, k=5, seed=seed)
        dask.compute(abs(u).sum(), s, abs(v).sum())


@healthy(set=2)
def solved_in_blocks(client: Client, data: Path) -> None:
    """A triangular solve: each block waits for those above."""
    x = da.random.random((2_400, 2_400), chunks=400)
    low = da.tril(x) + 50 * da.eye(2_400, chunks=400)
    b = da.random.random(2_400, chunks=400)
    da.linalg.solve_triangular(low, b, lower=True).sum().compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def zarr_filtered(client: Client, data: Path) -> None:
    cube = da.from_zarr(str(data / "grids" / "cube.zarr"))
    for threshold in (50, 100, 200):
        cube[cube > threshold].mean().compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def zarr_sliced(client: Client, data: Path) -> None:
    cube = da.from_zarr(str(data / "grids" / "cube.zarr"))
    for n in (350, 75, 1):
        cube[:n, :n, :n].sum().compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def zarr_residuals(client: Client, data: Path) -> None:
    cube = da.from_zarr(str(data / "grids" / "cube.zarr"))
    (cube - cube.mean(axis=0)).sum().compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def zarr_to_zarr(client: Client, data: Path) -> None:
    cube = da.from_zarr(str(data / "grids" / "cube.zarr"))
    cube.rechunk((400, 50, 50)).to_zarr(str(data / "out-cube.zarr"))


@healthy(set=2, libraries=("xarray",))
def squares_and_their_mean(client: Client, data: Path) -> None:
    import xarray as xr

    dims = ("time", "j", "i")
    a = da.random.random((400, 250, 480), chunks=(10, -1, -1))
    b = da.random.random((400, 250, 480), chunks=(10, -1, -1))
    winds = xr.Dataset({"a": (dims, a), "b": (dims, b)})
    squares = winds**2
    squares["ab"] = winds.a * winds.b
    squares.mean("time").compute()


@healthy(set=2, libraries=("xarray",))
def anomalies_by_day(client: Client, data: Path) -> None:
    import xarray as xr

    x = da.random.random((400, 130_000), chunks=(4, 130_000))
    days = {"day": ("time", np.arange(400) % 10)}
    array = xr.DataArray(x, dims=("time", "x"), coords=days)
    with xr.set_options(use_flox=False):
        usual = array.groupby("day").mean("time")
        (array.groupby("day") - usual).mean("time").compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def months_of_weather(client: Client, data: Path) -> None:
    weather = _weather(data)
    weather.groupby("time.month").mean("time").compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def circulation(client: Client, data: Path) -> None:
    """Zonal means, eddies and their products, by the day, to a store."""
    weather = _weather(data)
    means = weather.mean("longitude")
    eddies = weather - means
    eddies["uv"], eddies["vt"] = eddies.u * eddies.v, eddies.v * eddies.t
    together = means.merge(eddies[["uv", "vt"]].mean("longitude"))
    daily = together.chunk(time=60).resample(time="D").mean()
    daily.to_zarr(data / "out-circulation.zarr")


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def pancakes_to_pencils(client: Client, data: Path) -> None:
    weather = _weather(data)[["t"]].drop_encoding()
    weather.chunk({"time": -1, "latitude": 20, "longitude": 20}).to_zarr(
        data / "out-pencils.zarr"
    )


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def regridded(client: Client, data: Path) -> None:
    """To a finer grid, by a matrix of weights."""
    weights = np.random.default_rng(1).random((7_200, 2_000)).astype("float32")
    flat = _weather(data).t.data.reshape((1_460, 7_200))
    da.tensordot(flat, weights, axes=(1, 0)).mean(axis=1).compute()


@healthy(set=2, needs=make_grids, libraries=("xarray", "zarr"))
def rolling_weather(client: Client, data: Path) -> None:
    weather = _weather(data).chunk({"time": -1, "latitude": 15, "longitude": 30})
    weather.rolling(time=28, center=True).mean().std("time").compute()


@healthy(set=2)
def cloudless_median(client: Client, data: Path) -> None:
    """Months of pictures, clouds masked out, and what is usual of each pixel."""
    pictures = da.random.random((36, 1_500, 1_500), chunks=(1, 750, 750))
    clear = da.where(pictures > 0.8, np.nan, pictures)
    clear = clear.rechunk({0: -1, 1: 250, 2: 750})
    clear.map_blocks(np.nanmedian, axis=0, drop_axis=0, dtype=float).mean().compute()


@healthy(set=2, libraries=("scipy",))
def labelled_images(client: Client, data: Path) -> None:
    def cells(block: Block) -> Block:
        from scipy import ndimage

        smooth = ndimage.gaussian_filter(block[0], 3)
        _, number = ndimage.label(smooth > smooth.mean())
        return np.array([number])

    images = da.random.random((40, 700, 700), chunks=(1, 700, 700))
    images.map_blocks(cells, drop_axis=(1, 2), dtype=int).sum().compute()


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
def climate_and_its_anomalies(client: Client, data: Path) -> None:
    t = _weather(data).t.chunk({"time": 365})
    usual = t.groupby("time.dayofyear").mean()
    (t.groupby("time.dayofyear") - usual).std("time").compute()


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
def weighted_means_of_months(client: Client, data: Path) -> None:
    weather = _weather(data)
    weights = np.cos(np.deg2rad(weather.latitude))
    means = weather.weighted(weights).mean(("latitude", "longitude"))
    means.resample(time="1MS").mean().compute()


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
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


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
def a_year_appended_by_months(client: Client, data: Path) -> None:
    weather = _weather(data)[["u", "v"]].drop_encoding().chunk({"time": 60})
    target = data / "out-year.zarr"
    for n, at in enumerate(range(0, 1_200, 240)):
        part = weather.isel(time=slice(at, at + 240))
        how: dict[str, Any] = {"append_dim": "time"} if n else {"mode": "w"}
        part.to_zarr(target, **how)


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
def spectra_of_latitudes(client: Client, data: Path) -> None:
    u = _weather(data).u.chunk({"time": 120, "longitude": -1}).data
    power = abs(da.fft.rfft(u, axis=2)) ** 2
    power.mean(axis=(0, 1)).compute()


@healthy(set=3, needs=make_grids, libraries=("xarray", "zarr", "flox"))
def quantiles_of_each_pixel(client: Client, data: Path) -> None:
    t = _weather(data).t.chunk({"time": -1, "latitude": 15, "longitude": 30})
    t.quantile([0.05, 0.95], dim="time").compute()


@healthy(set=3, cluster=local(1, 2, "3GiB"))
def moving_windows(client: Client, data: Path) -> None:
    x = da.random.random(8_000_000, chunks=400_000)
    windows = da.lib.stride_tricks.sliding_window_view(x, 30)
    windows.mean(axis=1).max().compute()


@healthy(set=3, cluster=local(1, 2, "3GiB"))
def three_tensors(client: Client, data: Path) -> None:
    a = da.random.random((60, 400, 80), chunks=(20, 200, 80))
    b = da.random.random((60, 80, 400), chunks=(20, 80, 200))
    da.einsum("nij,njk->nik", a, b).sum().compute()


@healthy(set=3)
def largest_of_each_row(client: Client, data: Path) -> None:
    x = da.random.normal(size=(6_000, 8_000), chunks=(1_000, 2_000))
    dask.compute(da.topk(x, 5, axis=1).mean(), x.argmax(axis=1), da.nanmin(x, axis=0))


@healthy(
    set=3, may=("spilling",), cluster=local(2, 1, "500MiB")
)  # that is what it does
def more_than_fits_held(client: Client, data: Path) -> None:
    """Held on purpose, larger than memory: what does not fit goes to disk and comes back."""
    x = da.random.random((18_000, 6_000), chunks=(1_000, 6_000)).persist()
    wait(x)
    x.sum().compute()
    (x + 1).mean().compute()


@healthy(set=3)
def many_tasks_worth_their_while(client: Client, data: Path) -> None:
    """Five thousand blocks of some milliseconds: a large graph, and fine."""

    def worked(block: Block) -> Block:
        return np.sort(np.fft.fft2(block).real, axis=None).reshape(block.shape)

    x = da.random.random((25_000, 12_500), chunks=(250, 250))
    x.map_blocks(worked).sum(split_every=16).compute()


@healthy(set=3, libraries=("skimage",))
def segmented_images(client: Client, data: Path) -> None:
    def objects(block: Block) -> Block:
        from skimage import filters, measure

        smooth = filters.gaussian(block[0], 2)
        labels = measure.label(smooth > filters.threshold_otsu(smooth))
        return np.array([labels.max()])

    images = da.random.random((60, 400, 400), chunks=(1, 400, 400))
    images.map_blocks(objects, drop_axis=(1, 2), dtype=int).sum().compute()


@healthy(set=3)
def greenness_of_tiles(client: Client, data: Path) -> None:
    """Two bands of a satellite, what is green in them, in coarser pixels."""
    red = da.random.random((12, 2_400, 2_400), chunks=(1, 1_200, 1_200))
    near = da.random.random((12, 2_400, 2_400), chunks=(1, 1_200, 1_200))
    green = (near - red) / (near + red)
    coarse = da.coarsen(np.mean, green.rechunk((1, 2_400, 2_400)), {1: 8, 2: 8})
    da.nanmax(coarse, axis=0).compute()


@healthy(set=3, libraries=("dask_ml",))
def logistic_regression(client: Client, data: Path) -> None:
    from dask_ml.linear_model import LogisticRegression

    x = da.random.random((80_000, 8), chunks=(10_000, 8))
    y = (x.sum(axis=1) > 4).astype(int)
    LogisticRegression(solver="gradient_descent", max_iter=12).fit(x, y)


@healthy(set=3, libraries=("sklearn",))
def forest_by_joblib(client: Client, data: Path) -> None:
    import joblib
    from sklearn.datasets import make_regression
    from sklearn.ensemble import RandomForestRegressor

    x, y = make_regression(n_samples=4_000, n_features=12, random_state=0)
    with joblib.parallel_backend("dask"):
        RandomForestRegressor(60, max_depth=9).fit(x, y).predict(x)
