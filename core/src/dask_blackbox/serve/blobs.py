"""Serves reports and files of the store, as untrusted content."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.background import BackgroundTask

from dask_blackbox.errors import BlackboxError, BlobNotFoundError, RecordingError
from dask_blackbox.formatting import command
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.documents import url_of
from dask_blackbox.reader.open_metrics import CONTENT_TYPE, open_metrics
from dask_blackbox.report.export import FORMATS, export
from dask_blackbox.serve.cards import REPORTS, Cards, report_of_run
from dask_blackbox.serve.templating import RUN_PATH, Address
from dask_blackbox.store import Store
from dask_blackbox.store.base import content_type_of, is_name

SANDBOX = (
    # An origin of its own: it can read nothing of ours, nor of the host's.
    "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; "
    # Self-contained by design; what tries to fetch or send is not of our making.
    "default-src 'none'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; "
    "img-src data: blob:; "
    "font-src data:"
)
"""The content security policy that pages out of a store are sent with."""
_EXPORTED = {
    "perfetto": "application/octet-stream",
    "speedscope": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
}
"""Exports that are one file, with their content types."""

_VALUES = (
    "A failed-task bundle holds values of the run; read it from the store itself: "
)


class Blobs:
    """The files in a run's folder, one method for each kind."""

    def __init__(self, store: Store, cards: Cards) -> None:
        self._store = store
        self._cards = cards

    def routes(self) -> APIRouter:
        """Return where each is found."""
        routes = APIRouter(include_in_schema=False, default_response_class=Response)
        for name in REPORTS:
            routes.add_api_route(f"{RUN_PATH}/{name}", self._report(name))
        routes.add_api_route("/metrics", self.metrics)
        routes.add_api_route(f"{RUN_PATH}/files/{{name:path}}", self.file)
        routes.add_api_route(f"{RUN_PATH}/export/{{form}}", self.exported)
        return routes

    def metrics(self) -> Response:
        """Send the last run of each job to Prometheus."""
        return Response(open_metrics(self._store), media_type=CONTENT_TYPE)

    def _report(self, name: str) -> Callable[[RunAddress], Response]:
        def report(address: Address) -> Response:
            page = report_of_run(self._cards.run(address), name)
            return HTMLResponse(page, headers={"Content-Security-Policy": SANDBOX})

        return report

    def exported(self, address: Address, form: str) -> Response:
        """Send a run in a format of another tool, as `dask blackbox export` writes it."""
        if form not in _EXPORTED:
            raise HTTPException(404, f"there is no export {form!r}")
        opened = self._cards.run(address)
        folder = Path(tempfile.mkdtemp(prefix="dask-blackbox-"))
        named = "-".join(map(str, opened.address)) + FORMATS[form]
        try:
            (made,) = export(opened, form, folder / "made")
        except BlackboxError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, RecordingError):  # it has nothing of that kind
                raise HTTPException(404, str(error)) from error
            raise
        return FileResponse(
            made,
            filename=named,
            media_type=_EXPORTED[form],
            headers={"Content-Security-Policy": SANDBOX},
            background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
        )

    def file(self, address: Address, name: str) -> Response:
        """Send a blob: JSON to look at, a page in its sandbox, all else to be kept."""
        if not is_name(name):
            raise BlobNotFoundError(name, self._store.url)
        if name.startswith("bundles/"):
            # Who may see how a run went need not be allowed to see its data.
            again = command("replay", url_of(self._store, address.folder))
            raise HTTPException(403, f"{_VALUES}{again}")
        blob = self._store.get(f"{address.folder}{name}")
        headers = {"Content-Security-Policy": SANDBOX}
        if not name.endswith((".html", ".json")):
            kept_as = name.rpartition("/")[2]
            headers["Content-Disposition"] = f'attachment; filename="{kept_as}"'
        return Response(blob, media_type=content_type_of(name), headers=headers)
