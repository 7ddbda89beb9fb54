"""Messages that people meet often in tasks: event loops, read-only arrays, files, GPUs."""

from __future__ import annotations

from dask_blackbox.analyse.explanations.explained import says
from dask_blackbox.analyse.signatures import frequent as lines

EXPLANATIONS = (
    (
        lines.NO_EVENT_LOOP,
        says(
            "the thread of a task has no event loop",
            "Run coroutines in a task by `asyncio.run(main())`, and create what needs a loop "
            "(sessions, clients) inside it; or make the task itself `async def`, which Dask "
            "runs on its worker's loop. A retry meets the same.",
        ),
    ),
    (
        lines.COROUTINE_NOT_AWAITED,
        says(
            "a coroutine was used as if it were its result",
            "With `Client(asynchronous=True)`, each call returns a coroutine: `await` it in an "
            "`async def`, or use `Client(…)` without `asynchronous` in synchronous code.",
        ),
    ),
    (
        lines.ARRAY_IS_READ_ONLY,
        says(
            "an array that a task received is read-only",
            "Copy it before you change it in place (`x = x.copy()`): what Dask passes between "
            "processes may be read-only, and is shared by all tasks that use it. In Cython, "
            "declare the argument `const`.",
        ),
    ),
    (
        lines.CSV_TEXT_NOT_CLOSED,
        says(
            "a quoted text has no end{place} (row {row} of the block)",
            "A line break inside quotes is where Dask may cut a file in two: read each file as "
            "one block (`dd.read_csv(…, blocksize=None)`), with a large `sample=`. If pandas "
            "alone fails, too, a quote is missing: `quoting=csv.QUOTE_NONE`.",
        ),
    ),
    (
        lines.HDF5_FILE_LOCKED,
        says(
            "an HDF5 file is open for writing elsewhere{place}",
            "Let one task at a time write, and close the file before others read it; or write "
            "one file for each task, or Zarr. On file systems without locks, set "
            "`HDF5_USE_FILE_LOCKING=FALSE` for the workers.",
        ),
    ),
    (
        lines.NOT_AN_HDF5_FILE,
        says(
            "{name} is not a complete HDF5 file",
            "Check the job that writes it: it was cut off, or has another format (netCDF 3, "
            "an error page that was downloaded). Write to a temporary name, then rename.",
        ),
    ),
    (
        lines.XARRAY_HAS_NO_ENGINE,
        says(
            "xarray knows no engine for {name}",
            "Check that the file exists where the workers run and is not empty: xarray says the "
            "same of these. Else install what reads it there (`netcdf4`, `h5netcdf`, `cfgrib`), "
            "or pass `engine=`.",
        ),
    ),
    (
        lines.GPU_MEMORY_EXHAUSTED,
        says(
            "the memory of the GPU was exhausted",
            "Use smaller partitions or batches, one task at a time for each GPU "
            "(`threads_per_worker=1`), and spilling (`LocalCUDACluster(device_memory_limit=…, "
            "rmm_pool_size=…)`). More memory for the worker's process does not help.",
        ),
    ),
    (
        lines.NO_GPU,
        says(
            "the worker's process sees no usable GPU",
            "Check `nvidia-smi` and `CUDA_VISIBLE_DEVICES` where that worker runs, the GPUs that "
            "its job or pod requests, and that the driver is as new as the CUDA runtime.",
        ),
    ),
    (
        lines.GOOGLE_WITHOUT_CREDENTIALS,
        says(
            "no Google Cloud credentials where this ran",
            "Give the workers credentials, not only the driver: a service account of their "
            "machine or pod, or `GOOGLE_APPLICATION_CREDENTIALS` with a file that is there.",
        ),
    ),
    (
        lines.AZURE_WITHOUT_CREDENTIALS,
        says(
            "no Azure credentials where this ran",
            "Give the workers an identity, not only the driver: a managed identity, or "
            "`AZURE_CLIENT_ID`, `AZURE_TENANT_ID` and `AZURE_CLIENT_SECRET` in their environment.",
        ),
    ),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
