"""`cordial estimate` and `cordial compare`: the commands say what Python finds."""

import json

import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

import cordial_ppl as cp
from cordial_ppl.decisions import answers
from cordial_ppl.tables import read_labelled, write_table

PROMPTS = [f"prompt {row // 3}" for row in range(TEXTS)]
SYSTEMS = [f"system {'abc'[row % 3]}" for row in range(TEXTS)]


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path, system=SYSTEMS, constant=["x"] * TEXTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    table, found, _ = read_labelled(*write_tables(tmp_path_factory.mktemp("estimate")))
    rows = list(range(LABELLED))
    fitted = cp.Cordial(table.scale).fit(table.logits[rows], table.scale.decode(found.labels))
    return fitted, fitted.estimate(table.logits, rows, SYSTEMS)


def test_the_mean_of_all_texts(cordial, tables, made):
    result = cordial("estimate", *tables, "--seed", 0)
    table = read_labelled(*tables)[0]
    fitted, expected = made[0], made[0].estimate(table.logits, range(LABELLED))
    first, mean, *_ = result.stdout.splitlines()
    assert first == "20 of 60 texts are labelled; intervals of 90 % for texts like these"
    assert mean.startswith(f"  mean {expected.overall.mean.mean:.2f} (")
    assert "from sampling alone" in mean
    assert result.stdout.rstrip().endswith(str(answers.verdict(fitted.fit_)))


def test_groups_in_a_table_and_a_picture(cordial, tables, made):
    result = cordial("estimate", *tables, "--by", "system", "-o", "e.csv", "--figure", "e.svg")
    _, expected = made
    assert expected.text("system") in result.stdout
    assert "wrote e.csv" in result.stderr and "wrote e.svg" in result.stderr
    cells = read("e.csv")
    assert cells["system"] == ["all", *expected.ranking]
    assert cells["to_best"][0] == "" and float(cells["to_best"][1]) == 0
    assert float(cells["p_best"][1]) == expected.best[expected.ranking[0]]
    lowest = expected.groups[expected.ranking[0]].mean.lower
    assert float(cells["mean_low"][1]) == pytest.approx(lowest, rel=1e-12)
    assert [sum(float(cells[f"share_{k}"][row]) for k in range(1, 6)) for row in range(4)] == (
        pytest.approx([1] * 4)
    )


def test_groups_are_ranked_with_differences(cordial, tables, made):
    result = cordial("compare", *tables, "--by", "system")
    assert made[1].ranked_text("system") in result.stdout
    whole = made[1].text("system").splitlines()[1:3]
    assert result.stdout.splitlines()[1:3] == whole and "of just these texts:" in whole[1]
    assert "of 3 differences are resolved at 90 %" in result.stdout
    # What no file gets is the result; a note, such as the verdict, it is not.
    quiet = cordial("compare", *tables, "--by", "system", "--quiet")
    assert quiet.stdout.rstrip() == made[1].ranked_text("system").rstrip()
    assert cordial("compare", *tables, "--by", "system", "-q", "-o", "e.csv").stdout == ""


@pytest.mark.parametrize("number", [1, 9])
def test_labels_of_one_option_rank_nothing(cordial, tables, number):
    rows = "".join(f"text {row},3\n" for row in range(number))
    tables[1].write_text(f"item_id,label\n{rows}")
    told = cordial("compare", *tables, "--by", "system", status=2).stderr
    assert "every label is '3'" in told and "`cordial plan --by system` chooses them" in told
    shown = cordial("estimate", *tables).stdout
    assert ("(too few labels for an interval)" in shown) == (number == 1)


def test_everything_as_json(cordial, tables, made):
    printed = json.loads(cordial("compare", *tables, "--by", "system", "--json").stdout)
    _, expected = made
    assert [row["group"] for row in printed["populations"]] == ["all", *expected.ranking]
    for row, found in zip(printed["populations"], expected.rows, strict=True):
        assert row == pytest.approx(found)
    assert printed["best"] == pytest.approx(expected.best)
    assert printed["differences"]["pairs"] == 3 and printed["level"] == 0.9
    assert printed["biases"] == [] and printed["verdict"]["labels"] == LABELLED


def test_a_plan_says_how_texts_were_chosen(cordial, tables):
    readings, labels = tables
    cordial("plan", readings, "-n", 20, "--by", "system", "-o", "p.csv", "--quiet")
    text = readings.parent.joinpath("p.csv").read_text().splitlines()
    truth = dict(zip(read(labels)["item_id"], read(labels)["label"], strict=True))
    lines = [line + truth.get(line.split(",")[0], "3") for line in text[1:]]
    readings.parent.joinpath("p.csv").write_text("\n".join([text[0], *lines]))
    designed = json.loads(cordial("estimate", readings, "p.csv", "--json").stdout)
    plain = "\n".join(line.rsplit(",", 3)[0] + "," + line[-1] for line in lines)
    readings.parent.joinpath("q.csv").write_text(
        ",".join(text[0].split(",")[:-3]) + ",label\n" + plain
    )
    random = json.loads(cordial("estimate", readings, "q.csv", "--json").stdout)
    # The plan's probabilities, 6 or 7 of 20, hardly change what the posterior says: by .000, sd
    # .003 over 9 draws of reviews.
    (one,), (other,) = designed["populations"], random["populations"]
    assert one["mean"] == pytest.approx(other["mean"], abs=0.03) and one["mean"] != other["mean"]
    assert designed["rectified"] != random["rectified"]


def test_a_plan_by_groups_may_be_left_early(cordial, tmp_path):
    """All texts of the small system are planned: its probability would be 1 whoever stops when."""
    systems = ["small" if row < 8 else "large" for row in range(TEXTS)]
    topics = ["xy"[row % 2] for row in range(TEXTS)]
    readings, labels = write_tables(tmp_path, system=systems, topic=topics)

    def estimate(number, rows):
        cordial("plan", readings, "-n", number, "--by", "system", "-o", "p.csv", "--quiet")
        cells = read("p.csv")
        cells["label"] = [1 if name == "small" else 5 for name in cells["system"]][:rows]
        write_table("q.csv", {name: cells[name][:rows] for name in cells})
        return cordial("estimate", readings, "q.csv").stdout

    whole, early = estimate(10, 10), estimate(30, 10)
    assert early == whole and read("p.csv")["probability"][:2] != read("q.csv")["probability"][1:3]
    assert "weighed by how much of each system is labelled: q.csv is of a plan by system" in early
    grouped = cordial("estimate", readings, "q.csv", "--by", "system").stdout
    assert grouped.splitlines()[:4] == early.splitlines()[:4] and "small" not in early
    # All texts are the sum of the plan's groups, whichever are asked for.
    other = cordial("estimate", readings, "q.csv", "--by", "topic").stdout
    assert other.splitlines()[:4] == early.splitlines()[:4] and "topic" in other


def test_probabilities_that_weigh_labels_are_told(cordial, tables):
    readings, labels = tables
    chances = {"probability": [0.2 + 0.03 * row for row in range(LABELLED)]}
    write_table(readings.parent / "w.csv", read(labels) | chances)
    shown = cordial("estimate", readings, "w.csv", "--quiet").stdout
    assert "weighed by 1 / column 'probability' of w.csv, the chance that each was" in shown
    write_table(readings.parent / "w.csv", read(labels) | {"probability": [0.5] * LABELLED})
    assert "weighed" not in cordial("estimate", readings, "w.csv", "--quiet").stdout


def test_rates_of_the_judge_are_in_the_table_too(cordial, tables):
    cordial("estimate", *tables, "--by", "system", "--pass", "4,5", "-o", "e.csv", "--quiet")
    cells = read("e.csv")
    assert 0 <= float(cells["tpr_low"][0]) < float(cells["tpr"][0]) <= 1
    assert cells["tnr_high"][0] and not any(cells["tnr_high"][1:])


@pytest.mark.parametrize(
    ("texts", "status"),
    [
        (["mean >= 1"], 0),
        (["mean >= 1", "system a - system b > 3"], 3),
        (["mean >= 1", "pass >= .5", "system a - system b > 0"], 4),
    ],
)
def test_a_requirement_is_an_exit_status(cordial, tables, texts, status):
    # Systems a and b have the same readings and labels, so that nothing is resolved by luck.
    for path in tables:
        cells = read(path)
        same = {
            name: [column[row - (row % 3 == 1)] for row in range(len(column))]
            for name, column in cells.items()
        }
        write_table(path, cells | {n: same[n] for n in cells if n not in ("item_id", "system")})
    required = [word for text in texts for word in ("--require", text)]
    result = cordial(
        "compare", *tables, "--by", "system", "--pass", "3,4,5", *required, status=status
    )
    lines = [line for line in result.stdout.splitlines() if line.startswith(tuple(texts))]
    assert len(lines) == len(texts) and lines[0].startswith("mean >= 1: yes (")
    assert lines[-1].split(": ")[1].split(" (")[0] == {0: "yes", 3: "no", 4: "cannot say"}[status]
    same = cordial(
        *("compare", *tables, "--by", "system", "--pass", "3,4,5", "--json", *required),
        status=status,
    )
    printed = json.loads(same.stdout)
    assert [each["requirement"] for each in printed["requirements"]] == texts
    assert printed["passing"]["options"] == ["3", "4", "5"]


def test_columns_that_make_texts_alike(cordial, tmp_path):
    """Twelve texts a conversation: all labels are of five of 12 of them."""
    talks = [f"talk {row // 5}" for row in range(TEXTS)]
    days = [f"day {max(row // 4, 4)}" for row in range(TEXTS)]
    readings, labels = write_tables(
        tmp_path, talk=talks, copy=talks, day=days, system=SYSTEMS, prompt=PROMPTS
    )
    plain = cordial("estimate", readings, labels)
    assert "are of 4 of 12 values of 'talk'" in plain.stderr and "--cluster talk" in plain.stderr
    result = cordial("estimate", readings, labels, "--cluster", "talk", "--of", "these")
    assert "20 of 60 texts, in 4 clusters, are labelled" in result.stdout
    assert "for these texts" in result.stdout and "--cluster copy" not in result.stderr
    assert "1 of 11 values of 'day'" in result.stderr
    assert "without --cluster day in place of --cluster talk." in result.stderr
    assert "labels of 4 clusters say little of others" in result.stderr
    paired = cordial("compare", readings, labels, "--by", "system", "--pair", "prompt")
    assert "in 7 clusters" in paired.stdout
    both = "--cluster", "talk", "--pair", "prompt"
    told = cordial("estimate", readings, labels, "--by", "system", *both, status=2).stderr
    assert "clusters and pairs cannot be given together" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimate", "r.csv", "l.csv", "--require", "mean"], "a requirement must be a quantity"),
        (["estimate", "r.csv", "l.csv", "--require", "pass > 0"], "needs the options that pass"),
        (["estimate", "r.csv", "l.csv", "--pass", "9"], "the options that pass must be some of"),
        (["estimate", "r.csv", "l.csv", "--cluster", "talk"], "the column: --cluster COLUMN."),
        (["compare", "r.csv", "l.csv", "--by", "system", "--pair", "prompt"], "--pair COLUMN."),
        (
            ["compare", "r.csv", "l.csv", "--by", "system", "--cluster", "System"],
            "--by and --cluster must name different columns; both name 'System'. Leave out",
        ),
        (["estimate", "r.csv", "l.csv", "--of", "x"], "--of"),
        (["estimate", "r.csv", "l.csv", "--by", "nothing"], "r.csv has no column 'nothing'"),
        (["estimate", "r.csv", "l.csv", "--figure", "x.svg"], "--figure draws groups: name a"),
        (["estimate", "r.csv", "l.csv", "--by", "system", "--figure", "x.gif"], "must end in"),
        (["estimate", "r.csv", "l.csv", "--level", 2], "level must lie between 0 and 1"),
        (["compare", "r.csv", "l.csv", "--by", "constant"], "r.csv has one constant alone, 'x'"),
        (["compare", "r.csv", "l.csv"], "--by"),
        (
            ["compare", "r.csv", "l.csv", "--by", "system", "--inference", "mode"],
            "Take draws of the posterior: --inference default.",
        ),
        (["compare", "r.csv", "odd.csv", "--by", "system"], "found 2 in line 2"),
        (["plan", "r.csv"], "name the table to write, -o to-label.csv"),
        (["plan", "r.csv", "-o", "p.csv", "--width", 1], "--width must be a positive number"),
    ],
)
def test_what_cannot_be_estimated_is_told(cordial, tables, arguments, message):
    odd = read(tables[1]) | {"probability": [2.0] + [0.5] * (LABELLED - 1)}
    write_table(tables[0].parent / "odd.csv", odd)
    result = cordial(*arguments, status=2)
    assert message in result.stderr and "Traceback" not in result.stderr
    assert not (tables[0].parent / "x.svg").exists()


def test_groups_that_are_rated_otherwise_are_told_once(cordial, tmp_path):
    number = [row % 2 for row in range(TEXTS)]
    systems = [("ash", "elm")[one] for one in number]
    readings, labels = write_tables(tmp_path, number=number, system=systems)
    rated = [2 + 2 * one for one in number[:40]]
    write_table(labels, {"item_id": [f"text {row}" for row in range(40)], "label": rated})
    result = cordial("calibrate", readings, labels, "-o", "o.csv", "--inference", "mode")
    told = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(told) == 1 and told[0].startswith("warning: system ") and "is rated" in told[0]
    assert "is rated" not in result.stdout
    result = cordial("estimate", readings, labels, "--by", "number")
    assert "is rated" not in result.stderr
