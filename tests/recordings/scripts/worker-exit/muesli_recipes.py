"""Checks of the muesli recipes before they go to the packing lines.

The recipes' energy values and allergen lines are computed on a small cluster;
the allergen lines come from the label library that the lines use as well.
"""

import pathlib
import textwrap

import dask
import dask.bag as db
import pytest
from dask.distributed import Client, LocalCluster

LABELS = '''
"""Label texts of the packing lines (port of the 2009 program)."""
import os
import sys

ALLERGENS = {
    "oats": "GLUTEN", "rye": "GLUTEN", "hazelnut": "NUTS", "almond": "NUTS",
    "milk powder": "MILK", "soy lecithin": "SOY", "raisin": "", "honey": "",
    "apple": "", "cocoa": "", "linseed": "",
}


def _fatal(code, text):
    sys.stderr.write("LABEL-%03d %s\\n" % (code, text))
    sys.stderr.flush()
    os._exit(code)


def allergen_line(ingredients):
    found = set()
    for name in ingredients:
        if name not in ALLERGENS:
            _fatal(78, "ingredient table incomplete: " + name)
        if ALLERGENS[name]:
            found.add(ALLERGENS[name])
    return "CONTAINS: " + ", ".join(sorted(found)) if found else ""
'''

ENERGY = {
    "oats": 372,
    "rye": 335,
    "hazelnut": 644,
    "almond": 611,
    "milk powder": 496,
    "soy lecithin": 763,
    "raisin": 298,
    "honey": 306,
    "apple": 243,
    "cocoa": 342,
    "linseed": 488,
    "buckwheat": 343,
}


def recipes():
    base = [
        ("Basler", ["oats", "rye", "raisin", "hazelnut"]),
        ("Alpine", ["oats", "milk powder", "apple", "almond"]),
        ("Cocoa crunch", ["oats", "cocoa", "soy lecithin", "honey"]),
        ("Harvest", ["rye", "linseed", "apple", "raisin"]),
        ("Free spirit", ["buckwheat", "linseed", "apple"]),
        ("Breakfast", ["oats", "honey", "raisin"]),
    ]
    return [
        {"name": f"{name} {size}g", "size": size, "ingredients": items}
        for name, items in base
        for size in (250, 500, 750)
    ]


def energy(recipe):
    per_100 = sum(ENERGY[i] for i in recipe["ingredients"]) / len(recipe["ingredients"])
    return recipe["name"], round(per_100 * recipe["size"] / 100)


def label(recipe):
    import muesli_labels

    return recipe["name"], muesli_labels.allergen_line(recipe["ingredients"])


@pytest.fixture(scope="module")
def client():
    pathlib.Path("muesli_labels.py").write_text(textwrap.dedent(LABELS))
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
    pathlib.Path("muesli_labels.py").unlink()


@pytest.fixture
def bag(client):
    return db.from_sequence(recipes(), npartitions=6)


def test_energy_is_plausible(bag):
    values = dict(bag.map(energy).compute())
    assert all(500 < v < 5000 for v in values.values())


def test_unknown_ingredient_has_no_energy(client):
    bad = {"name": "Trial", "size": 250, "ingredients": ["oats", "goji"]}
    with pytest.raises(KeyError):
        client.submit(energy, bad).result()


def test_every_recipe_has_an_allergen_line(bag):
    lines = dict(bag.map(label).compute())
    assert len(lines) == 18
    assert all(text == "" or text.startswith("CONTAINS") for text in lines.values())
