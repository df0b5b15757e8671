"""`cordial plan`, and what is made of a plan that is filled in."""

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.decisions.planning import plan
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import read_labels, read_readings, write_table

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
    assert result.stdout == "" and "p.csv" in result.stderr and "1, 2, 3, 4, 5" in result.stderr
    table, out = read_readings(readings), read("p.csv")
    known = ["item_id", "system", "note", "input_label", "input_weight"]
    assert list(out) == [*known, "stratum", "probability", "label"]
    expected = plan(table.logits, 12, options=table.scale, seed=3)
    assert out["item_id"] == [table.item_ids[row] for row in expected.rows]
    assert out["note"] == [f"note {row}, with a comma" for row in expected.rows]
    assert out["stratum"] == list(map(str, expected.stratum))
    np.testing.assert_allclose(np.array(out["probability"], float), 12 / TEXTS)
    assert not any(out["label"])


def test_whoever_stops_early_has_a_plan_too(cordial, refused, readings):
    """Rows without a label are counted and skipped; labelled texts are not planned again."""
    for _ in range(2):  # Nothing is lost.
        cordial("plan", readings, "-n", 20, "-o", "p.csv", "--quiet")
    cordial("plan", readings, "-n", 12, "-o", "fewer.csv", "--quiet")
    filled = fill("p.csv", 12, "jsonl")
    refused(f"12|--labelled {filled}", "plan", readings, "-o", filled)
    results = [
        cordial(*fast("calibrate", readings, labels, "-o", out))
        for labels, out in ((filled, "o.csv"), (fill("fewer.csv", 12), "fewer-o.csv"))
    ]
    warned, both = (result.stderr.splitlines(keepends=True) for result in results)
    assert "filled.jsonl: skipped 8 of 20 rows" in warned[0] and warned[1:] == both
    assert read("o.csv") == read("fewer-o.csv")
    again = "plan", readings, "-n", 8, "--labelled", filled, "-o", "rest.csv"
    assert cordial(*again, "--quiet").stderr == warned[0]
    rest, whole = read("rest.csv"), read("p.csv")
    assert rest["item_id"] == whole["item_id"]
    assert rest["label"][:12] == read(filled)["label"][:12] and set(rest["label"][12:]) == {""}
    np.testing.assert_allclose(np.array(rest["probability"], float), 20 / TEXTS)


@pytest.mark.parametrize(
    ("names", "refuses"), [("label_ann,label_bob", True), ("label_note", False), ("p_note", True)]
)
def test_labels_in_columns_of_annotators_are_not_replaced(
    cordial, refused, readings, names, refuses
):
    """Nor is what else people added; notes of `cordial label` alone are no labels."""
    command = "plan", readings, "-n", 4, "-o", "p.csv", "--quiet"
    cordial(*command)
    cells = read("p.csv")
    write_table("p.csv", cells | {name: ["", "2", "3", "1"] for name in names.split(",")})
    if refuses:
        listed = ", ".join(map(repr, names.split(",")))
        refused(f"p.csv|{listed}|different output.", *command)
    else:
        cordial(*command)


def test_labels_of_several_people_stay_theirs(cordial, readings):
    """A further plan begins with the labels of all of them, and is a table of labels itself."""
    people = {"item_id": ["text 0", "text 1", "text 0"], "label": ["1", "2", "3"]}
    write_table("people.csv", people | {"annotator": ["ann", "ann", "bob"]})
    cordial("plan", readings, "-n", 5, "--labelled", "people.csv", "-o", "p.csv")
    with pytest.warns(match="5 of 8 rows"):
        table = read_labels("p.csv", read_readings(readings).scale)
    assert [*zip(table.item_ids, table.labels, table.annotators or (), strict=True)] == [
        ("text 0", 0, "ann"),
        ("text 1", 1, "ann"),
        ("text 0", 2, "bob"),
    ]


def test_labels_keep_their_weights(cordial, readings):
    """The labels of before count as they did, and those that are filled in count once."""
    given = {"item_id": ["text 3", "text 1"], "label": ["2", "1"], "annotator": ["ann", "bob"]}
    write_table("w.csv", given | {"weight": [0.5, 2.0]})
    cordial("plan", readings, "-n", 2, "--labelled", "w.csv", "-o", "p.csv", "--quiet")
    out = read("p.csv")
    assert out["item_id"][:2] == given["item_id"] and out["input_weight"] == ["2"] * 4
    assert [*map(float, out["weight"])] == [0.5, 2.0, 1.0, 1.0]
    # A column of names would lack those of the planned texts.
    assert "annotator" not in out and out["label"] == ["2", "1", "", ""]


def test_labels_are_spread_over_the_values_of_a_column(cordial, as_json, readings):
    cordial("plan", readings, "-n", 4, "-o", "p.csv", "--quiet")
    more = "--by", "system", "--labelled", fill("p.csv", 4), "-n", 8, "-o", "q.csv"
    counted = as_json("plan", readings, *more)
    groups = counted.pop("groups").values()
    assert counted == {"output": "q.csv", "texts": TEXTS, "labelled": 4, "planned": 8}
    assert [sum(group[k] for group in groups) for k in ("labelled", "planned")] == [4, 8]
    assert all(group["labelled"] + group["planned"] == 3 for group in groups)
    result = cordial("plan", readings, "-n", 10, "--by", "system", "-o", "p.csv")
    out = read("p.csv")
    planned = {name: out["system"].count(name) for name in SYSTEMS}
    lines = [line.split() for line in result.stdout.splitlines()]
    assert all([*name.split(), "15", "0", str(n)] in lines for name, n in planned.items())
    assert sorted(planned.values()) == [2, 2, 3, 3]
    assert all(len(set(out["system"][k : k + 4])) == 4 for k in (0, 4))
    probability = [planned[name] / 15 for name in out["system"]]
    np.testing.assert_allclose(np.array(out["probability"], float), probability)


def test_a_plan_by_groups_goes_on_by_these(cordial, refused, readings):
    cordial("plan", readings, "-n", 9, "--by", "SYSTEM", "-o", "p.csv", "--quiet")
    assert set(read("p.csv")["probability_by"]) == {"system"}
    more = "plan", readings, "--labelled", fill("p.csv", 6), "-n", 3, "-o", "q.csv"
    refused("filled.csv|'system'|--by system.", *more)
    cordial(*more, "--by", "system", "--quiet")
    assert read("q.csv")["item_id"] == read("p.csv")["item_id"]


@pytest.mark.parametrize("chances", [[0.5, 0.1], [1, 1]], ids=["unequal", "chosen"])
def test_no_plan_goes_on_from_another_design(cordial, refused, readings, chances):
    """A plan gives all texts the same chance, which is not that of labels drawn otherwise."""
    cells = {"item_id": ["text 0", "text 1"], "label": ["1", "2"]}
    more = "plan", readings, "-n", 3, "--labelled", "own.csv", "-o", "p.csv"
    write_table("own.csv", cells | {"probability": chances})
    refused("own.csv|'probability'|without --labelled", *more)
    write_table("own.csv", cells | {"probability": [0.5, None]})
    refused("own.csv|'probability'|line 3", *more)
    write_table("own.csv", cells | {"probability": [2 / TEXTS] * 2})
    cordial(*more, "--quiet")
    np.testing.assert_allclose(np.array(read("p.csv")["probability"], float), 5 / TEXTS)


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
    command = "plan", table, "-o", "p.csv", "--by", "system", "--quiet", "-n"
    few, fewer, enough = (cordial(*command, number).stderr for number in (12, 1, 7))
    assert "1 of 3" in few and "'small'" in few and few.count("\n") == 1
    assert "2 of 3" in fewer and enough == ""


def test_more_labels_are_forecast(cordial, as_json, readings):
    table, labels = read_readings(readings), read("l.csv")["label"]
    fitted = cp.Cordial(table.scale).fit(table.logits[:LABELLED], labels)
    fitted.save("reader.cordial")
    expected = fitted.forecast(table.logits)
    more = "plan", readings, "--more", "reader.cordial"
    # No file gets it, so it is shown even if quiet.
    assert cordial(*more, "--quiet").stdout.strip() == expected.text
    told = cordial(*more, "--width", 0.1, "-o", "p.csv").stdout
    assert expected.text in told and expected.say_needed(0.1) in told
    assert len(read("p.csv")["item_id"]) == 20
    alone, needed = as_json(*more, "--width", 0.1), expected.needed(0.1)
    assert expected.loss is not None and needed is not None
    assert alone["loss"]["value"] == pytest.approx(expected.loss.value)
    assert alone["needed"]["value"] == needed.value
    assert [step["labels"] for step in alone["steps"]] == list(expected.counts)
    both = as_json(*more, "-o", "p.csv")
    assert both["forecast"]["sentence"] == alone["sentence"] and both["planned"] == 20
    turned = {f"logit_{k}": read(readings)[f"logit_{6 - k}"] for k in range(1, 6)}
    write_table("other.csv", read(readings) | turned)
    assert "warning: other.csv" in cordial("plan", "other.csv", "--more", "reader.cordial").stderr


def test_a_forecast_is_for_the_judge_and_the_texts_of_the_labels(cordial, readings):
    write_table("gpt.csv", read(readings) | {"reader_model": ["gpt"] * TEXTS})
    cordial("fit", "gpt.csv", "l.csv", "-o", "gpt.cordial", "--quiet")
    write_table("qwen.csv", read(readings) | {"reader_model": ["qwen"] * TEXTS})
    more = "--more", "gpt.cordial"
    assert cordial("plan", "gpt.csv", *more).stderr == ""
    assert "'qwen' instead of 'gpt'" in cordial("plan", "qwen.csv", *more).stderr
    renamed = [f"x{item}" for item in read(readings)["item_id"]]
    write_table("others.csv", read("gpt.csv") | {"item_id": renamed})
    told = cordial("plan", "others.csv", *more).stderr
    assert told.startswith("warning: others.csv has none") and "gpt.cordial" in told
