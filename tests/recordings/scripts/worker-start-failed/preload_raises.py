"""Start workers with a preload that needs a variable."""

import os
import pathlib
import tempfile

from dask.distributed import Client


if __name__ == "__main__":
    preload = pathlib.Path(tempfile.mkdtemp()) / "site_setup.py"
    preload.write_text("import os\n\nTOKEN = os.environ['SITE_TOKEN_OF_JOB']\n")
    with Client(n_workers=1, preload=[str(preload)], dashboard_address=":0") as client:
        print(client.submit(sum, [1, 2]).result(timeout=30))
