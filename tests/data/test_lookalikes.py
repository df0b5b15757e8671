"""Names that look the same and differ are warned of, wherever they name something."""

import warnings

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning
from cordial_ppl.tables import read_labels, read_several, write_table

ALIKE = {
    "cyrillic": ("gpt-a", "gpt-\u0430"),
    "greek": ("NOVA", "\u039dOVA"),
    "hyphen": ("gpt-4", "gpt\u20114"),
    "blank": ("gpt 4", "gpt\u00a04"),
    "hidden": ("gpt", "g\u200bpt"),
    "accent": ("caf\u00e9", "cafe\u0301"),
}
APART = {
    "digits": ("gpt-40", "gpt-4o"),
    "capitals": ("a", "A"),
    "alphabets": ("\u0436", "\u044f"),
    "one": ("\u0430", "\u0430"),
}
LABELS = [*range(5)] * 4


def group(names, _):
    """The groups of a plan."""
    return cp.plan(cp.synthetic.reviews(40, seed=1).logits, 10, groups=[*names] * 20)


def users(names, _):
    probs = np.full((20, 5), 0.2)
    return cp.UserShift([*"01234"]).fit(probs, LABELS, [*names] * 10).values_


def annotators(names, folder):
    cells = {"item_id": [f"a{i // 2}" for i in range(20)], "annotator": [*names] * 10}
    write_table(folder / "l.csv", cells | {"label": LABELS})
    return read_labels(folder / "l.csv", Scale.default(5))


def judges(names, folder):
    cells = {"item_id": [f"a{i // 2}" for i in range(20)], "reader": [*names] * 10}
    write_table(folder / "r.csv", cells | {"rating": LABELS})
    return read_several([folder / "r.csv"], options=[*"01234"])


@pytest.mark.parametrize("name", [group, users, annotators, judges])
@pytest.mark.parametrize("pair", [*ALIKE, *APART])
def test_names_that_look_alike(tmp_path, name, pair):
    """What differs for the eye, or is the same, is not warned of."""
    names = (ALIKE | APART)[pair]
    if pair == "one" and name in (annotators, judges):
        names = (names[0], "b")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CordialWarning)
        name(names, tmp_path)
    said = [str(each.message) for each in caught if "look alike" in str(each.message)]
    # Users' names are one however their accents are written.
    assert len(set(said)) == (pair in ALIKE and (name, pair) != (users, "accent"))
    assert all(ascii(names[1]) in text for text in said)
