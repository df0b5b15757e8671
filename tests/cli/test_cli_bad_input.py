"""Bad input on the command line: status 2, one line that names the place, and no file left."""

import pytest

from cordial_ppl.errors import InputError
from cordial_ppl.tables import open_readings

IDS = [*(f"text {i}" for i in range(5)), "7"]
READINGS = "item_id,logit_0,logit_1,logit_2,logit_3,logit_4"
LABELS = "item_id,label"
SURE = "0,0,0,1,5"


def lines(header, cells):
    return [header, *(f"{item},{cell}" for item, cell in zip(IDS, cells, strict=False))]


GOOD_READINGS = lines(READINGS, [SURE] * 6)
GOOD_LABELS = lines(LABELS, [0, 1, 2, 3, 4, 4])
TWO = "item_id,logit_1,logit_2"
PROBS = "item_id,p_0,p_1"
WEIGHTS = f"{LABELS},weight"
PEOPLE = f"{LABELS},annotator"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
        return name

    return write


@pytest.fixture
def complain(refused, write):
    """Calibrate readings by labels, one of which is wrong."""

    def run(facts, *more, readings=GOOD_READINGS, labels=GOOD_LABELS, name="r.csv", out="o.csv"):
        files = write(name, readings), write("l.csv", labels)
        refused(facts, "calibrate", *files, "-o", out, *more)

    return run


# What is wrong with a file, its lines, and the facts that are told.
BAD_READINGS = {
    "NaN": (lines(TWO, ["0,0", "0,nan"]), "nan|line 3|'logit_2'"),
    "no reading": (lines(TWO, ["0,0", "-inf,"]), "-inf|line 3"),
    "sums": (lines(PROBS, ["0.5,0.5", "0.7,0.7"]), "1.4|line 3"),
    "negative": (lines(PROBS, ["0.5,0.5", "1.2,-0.2"]), "-0.2|line 3|'p_1'"),
    "left out": (lines(PROBS + ",p_2", ["0.2,0.3,0.5", "0.2,,0.5"]), "0.7|line 3"),
    "no number": (lines(TWO, ["0,0", "0,zero"]), "'logit_2'|'zero'|line 3"),
    "thousands": (lines(TWO, ['0,"1,500"']), "'1,500'|line 2"),
    "twice": ([TWO, "a,1,2", "b,1,2", "a,3,4"], "'a'|lines 2 and 4"),
    "no id": ([TWO, " ,1,2"], "item_id|line 2"),
    "no group": (lines("item_id,score", [1]), "'item_id', 'score'"),
    "two groups": (lines(PROBS + ",n_0,n_1", ["1,0,1,0"]), "'p_0', 'p_1'|'n_0', 'n_1'"),
    "a column twice": (lines(PROBS + ",p_1", ["0.5,0.5,0.5"]), "'p_1'|twice"),
    "one option": (lines("item_id,p_0", ["1"]), "two options|'p_0'"),
    "order": (lines("item_id,p_1,p_3,p_2", ["1,0,0"]), "'p_1', 'p_3', 'p_2'|--options"),
    "short": (lines(READINGS, [SURE, "0,0,1"]), "line 3|4 cells|6"),
    "quotes": ([TWO, 'a,1,"2'], "line 2"),
    "no rows": ([READINGS], "no rows"),
    "a gap": (lines("item_id,p_1,p_2,p_4", ["1,0,0"]), "'p_1', 'p_2', 'p_4'|--options"),
    "readers": (
        lines("item_id,reader,p_0,p_1", ["r1,0.5,0.5", "r2,0.5,0.5"]),
        "'r1', 'r2'|--reader r1.",
    ),
    "tasks": (["item_id,task,p_0,p_1", "a,t1,1,0", "a,t2,1,0"], "'t1', 't2'|--task t1."),
    "ratings": (lines("item_id,rating", [4, 2]), "'2', '4'|--options 1,2,3,4."),
}
BAD_JSON = {
    "lacking": (['{"item_id": 1, "p_0": 0, "p_1": 1}', '{"item_id": 2, "p_0": 0.5}'], "0.5|line 2"),
    "NaN": (['{"item_id": 1, "logit_1": NaN, "logit_2": 0}'], "nan|line 1|'logit_1'"),
    "list": (['{"item_id": 1, "logit_1": [1], "logit_2": 0}'], "[1]|line 1|'logit_1'"),
    "surrogate": (['{"item_id": "\\ud800", "p_0": 1}'], "line 1|surrogates"),
    "not an object": (['{"item_id": 1}', "[1]"], "{...}|line 2"),
    "not JSON": (["item_id,p_0,p_1"], "r.jsonl|line 1|JSON"),
}
BAD_LABELS = {
    "out of range": (lines(LABELS, [0, 7, 1]), "0..4|'7'|line 3"),
    "from one": (lines(LABELS, [1, 2, 5]), "0..4|'5'|line 4|--options 1,2,3,4,5."),
    "words": (lines(LABELS, [0, "good"]), "'good'|line 3"),
    "blank": (lines(LABELS, ["nan", ""]), "'label'|2 rows"),
    "twice": ([LABELS, "text 0,1", "text 1,1", "text 0,2"], "'text 0'|lines 2 and 4"),
    "weights": ([WEIGHTS, "text 0,1,1", "text 1,1,-1"], "'weight'|-1|line 3"),
    "large weights": ([WEIGHTS, "text 0,1,1e9"], "'weight'|10,000|1e+09|line 2"),
    "half points": (lines(LABELS, [1, 2.5]), "1 of 2|2.5|line 3|--round split."),
    "an annotator twice": (
        [PEOPLE, "text 0,1,x", "text 0,2,y", "text 0,3,x"],
        "'x'|'text 0'|lines 2 and 4",
    ),
    "nobody's": (
        [LABELS + ",rater", "text 0,1,x", "text 0,2,y", "text 1,3,x"],
        "lines 2 and 3|--annotator rater.",
    ),
    "two ways": (["item_id,annotator,label_x,label_y", "text 0,z,1,2"], "'label_x', 'label_y'"),
    "another id": (["ItemID,label", "text 0,1"], "'item_id'|--id ItemID."),
    "another name": (
        ["item_id,verdict", "text 0,1"],
        "'label'|'item_id', 'verdict'|--label verdict.",
    ),
    "no column": (lines("item_id,rating", [1]), "'label'|--label rating."),
    "empty": ([], "no rows"),
}


@pytest.mark.parametrize(("content", "facts"), BAD_READINGS.values(), ids=BAD_READINGS)
def test_bad_readings(complain, content, facts):
    """Where a table is read whole, and where it is read in batches."""
    complain(f"r.csv|{facts}", readings=content)
    with pytest.raises(InputError) as raised:
        open_readings("r.csv").check()
    assert all(fact in str(raised.value) for fact in facts.split("|") if fact[:2] != "--")


CASES = [
    {"readings": lines, "name": "r.jsonl", "facts": f"r.jsonl|{f}"}
    for lines, f in BAD_JSON.values()
]
CASES += [{"labels": lines, "facts": f"l.csv|{f}"} for lines, f in BAD_LABELS.values()]


@pytest.mark.parametrize("case", CASES, ids=[*BAD_JSON, *BAD_LABELS])
def test_bad_json_lines_and_labels(complain, case):
    complain(**case)


def test_labels_of_other_texts(complain):
    others = [LABELS, "text 0,1", *(f"{c},2" for c in "abcdefg")]
    complain("7 of 8|'a' (line 3)|'e' (line 7)", labels=others)
    complain("'7.0' (line 2)|'text 0', 'text 1'", labels=[LABELS, "7.0,1"])


def test_options_that_do_not_fit(complain):
    complain("'1', '2', '3'|'logit_0'", "--options", "1,2,3")
    complain("'0'|twice", "--options", "0,0,1")
    complain("empty", "--options", "0,1,,3,4")
    complain("empty", readings=lines("item_id,logit_1,logit_", ["1,2"]))
    complain("commas", "--options", '"0,1')
    complain("'reader'", "--reader", "gpt")
    complain("'task'", "--task", "fluency")
    ratings = lines("item_id,rating", [0, 1, 2])
    advice = "l.csv|'3'|line 3|--options 1,2,3."
    complain(advice, "--options", "0,1,2", readings=ratings, labels=lines(LABELS, [1, 3]))
    complain("r.csv|1..3|'0'", "--options", "1,2,3", readings=ratings)


@pytest.mark.parametrize(
    "out",
    ["none/o.csv", "folder.csv", "o.txt", "o", "r.csv", "l.csv", "r.csv/o.csv", f"{'o' * 300}.csv"],
)
def test_outputs_that_cannot_be_written(complain, tmp_path, out):
    (tmp_path / "folder.csv").mkdir()
    complain(out, out=out)


@pytest.mark.parametrize("missing", ["r.csv", "l.csv"])
def test_files_that_are_not_there(refused, write, missing):
    (there,) = {"r.csv", "l.csv"} - {missing}
    write(there, GOOD_READINGS if there == "r.csv" else GOOD_LABELS)
    # What cannot be written is told before anything is read.
    for out, named in (("none/o.csv", "none/o.csv"), ("o.csv", missing)):
        refused(named, "calibrate", "r.csv", "l.csv", "-o", out)
