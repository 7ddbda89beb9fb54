import json
import os
import tempfile
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster


def water_table(station):
    profile = json.loads(Path(os.environ["HYDRO_PROFILE"]).read_text())
    return station, 120 - profile["offset"] * len(station)


def archive(folder, name):
    path = Path(folder) / f"{name}.json"
    path.write_text("{}")
    return str(path)


class Nightly:
    def __init__(self, folder):
        self.folder = folder
        profile = Path(folder) / "profile.json"
        profile.write_text(json.dumps({"offset": 3}))
        self.compute_cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            dashboard_address=None,
            env={"HYDRO_PROFILE": str(profile)},
            name="moor-compute",
        )
        self.compute = Client(self.compute_cluster)
        self.archive_cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=None,
            name="moor-archive",
        )
        self.archiver = Client(self.archive_cluster)

    def run(self):
        check = self.compute.submit(water_table, "control").result()
        print("control station:", check)
        copies = self.archiver.map(archive, [self.folder] * 3, ["jan", "feb", "mar"])
        levels = dask.compute(
            *[dask.delayed(water_table)(s) for s in ("upper", "middle", "lower")]
        )
        print(levels, len(self.archiver.gather(copies)), "archived")

    def close(self):
        for part in (
            self.archiver,
            self.archive_cluster,
            self.compute,
            self.compute_cluster,
        ):
            part.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        nightly = Nightly(folder)
        try:
            nightly.run()
        finally:
            nightly.close()
