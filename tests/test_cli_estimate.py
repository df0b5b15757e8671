"""`cordial estimate` and `cordial compare`."""

import json

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.cli.estimate import _read_design
from cordial_ppl.planning import expected_scores, score_strata
from cordial_ppl.tables import (
    list_groups,
    match_labels,
    read_labelled,
    read_labels,
    read_readings,
    write_table,
)

SYSTEMS = [f"system {'abcd'[i % 4]}" for i in range(TEXTS)]


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path, system=SYSTEMS)


def test_an_estimate_as_text_table_and_picture(cordial, tables):
    result = cordial("estimate", *tables, "--by", "system", "-o", "e.csv", "--figure", "e.svg")
    assert result.stdout.startswith("20 of 60 texts are labelled; intervals of 90 %")
    assert "system c" in result.stdout and "wrote e.svg" in result.stderr
    found = cordial("estimate", *tables, "--by", "system", "--json")
    content, rows = json.loads(found.stdout), read("e.csv")
    readings, labels = read_labelled(*tables)
    fitted = cp.Cordial(readings.scale).fit(
        readings.logits[:LABELLED], readings.scale.decode(labels.labels)
    )
    expected = fitted.estimate(readings.logits, np.arange(LABELLED), SYSTEMS)
    assert content["best"] == expected.best and content["biases"] == []
    assert rows["system"] == ["all", *expected.ranking]
    np.testing.assert_allclose(
        np.array(rows["mean_low"], float), [row["mean_low"] for row in expected.rows]
    )
    assert content["verdict"]["labels"] == LABELLED


def test_a_comparison_ranks_the_groups(cordial, tables):
    result = cordial("compare", *tables, "--by", "system", "--level", 0.8)
    head, *lines, _, last, _, _ = result.stdout.splitlines()
    assert head.split()[:3] == ["system", "labels", "mean"]
    assert len(lines) == 4 and "of 6 differences are resolved at 80 %" in last


def test_what_is_refused(cordial, tables):
    readings, labels = tables
    for arguments, message in (
        (("--by", "topic"), "has no column 'topic'"),
        (("--figure", "e.svg"), "name a column with --by"),
        (("--by", "system", "--figure", "e.txt"), "e.txt"),
        (("--level", 1.5), "level must lie between 0 and 1"),
    ):
        result = cordial("estimate", readings, labels, *arguments, status=2)
        assert message in result.stderr
    assert cordial("estimate", *fast(readings, labels), status=2).stderr.count("needs draws") == 1


def test_the_design_of_a_plan_is_read(tables, tmp_path):
    readings, labels = tables
    cells = read(labels) | {"stratum": [0] * 20, "probability": np.linspace(0.1, 1, 20)}
    write_table(tmp_path / "planned.csv", cells)
    table = read_readings(readings)
    found = read_labels(tmp_path / "planned.csv", table.scale)
    rows = match_labels(table, found)
    from cordial_ppl.cli.calibrate import FittedTables

    design = _read_design(FittedTables(table, found, rows, {}, cp.Cordial()))
    scores = expected_scores(table.logits, table.scale)
    np.testing.assert_array_equal(design["strata"], score_strata(scores, 20))
    np.testing.assert_allclose(design["probabilities"], cells["probability"])


def test_groups_are_those_of_the_labelled_texts(tables, tmp_path):
    readings, labels = tables
    cells = {name: column[::-1] for name, column in read(labels).items()}
    write_table(tmp_path / "l2.csv", cells | {"annotator": list("ab" * 10)})
    table, found = read_labelled(readings, tmp_path / "l2.csv")
    groups = list_groups(table, match_labels(table, found), found)
    assert groups == {"annotator": list("ab" * 10), "system": SYSTEMS[:LABELLED][::-1]}
