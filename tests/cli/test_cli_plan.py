"""`cordial plan`, and what is made of a plan that is filled in."""

import json

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.decisions.planning import plan
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import read_readings, write_table

SYSTEMS = [f"system {'abcd'[i % 4]}" for i in range(TEXTS)]
TRUTH = {f"text {i}": str(label + 1) for i, label in enumerate(reviews(TEXTS, seed=3).labels)}


@pytest.fixture
def readings(tmp_path):
    notes = [f"note {i}, with a comma" for i in range(TEXTS)]
    others = {"label": ["gold"] * TEXTS, "weight": [2] * TEXTS}
    return write_tables(tmp_path, "csv", system=SYSTEMS, note=notes, **others)[0]


def fill(path, count, ending="csv"):
    """Label the first texts of a plan, in a table of another kind."""
    cells = read(path)
    cells["label"] = [TRUTH[item] if i < count else None for i, item in enumerate(cells["item_id"])]
    write_table(f"filled.{ending}", cells)
    return f"filled.{ending}"


def test_a_plan_is_a_table_to_fill_in(cordial, readings):
    result = cordial("plan", readings, "-n", 12, "-o", "p.csv", "--seed", 3)
    assert result.stdout == ""
    assert "wrote p.csv: 12 texts. Fill in label (1, 2, 3, 4, 5) from the top" in result.stderr
    table, out = read_readings(readings), read("p.csv")
    own = ["item_id", "system", "note", "input_label", "input_weight"]
    assert list(out) == [*own, "stratum", "probability", "label"]
    expected = plan(table.logits, 12, options=table.scale, seed=3)
    assert out["item_id"] == [table.item_ids[row] for row in expected.rows]
    assert out["note"] == [f"note {row}, with a comma" for row in expected.rows]
    assert out["stratum"] == list(map(str, expected.stratum))
    np.testing.assert_allclose(np.array(out["probability"], float), 12 / TEXTS)
    assert not any(out["label"])


def test_labels_that_are_filled_in_are_not_replaced(cordial, readings):
    cordial("plan", readings, "-o", "p.csv", "--quiet")
    cordial("plan", readings, "-o", "p.csv", "--quiet")  # Nothing is lost.
    filled = fill("p.csv", 3)
    before = read(filled)
    result = cordial("plan", readings, "-o", filled, status=2)
    assert "filled.csv already holds 3 labels, which a new plan would overwrite" in result.stderr
    assert "--labelled filled.csv" in result.stderr and read(filled) == before


def test_whoever_stops_early_has_a_plan_too(cordial, readings):
    """Rows without a label are counted and skipped; labelled texts are not planned again."""
    cordial("plan", readings, "-n", 20, "-o", "p.csv", "--quiet")
    cordial("plan", readings, "-n", 12, "-o", "fewer.csv", "--quiet")
    filled = fill("p.csv", 12, "jsonl")
    results = [
        cordial(*fast("calibrate", readings, labels, "-o", out))
        for labels, out in ((filled, "o.csv"), (fill("fewer.csv", 12), "fewer-o.csv"))
    ]
    warned = "warning: filled.jsonl: 8 of 20 rows have no label and are skipped.\n"
    assert [result.stderr for result in results] == [warned, ""]
    assert read("o.csv") == read("fewer-o.csv")
    again = "plan", readings, "-n", 8, "--labelled", filled, "-o", "rest.csv"
    assert cordial(*again, "--quiet").stderr == warned
    rest, whole = read("rest.csv"), read("p.csv")
    assert rest["item_id"] == whole["item_id"]
    assert rest["label"][:12] == read(filled)["label"][:12] and set(rest["label"][12:]) == {""}
    np.testing.assert_allclose(np.array(rest["probability"], float), 20 / TEXTS)


def test_labels_are_spread_over_the_values_of_a_column(cordial, readings):
    cordial("plan", readings, "-n", 4, "-o", "p.csv", "--quiet")
    more = "--by", "system", "--labelled", fill("p.csv", 4), "-n", 8, "-o", "q.csv"
    counted = json.loads(cordial("plan", readings, *more, "--json").stdout)
    groups = counted.pop("groups").values()
    assert counted == {"output": "q.csv", "texts": TEXTS, "labelled": 4, "planned": 8}
    assert [sum(group[k] for group in groups) for k in ("labelled", "planned")] == [4, 8]
    assert all(group["labelled"] + group["planned"] == 3 for group in groups)
    result = cordial("plan", readings, "-n", 10, "--by", "system", "-o", "p.csv")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[:2] == [["10", "texts", "to", "label"], ["system", "texts", "labelled", "planned"]]
    planned = {f"system {line[1]}": int(line[-1]) for line in lines[2:]}
    assert sorted(planned.values()) == [2, 2, 3, 3] and set(planned) == set(SYSTEMS)
    out = read("p.csv")
    assert {name: out["system"].count(name) for name in planned} == planned
    assert all(len(set(out["system"][k : k + 4])) == 4 for k in (0, 4))
    probability = [planned[name] / 15 for name in out["system"]]
    np.testing.assert_allclose(np.array(out["probability"], float), probability)


def test_a_plan_by_groups_goes_on_by_these(cordial, readings):
    cordial("plan", readings, "-n", 9, "--by", "SYSTEM", "-o", "p.csv", "--quiet")
    assert set(read("p.csv")["probability_by"]) == {"system"}
    more = "plan", readings, "--labelled", fill("p.csv", 6), "-n", 3, "-o", "q.csv"
    told = cordial(*more, status=2).stderr
    assert "filled.csv holds labels of a plan by 'system'" in told and "--by system." in told
    cordial(*more, "--by", "system", "--quiet")
    assert read("q.csv")["item_id"] == read("p.csv")["item_id"]


def test_partly_labelled_clusters_count_by_their_texts(cordial, tmp_path):
    """Labels of one text of each of three clusters are not three clusters."""
    talks, systems = [f"talk {i // 6}" for i in range(TEXTS)], ["ab"[i // 30] for i in range(TEXTS)]
    table, labels = write_tables(tmp_path, "csv", talk=talks, system=systems)
    write_table(labels, {"item_id": ["text 0", "text 6", "text 30"], "label": [3, 3, 3]})
    more = "--cluster", "talk", "--by", "system", "--labelled", labels, "-n", 12, "--quiet"
    cordial("plan", table, *more, "-o", "p.csv")
    out = read("p.csv")
    expected = [out["system"].count(name) / 30 for name in out["system"]]
    assert len(out["label"]) == 15
    np.testing.assert_allclose(np.array(out["probability"], float), expected)


def test_groups_without_their_share_are_named(cordial, tmp_path):
    names = ["small"] * 2 + ["large"] * 29 + ["other"] * 29
    table, _ = write_tables(tmp_path, "csv", system=names)
    given = "plan", table, "-o", "p.csv", "--by", "system", "--quiet", "-n"
    said = cordial(*given, 12).stderr
    assert said == (
        "warning: 1 of 3 groups have fewer texts than their share: the others get more labels "
        "('small').\n"
    )
    assert (
        "2 of 3 groups get no label: name more with -n, 3 for one each" in cordial(*given, 1).stderr
    )
    assert cordial(*given, 7).stderr == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("-n", 61),
            "n, the texts to label, must be a whole number from 1 to the 60 texts; found 61.",
        ),
        (("-n", 0), "-n"),
        (("--labelled", "l.csv", "-n", 41), "1 to the 40 texts without a label; found 41."),
        (("--by", "topic"), "has no column 'topic'; found 'item_id'"),
        (("--cluster", "talk"), "Name the column: --cluster COLUMN."),
        (
            ("--by", "item_id", "--cluster", "ITEM_ID"),
            "--by and --cluster must name different columns",
        ),
        (("--by", "gap"), "column 'gap' has no value in line 4. Give every text one"),
        (("--labelled", "empty.csv"), "has no label: column 'label' is empty in all 1 rows"),
        (("--options", "1,2"), "has columns of other options"),
    ],
)
def test_bad_input(cordial, tmp_path, given, message):
    write_tables(tmp_path, "csv", gap=["x", "x", "", *["x"] * (TEXTS - 3)])
    (tmp_path / "empty.csv").write_text("item_id,label\ntext 1,\n")
    before = set(tmp_path.iterdir())
    result = cordial("plan", "r.csv", "-o", "p.csv", *given, status=2)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def forecast(tmp_path_factory):
    """A calibrator, the table of readings that it is of, and its forecast."""
    folder = tmp_path_factory.mktemp("forecast")
    readings, labels = write_tables(folder)
    table = read_readings(readings)
    fitted = cp.Cordial(table.scale)
    fitted.fit(table.logits[:LABELLED], list(map(str, read(labels)["label"])))
    fitted.save(folder / "reader.cordial")
    return folder / "reader.cordial", readings, fitted.forecast(table.logits)


def test_more_labels_are_forecast(cordial, forecast):
    calibrator, readings, expected = forecast
    more = "plan", readings, "--more", calibrator
    # No file gets it, so it is shown even if quiet.
    assert cordial(*more, "--quiet").stdout.strip() == expected.text
    told = cordial(*more, "--width", 0.1).stdout.strip()
    assert told == f"{expected.text}\n{expected.say_needed(0.1)}"
    both = cordial(*more, "-o", "p.csv")
    assert expected.text in both.stdout and len(read("p.csv")["item_id"]) == 20
    alone = json.loads(cordial(*more, "--width", 0.1, "--json").stdout)
    assert alone["loss"]["value"] == pytest.approx(expected.loss.value)
    assert alone["needed"]["value"] == expected.needed(0.1).value
    assert [step["labels"] for step in alone["steps"]] == list(expected.counts)
    both = json.loads(cordial(*more, "-o", "p.csv", "--json").stdout)
    assert both["forecast"]["sentence"] == alone["sentence"] and both["planned"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--width", 0), "--width must be a positive number"),
        (("--options", "1,2"), "--options names 2 options"),
    ],
)
def test_what_cannot_be_forecast(cordial, forecast, arguments, message):
    calibrator, readings, _ = forecast
    result = cordial("plan", readings, "--more", calibrator, *arguments, status=2)
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_readings_of_another_judge_are_warned_of(cordial, forecast):
    calibrator, readings, _ = forecast
    cells = read(readings)
    turned = {f"logit_{k}": cells[f"logit_{6 - k}"] for k in range(1, 6)}
    write_table("other.csv", cells | turned)
    told = cordial("plan", "other.csv", "--more", calibrator).stderr
    assert "warning: other.csv" in told and "the readings differ from those of the fit" in told
