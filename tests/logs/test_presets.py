"""Each preset on rows of its tool's shape: known, read, read alike by fields, calibrated."""

import csv
import json

import judgments
import numpy as np
import pytest
from few_labels import assert_probabilities
from judgments import RATINGS

from cordial_ppl.logs import find_format
from cordial_ppl.logs.presets import PRESETS
from cordial_ppl.logs.registry import list_filled
from cordial_ppl.tables.formats import read_columns

CASES = [(name, make) for name, makers in judgments.FILES.items() for make in makers]
CALLED = [make.__name__ for _, make in CASES]


def table(path, kind):
    cells = read_columns(path).cells
    names = [name for name in cells if name.startswith(f"{kind}_")]
    return cells["item_id"], np.array([cells[name] for name in names], float).T


@pytest.mark.parametrize(("name", "make"), CASES, ids=CALLED)
def test_from_a_tools_rows_to_calibrated_probabilities_in_two_commands(
    cordial, tmp_path, name, make
):
    file = make()
    path = file.write(tmp_path)
    assert find_format(path).name == name
    written = ["-o", "r.csv", "--options", file.options]
    labels = ["--labels", "l.csv"] if file.labels else []
    told = cordial("read", path, *written, *labels, *file.choice).stderr
    assert f"12 readings of {file.options.replace(',', ', ')} ({name}) in r.csv" in told
    assert "several rows" not in told
    items, values = table("r.csv", file.kind)
    assert items == file.items
    options = np.arange(1, 6) if file.kind == "n" else np.array([1, 5])
    if file.kind == "n" and name != "g-eval":
        np.testing.assert_array_equal(values.argmax(axis=1), np.array(RATINGS) - 1)
        assert ((values > 0).sum(axis=1) == 1).all()
    means = values @ options / values.sum(axis=1)
    assert np.corrcoef(means, RATINGS)[0, 1] > 0.95
    cordial("read", path, "-o", "f.csv", "--options", file.options, *file.naming)
    named, others = table("f.csv", file.kind)
    assert named == items
    np.testing.assert_array_equal(others, values)
    if not file.labels:
        names = file.options.split(",")
        wanted = [names[min(rating, len(names)) - 1] for rating in RATINGS]
        with open("l.csv", "w", newline="") as out:
            csv.writer(out).writerows([("item_id", "label"), *zip(items, wanted, strict=True)])
    else:
        assert read_columns("l.csv").cells["label"] == [str(rating) for rating in RATINGS]
    cordial("calibrate", "r.csv", "l.csv", "-o", "o.csv", "--inference", "mode", "-q")
    probs = table("o.csv", "p")[1]
    assert_probabilities(probs, 12, len(file.options.split(",")))


def test_every_preset_has_a_file_of_its_tool():
    others = {"argilla", "label-studio", "label-studio-min", "mlflow", "mturk", "samples"}
    others |= {"people", "prodigy", "toloka"}
    assert set(PRESETS) == set(judgments.FILES) | others


def test_log_probabilities_of_alpaca_eval_are_what_its_preference_says(cordial, tmp_path):
    path = judgments.alpaca_eval().write(tmp_path)
    naming = ("--item", "instruction", "--answer", "raw_completion")
    swapped = ("--swapped", "is_switched_outputs")
    cordial("read", path, *naming, *swapped, "--options", "m,M", "-o", "tokens.csv")
    cordial("read", path, "--options", "1,2", "-o", "preference.csv")
    tokens, shares = table("tokens.csv", "logprob")[1], table("preference.csv", "p")[1]
    np.testing.assert_allclose(np.exp(tokens), shares, rtol=1e-9)


def test_alpaca_eval_is_known_by_an_annotation_that_failed(cordial, tmp_path):
    path = judgments.alpaca_eval().write(tmp_path)
    rows = json.loads(path.read_text())
    rows[0]["preference"] = None
    path.write_text(json.dumps(rows))
    told = cordial("read", path, "--options", "1,2", "-o", "r.csv").stderr
    assert f"{len(rows) - 1} readings of 1, 2 (alpaca-eval) in r.csv" in told


def test_marks_are_of_one_tool_alone(tmp_path):
    for name, makers in judgments.FILES.items():
        for make in makers:
            cells = list_filled(make().write(tmp_path))
            assert [form for form, preset in PRESETS.items() if preset.knows(cells)] == [name]
