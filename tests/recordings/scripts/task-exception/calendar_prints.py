"""Photo calendars for the Christmas trade: sheets ready for the press.

The pages of every order are laid out, imposed on sheets of the press and
collected in one manifest per region.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import dask
from dask import delayed
from dask.distributed import Client

REGIONS = ["north", "south", "east", "west", "islands"]
LANGUAGES = {"north": "sv", "south": "it", "east": "pl", "west": "fr", "islands": "mt"}
HYPHENS = {"sv": "sv_SE", "it": "it_IT", "pl": "pl_PL", "fr": "fr_FR"}


@delayed
def read_orders(region):
    return [{"order": f"{region}-{number:03d}", "pages": 13} for number in range(4)]


@delayed
def hyphenation(region):
    try:
        return HYPHENS[LANGUAGES[region]]
    except KeyError as missing:
        print(f"{region}: no hyphenation for {missing}, words stay whole")
        return None


@delayed
def lay_out(orders, hyphens, folder):
    made = []
    for order in orders:
        page = Path(folder) / f"{order['order']}.pages.json"
        page.write_text(json.dumps({"pages": order["pages"], "hyphens": hyphens}))
        made.append(str(page))
    time.sleep(0.3)
    return made


def ghost_check(page):
    """Asks the interpreter at hand whether the file is whole."""
    done = subprocess.run(
        [sys.executable, "-c", "import json,sys; json.load(open(sys.argv[1]))", page],
        capture_output=True,
        text=True,
    )
    return done.returncode == 0


@delayed
def impose_sheets(pages):
    sheets = []
    for page in pages:
        if not ghost_check(page):
            continue
        sheet = page.replace(".pages.json", ".sheet.pdf")
        subprocess.run(
            ["pdfimpose-a3", "--fold", "wall", page, sheet],
            check=True,
            capture_output=True,
            timeout=30,
        )
        sheets.append(sheet)
    return sheets


@delayed
def manifest(region, sheets):
    return {"region": region, "sheets": len(sheets)}


@delayed
def press_plan(manifests):
    return sorted(manifests, key=lambda entry: -entry["sheets"])


def build(folder):
    manifests = []
    for region in REGIONS:
        pages = lay_out(read_orders(region), hyphenation(region), str(folder))
        manifests.append(manifest(region, impose_sheets(pages)))
    return press_plan(manifests)


def main():
    folder = Path.cwd() / "press"
    folder.mkdir(exist_ok=True)
    with Client(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as client:
        print("press room on", len(client.nthreads()), "workers")
        (plan,) = dask.compute(build(folder), retries=1)
        for entry in plan:
            print(entry["region"], entry["sheets"])
        Path("plan.json").write_text(json.dumps(plan))


if __name__ == "__main__":
    main()
