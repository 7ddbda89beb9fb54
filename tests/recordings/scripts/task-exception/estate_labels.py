"""Bottle labels of a wine estate, a sheet for each cuvee.

The sheets are laid out in Python and set by the estate's typesetting program, which is started through a shell
because its options come from the configuration file.
"""

import argparse
import configparser
import subprocess
import tempfile
import textwrap
from pathlib import Path

from distributed import Client, LocalCluster, wait

CONFIG = textwrap.dedent("""
    [cluster]
    workers = 2
    memory = 300MB

    [typesetting]
    command = labelpress --dpi 300 --bleed 2mm --out {out} {sheet}

    [cuvees]
    names = Riesling Kabinett, Riesling Auslese, Silvaner Alte Reben, Pinot Noir Reserve, Sekt Brut,
        Scheurebe Lieblich, Rose Saignee, Chardonnay Barrique
""")


class SheetFailed(Exception):
    def __init__(self, cuvee, code):
        super().__init__(cuvee, code)
        self.cuvee, self.code = cuvee, code

    def __str__(self):
        return f"sheet of {self.cuvee}: typesetting ended with code {self.code}"


def lay_out(cuvee, folder, columns=4, rows=6):
    path = Path(folder) / (cuvee.lower().replace(" ", "-") + ".sheet")
    with open(path, "w") as f:
        for row in range(rows):
            for column in range(columns):
                f.write(f"box {column * 90} {row * 120} 80 110\ntext {cuvee}\n")
    return cuvee, str(path)


def set_sheet(laid_out, command):
    cuvee, sheet = laid_out
    line = command.format(sheet=sheet, out=sheet.replace(".sheet", ".pdf"))
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    if done.returncode:
        try:
            done.check_returncode()
        except subprocess.CalledProcessError as exc:
            print(done.stderr.strip(), flush=True)
            raise SheetFailed(cuvee, done.returncode) from exc
    return Path(sheet).with_suffix(".pdf").stat().st_size


def bundle(sizes):
    return {"sheets": len(sizes), "bytes": sum(sizes)}


def read_config(path):
    parser = configparser.ConfigParser()
    if path:
        parser.read(path)
    else:
        parser.read_string(CONFIG)
    return parser


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--config")
    args.add_argument("--retries", type=int, default=1)
    options = args.parse_args()
    config = read_config(options.config)
    names = [n.strip() for n in config["cuvees"]["names"].replace("\n", " ").split(",")]

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=config["cluster"].getint("workers"),
            threads_per_worker=1,
            memory_limit=config["cluster"]["memory"],
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        laid_out = client.map(lay_out, names, folder=folder)
        sizes = client.map(
            set_sheet,
            laid_out,
            command=config["typesetting"]["command"],
            retries=options.retries,
        )
        wait(sizes)
        ok = [f for f in sizes if f.status == "finished"]
        print(f"{len(ok)} of {len(sizes)} sheets are set", flush=True)
        print(client.submit(bundle, sizes).result())


if __name__ == "__main__":
    main()
