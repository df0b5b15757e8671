"""`cordial estimate` and `cordial compare`: the commands say what Python finds."""

from functools import partial
from pathlib import Path

import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import read_labelled, write_table

PROMPTS = [f"prompt {row // 3}" for row in range(TEXTS)]
SYSTEMS = [f"system {'abc'[row % 3]}" for row in range(TEXTS)]
BY = "--by", "system"
night = partial(pytest.param, marks=pytest.mark.nightly)


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path, system=SYSTEMS, constant=["x"] * TEXTS)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What Python finds: of all texts, and of three systems."""
    table, found, _ = read_labelled(*write_tables(tmp_path_factory.mktemp("estimate")))
    rows = list(range(LABELLED))
    fitted = cp.Cordial(table.scale).fit(table.logits[rows], table.scale.decode(found.labels))
    return fitted.estimate(table.logits, rows), fitted.estimate(table.logits, rows, groups=SYSTEMS)


def test_groups_are_ranked_with_differences(cordial, as_json, tables, expected):
    """The same in words, as JSON, in a table and in a picture."""
    made = expected[1]
    shown = cordial("compare", *tables, *BY, "-o", "e.csv", "--figure", "e.svg")
    assert made.ranked_text("system") in shown.stdout
    assert "e.csv" in shown.stderr and "e.svg" in shown.stderr
    printed = as_json("compare", *tables, *BY)
    assert [row["group"] for row in printed["populations"]] == ["all", *made.ranking]
    for row, found in zip(printed["populations"], made.rows, strict=True):
        for name, cell in found.items():
            near = isinstance(cell, float)
            assert row[name] == (pytest.approx(cell, rel=1e-4) if near else cell)
    assert printed["best"] == pytest.approx(made.best)
    assert printed["differences"]["pairs"] == 3 and printed["level"] == 0.9
    assert printed["biases"] == [] and printed["verdict"]["labels"] == LABELLED
    cells, first = read("e.csv"), made.ranking[0]
    assert cells["system"] == ["all", *made.ranking]
    assert cells["to_best"][0] == "" and float(cells["to_best"][1]) == 0
    assert float(cells["p_best"][1]) == made.best[first]
    assert float(cells["mean_low"][1]) == pytest.approx(made.groups[first].mean.lower, rel=1e-4)
    shares = [sum(float(cells[f"share_{k}"][row]) for k in range(1, 6)) for row in range(4)]
    assert shares == pytest.approx([1] * 4)
    # With the options that pass, the judge's rates are in the table too.
    cordial("estimate", *tables, *BY, "--pass", "4,5", "-o", "p.csv", "--quiet")
    cells = read("p.csv")
    assert 0 <= float(cells["tpr_low"][0]) < float(cells["tpr"][0]) <= 1
    assert cells["tnr_high"][0] and not any(cells["tnr_high"][1:])
    # What no file gets is the result; a note, such as the verdict, it is not.
    quiet = cordial("compare", *tables, *BY, "--quiet")
    assert quiet.stdout.rstrip() == made.ranked_text("system").rstrip()
    assert cordial("compare", *tables, *BY, "-q", "-o", "e.csv").stdout == ""
    # Groups that are not ranked have the same means, and so has the whole.
    assert expected[0].text("group") in cordial("estimate", *tables, "--seed", 0).stdout
    assert made.text("system") in cordial("estimate", *tables, *BY).stdout


@pytest.mark.parametrize("number", [1, 9])
def test_labels_of_one_option_rank_nothing(refused, cordial, tables, number):
    rows = "".join(f"text {row},3\n" for row in range(number))
    tables[1].write_text(f"item_id,label\n{rows}")
    refused("l.csv|'3'|`cordial plan --by system`", "compare", *tables, *BY)
    shown = cordial("estimate", *tables).stdout
    assert ("too few labels, or all identical" in shown) == (number == 1)


def test_a_plan_says_how_texts_were_chosen(cordial, as_json, tables):
    readings, labels = tables
    cordial("plan", readings, "-n", 20, *BY, "-o", "p.csv", "--quiet")
    truth = dict(zip(read(labels)["item_id"], read(labels)["label"], strict=True))
    cells = read("p.csv")
    cells["label"] = [truth.get(item, "3") for item in cells["item_id"]]
    write_table("p.csv", cells)
    design = "stratum", "probability", "probability_by"
    plain = {name: column for name, column in cells.items() if name not in design}
    # Equal probabilities say no more than none.
    write_table("q.csv", plain | {"probability": [0.5] * 20})
    designed, random = (as_json("estimate", readings, name) for name in ("p.csv", "q.csv"))
    # The plan's probabilities, 6 or 7 of 20, hardly change what the posterior says: by .000, sd
    # .003 over 9 draws of reviews.
    (one,), (other,) = designed["populations"], random["populations"]
    assert one["mean"] == pytest.approx(other["mean"], abs=0.03) and one["mean"] != other["mean"]
    assert designed["rectified"] != random["rectified"] and random["design"] is None


def test_a_plan_by_groups_may_be_left_early(cordial, as_json, tmp_path):
    """All texts of the small system are planned: its probability would be 1 whoever stops when."""
    systems = ["small" if row < 8 else "large" for row in range(TEXTS)]
    topics = ["xy"[row % 2] for row in range(TEXTS)]
    readings, labels = write_tables(tmp_path, system=systems, topic=topics)

    def estimate(number):
        cordial("plan", readings, "-n", number, *BY, "-o", "p.csv", "--quiet")
        cells = read("p.csv")
        cells["label"] = [1 if name == "small" else 5 for name in cells["system"]][:10]
        write_table("q.csv", {name: cells[name][:10] for name in cells})
        return as_json("estimate", readings, "q.csv")

    whole, early = estimate(10), estimate(30)
    assert early == whole and read("p.csv")["probability"][:2] != read("q.csv")["probability"][1:3]
    assert "system" in early["design"]
    # All texts are the sum of the plan's groups, whichever are asked for.
    for column in ("system", "topic"):
        grouped = as_json("estimate", readings, "q.csv", "--by", column)["populations"]
        assert grouped[0]["mean"] == pytest.approx(early["populations"][0]["mean"], abs=0.1)
        assert len(grouped) > 1


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        night({"mean >= 1": "yes", "pass > .1": "yes"}, 0),
        ({"mean >= 1": "yes", "system a - system b > 3": "no", "mean > MEAN": "cannot say"}, 3),
        night({"mean >= 1": "yes", "mean > MEAN": "cannot say"}, 4),
    ],
)
def test_a_requirement_is_an_exit_status(cordial, as_json, tables, expected, answers, status):
    mean = f"{expected[0].overall.mean.mean:.3f}"
    answers = {text.replace("MEAN", mean): answer for text, answer in answers.items()}
    required = [word for text in answers for word in ("--require", text)]
    command = "compare", *tables, *BY, "--pass", "3,4,5", *required
    lines = cordial(*command, status=status).stdout.splitlines()
    assert all(any(f"{k}: {v}" in line for line in lines) for k, v in answers.items())
    printed = as_json(*command, status=status)
    made = {each["requirement"]: each["answer"] for each in printed["requirements"]}
    assert made == answers and printed["passing"]["options"] == ["3", "4", "5"]


def test_columns_that_make_texts_alike(cordial, tmp_path):
    """Twelve texts a conversation: all labels are of five of 12 of them."""
    talks = [f"talk {row // 5}" for row in range(TEXTS)]
    days = [f"day {max(row // 4, 4)}" for row in range(TEXTS)]
    others = {"copy": talks, "day": days, "system": SYSTEMS, "prompt": PROMPTS}
    tables = write_tables(tmp_path, "csv", talk=talks, **others)
    plain = cordial("estimate", *tables).stderr
    assert "4 of 12" in plain and "'talk'" in plain and "--cluster talk" in plain
    result = cordial("estimate", *tables, "--cluster", "talk", "--of", "these")
    assert "4 clusters" in result.stdout and "these texts" in result.stdout
    assert "1 of 11" in result.stderr and "'day'" in result.stderr
    assert "4 clusters" in result.stderr and "--cluster copy" not in result.stderr
    paired = cordial("compare", *tables, *BY, "--pair", "prompt")
    assert "7 clusters" in paired.stdout


def test_groups_that_are_rated_otherwise_are_told_once(cordial, tmp_path):
    number = [row % 2 for row in range(TEXTS)]
    systems = [("ash", "elm")[one] for one in number]
    readings, labels = write_tables(tmp_path, number=number, system=systems)
    rated = [2 + 2 * one for one in number[:40]]
    write_table(labels, {"item_id": [f"text {row}" for row in range(40)], "label": rated})
    result = cordial("calibrate", readings, labels, "-o", "o.csv", "--inference", "mode")
    (told,) = (line for line in result.stderr.splitlines() if line.startswith("warning: "))
    assert told.startswith("warning: system ")
    # An estimate by another name of these groups accounts for them.
    assert "warning: " not in cordial("estimate", readings, labels, "--by", "number").stderr


def test_texts_without_a_reading_stay(cordial, as_json, tables):
    """Every third text is unread: each command keeps it, and says what it knows of it."""
    readings, labels = map(Path, tables)
    cells, known = read(readings), read(labels)
    options = [name for name in cells if name.startswith("logit_")]
    unread = [row for row in range(TEXTS) if row % 3 == 0]
    for name in options:
        cells[name] = ["" if row % 3 == 0 else cell for row, cell in enumerate(cells[name])]
    cells["unread"] = ["refused" if row % 6 == 0 else "" for row in range(TEXTS)]
    write_table(readings, cells)
    shown = cordial("estimate", readings, labels, "--require", "mean >= 1")
    assert f"{len(unread)} of {TEXTS} texts" in shown.stderr
    found = as_json("estimate", readings, labels)
    some = sum(cells["item_id"].index(item) in unread for item in known["item_id"])
    assert found["unread"] == {"texts": len(unread), "labels": some}
    assert found["populations"][0]["texts"] == TEXTS
    assert found["populations"][0]["unread"] == len(unread)
    cordial("calibrate", readings, labels, "-o", "o.csv")
    made = read("o.csv")
    assert made["item_id"] == cells["item_id"]
    for row, reason in enumerate(made["unread"]):
        assert reason == ("" if row % 3 else "refused" if row % 6 == 0 else "no reading")
    assert len({made["mean"][row] for row in unread}) == 1
    cordial("plan", readings, "-n", 12, "-o", "plan.csv")
    planned = [cells["item_id"].index(item) in unread for item in read("plan.csv")["item_id"]]
    assert sum(planned) == 4
    # Without a label of such a text nothing is known of them.
    read_rows = [i for i, item in enumerate(known["item_id"]) if cells["item_id"].index(item) % 3]
    write_table(labels, {name: [column[i] for i in read_rows] for name, column in known.items()})
    shown = cordial("estimate", readings, labels, "--require", "mean >= 1", status=4)
    assert f"{len(unread)} of {TEXTS}" in shown.stdout.splitlines()[0]


def test_a_group_called_all_is_told_from_all_texts(cordial, as_json, tmp_path):
    """The row of all texts has another name then, in the table and for programs."""
    readings, labels = write_tables(tmp_path, system=["all", "b", "c"] * (TEXTS // 3))
    arguments = "estimate", readings, labels, "--by", "system", "--inference", "laplace"
    cordial(*arguments, "-o", "o.csv")
    assert sorted(read("o.csv")["system"]) == ["(all)", "all", "b", "c"]
    found = {row["group"]: row["texts"] for row in as_json(*arguments)["populations"]}
    assert found == {"(all)": TEXTS, "all": TEXTS // 3, "b": TEXTS // 3, "c": TEXTS // 3}


@pytest.mark.parametrize(
    ("column", "cells", "warned"),
    [
        ("probability", [1 / 3] * LABELLED, False),
        # Some were three times as likely: they stand for 60 texts all the same.
        night("probability", [1 / 2, 1 / 4] * (LABELLED // 2), False),
        # Each one's share of the labels, or counts of another corpus.
        ("probability", [1 / LABELLED] * LABELLED, True),
        night("probability", [0.9, 0.8] * (LABELLED // 2), True),
        night("probability", [0.001, 0.002] * (LABELLED // 2), True),
        ("weight", [3, 0.5] * (LABELLED // 2), False),
        ("weight", [50] * LABELLED, True),
        night("weight", [1] * (LABELLED - 1) + [4], True),
    ],
)
def test_weights_that_cannot_be_what_they_are_taken_for(cordial, tmp_path, column, cells, warned):
    """Chances of a label whose inverse sums are far from the texts, rows that count as many."""
    readings, labels = write_tables(tmp_path)
    write_table(labels, {**read(labels), column: cells})
    arguments = "estimate", readings, labels, "--inference", "laplace", "--quiet"
    assert (f"column '{column}'" in cordial(*arguments).stderr) == warned


def test_an_open_question_names_the_labels_that_decide(cordial, as_json, tables):
    """The same number in words and in JSON, beside a status of 4; none where it is decided."""
    readings, labels = tables
    these = "--of", "these"
    (whole,) = as_json("estimate", *tables, *these)["populations"]
    near = f"mean >= {whole['mean'] + 0.8 * (whole['mean_high'] - whole['mean'])}"
    far = "mean >= 1.01"
    made = as_json("estimate", *tables, *these, "--require", near, "--require", far, status=4)
    opened, decided = made["requirements"]
    assert decided["needed"] is None and opened["needed"]["value"] > LABELLED
    assert opened["needed"]["low"] <= opened["needed"]["value"]
    number = f"about {opened['needed']['value']:.0f} labels in total ("
    for more in ((), ("--format", "markdown")):
        shown = cordial("estimate", *tables, *these, "--require", near, *more, status=4).stdout
        assert number in shown and "would settle this question" in shown
    ranked = as_json("compare", *tables, *BY)
    shown = cordial("compare", *tables, *BY).stdout
    assert ("would" in shown) == (ranked["differences"]["needed"] is not None)


def test_markdown_is_a_block_in_which_names_mean_nothing(cordial, tmp_path):
    """Fences, mentions and elements in names stay text; warnings are part of it."""
    names = ["```\n# big", "@team <b>", "c"]
    tables = write_tables(tmp_path, system=[names[row % 3] for row in range(TEXTS)])
    shown = cordial(
        "compare", *tables, *BY, "--format", "markdown", "--require", "c >= 5", status=3
    )
    head, empty, fence, *lines, last = shown.stdout.rstrip("\n").splitlines()
    assert head == "### cordial compare: no" and empty == "" and fence == "````text"
    assert last == "````" and not any(line.startswith(last) for line in lines)
    assert any("@team <b>" in line for line in lines)
    assert cordial("demo", "--inference", "mode", "--format", "markdown").stdout.count("```") == 2
