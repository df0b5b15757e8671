"""Bad input on the command line: status 2, one line that names the place, and no file left."""

import re

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


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
        return name

    return write


@pytest.fixture
def complain(cordial, write, tmp_path):
    """Run a command on readings and labels; hold what it says to one line that has a message."""

    def run(message, *more, readings=GOOD_READINGS, labels=GOOD_LABELS, name="r.csv", out="o.csv"):
        files = write(name, readings), write("l.csv", labels)
        before = [path.name for path in tmp_path.iterdir()]
        result = cordial("calibrate", *files, "-o", out, *more, status=2)
        assert_one_message(result, tmp_path, before, message)

    return run


def assert_one_message(result, folder, files, message):
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("cordial ")
    assert re.search(message, result.stderr), result.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)


# What is wrong with a file, its lines, and what is said of it.
BAD_READINGS = {
    "NaN": (lines(TWO, ["0,0", "0,nan"]), "r.csv.*nan in line 3, column 'logit_2'"),
    "no reading": (lines(TWO, ["0,0", "-inf,"]), "r.csv.*every option is -inf or empty in line 3"),
    "sums": (lines(PROBS, ["0.5,0.5", "0.7,0.7"]), "r.csv.*sum to 1.4 in line 3"),
    "negative": (lines(PROBS, ["0.5,0.5", "1.2,-0.2"]), "r.csv.*-0.2 in line 3, column 'p_1'"),
    "left out": (lines(PROBS + ",p_2", ["0.2,0.3,0.5", "0.2,,0.5"]), "they sum to 0.7 in line 3"),
    "no number": (lines(TWO, ["0,0", "0,zero"]), "r.csv.*'logit_2'.*'zero' in line 3"),
    "thousands": (lines(TWO, ['0,"1,500"']), "r.csv.*'1,500' in line 2. Write a point .* nothing"),
    "twice": ([TWO, "a,1,2", "b,1,2", "a,3,4"], "r.csv.*unique; 'a' is in lines 2 and 4"),
    "no id": ([TWO, " ,1,2"], "r.csv: every row needs an item_id; there is none in line 2"),
    "no group": (lines("item_id,score", [1]), "r.csv.*one group of columns.*'item_id', 'score'"),
    "two groups": (
        lines(PROBS + ",n_0,n_1", ["1,0,1,0"]),
        "'p_0', 'p_1' and 'n_0', 'n_1'.*all but",
    ),
    "a column twice": (lines(PROBS + ",p_1", ["0.5,0.5,0.5"]), "r.csv: column 'p_1' occurs twice"),
    "no name": (lines("item_id,logit_1,logit_", ["1,2"]), "empty name"),
    "one option": (lines("item_id,p_0", ["1"]), "at least two options, .*; found 'p_0'"),
    "order": (lines("item_id,p_1,p_3,p_2", ["1,0,0"]), "'p_1', 'p_3', 'p_2' .* --options 1,2,3.$"),
    "short": (lines(READINGS, [SURE, "0,0,1"]), "line 3 has 4 cells, the header has 6"),
    "quotes": ([TWO, 'a,1,"2'], "r.csv is not a CSV table: .*, line 2"),
    "no rows": ([READINGS], "r.csv holds no rows"),
    "a gap": (
        lines("item_id,p_1,p_2,p_4", ["1,0,0"]),
        "'p_1', 'p_2', 'p_4' leave out '3'. .*: --options 1,2,3,4.$",
    ),
    "readers": (
        lines("item_id,reader,p_0,p_1", ["r1,0.5,0.5", "r2,0.5,0.5"]),
        "r.csv holds 2 readers: 'r1', 'r2'. Choose one, for example: --reader r1.$",
    ),
    "tasks": (
        ["item_id,task,p_0,p_1", "a,t1,0.5,0.5", "a,t2,0.5,0.5"],
        "r.csv holds 2 tasks: 't1', 't2'. Choose one, for example: --task t1.$",
    ),
    "ratings": (lines("item_id,rating", [4, 2]), "found '2', '4'. Name .*: --options 1,2,3,4.$"),
}

BAD_JSON = {
    "lacking": (
        ['{"item_id": 1, "p_0": 0, "p_1": 1}', '{"item_id": 2, "p_0": 0.5}'],
        "they sum to 0.5 in line 2",
    ),
    "NaN": (['{"item_id": 1, "logit_1": NaN, "logit_2": 0}'], "nan in line 1, column 'logit_1'"),
    "list": (['{"item_id": 1, "logit_1": [1], "logit_2": 0}'], r"'logit_1'.*found \[1\] in line 1"),
    "surrogate": (['{"item_id": "\\ud800", "p_0": 1}'], "line 1 is not valid JSON: .*surrogates"),
    "not an object": (['{"item_id": 1}', "[1]"], "must be one object, {...}; line 2 is not"),
    "not JSON": (["item_id,p_0,p_1"], "r.jsonl: line 1 is not valid JSON"),
}

BAD_LABELS = {
    "out of range": (lines(LABELS, [0, 7, 1]), "l.csv.*0..4; found '7' in line 3"),
    "from one": (
        lines(LABELS, [1, 2, 5]),
        "l.csv.*0..4; found '5' in line 4. If your scale starts at 1, .* --options 1,2,3,4,5.$",
    ),
    "words": (lines(LABELS, [0, "good"]), "l.csv.*found 'good' in line 3"),
    "blank": (lines(LABELS, ["nan", ""]), "l.csv has no label: column 'label' .* all 2 rows"),
    "twice": ([LABELS, "text 0,1", "text 1,1", "text 0,2"], "l.csv.*'text 0' is in lines 2 and 4"),
    "unknown": (
        [LABELS, "text 0,1", *(f"{c},2" for c in "abcdefg")],
        r"7 of 8 labels.*'a' \(line 3\).*'e' \(line 7\) and 2 more. .* or remove these labels",
    ),
    "decimals": (
        [LABELS, "7.0,1"],
        "'7.0' .line 2.. The readings have items such as 'text 0', 'text 1' and 4 more: use the",
    ),
    "weights": (
        [LABELS + ",weight", "text 0,1,1", "text 1,1,-1"],
        "l.csv: column 'weight' must be from 0 to.*found -1 in line 3",
    ),
    "large weights": (
        [LABELS + ",weight", "text 0,1,1e9"],
        "'weight' must be from 0 to 10,000.*found 1e.09 in line 2. Divide all weights by one num",
    ),
    "half points": (
        lines(LABELS, [1, 2.5]),
        "l.csv: .* 1 of 2 lie between options, such as 2.5 in line 3. .*: --round split.$",
    ),
    "an annotator twice": (
        [LABELS + ",annotator", "text 0,1,x", "text 0,2,y", "text 0,3,x"],
        "l.csv: an annotator labels a text once; 'x' labels 'text 0' in lines 2 and 4",
    ),
    "nobody's": (
        [LABELS + ",rater", "text 0,1,x", "text 0,2,y", "text 1,3,x"],
        "l.csv: each item_id must be unique; .* lines 2 and 3. .*: --annotator rater.$",
    ),
    "two ways": (
        ["item_id,annotator,label_x,label_y", "text 0,z,1,2"],
        "l.csv: labels are in columns of annotators, 'label_x', 'label_y', or .* found both",
    ),
    "another id": (["ItemID,label", "text 0,1"], "l.csv has no column 'item_id'.*: --id ItemID.$"),
    "another name": (
        ["item_id,verdict", "text 0,1"],
        "l.csv has no column 'label'; found 'item_id', 'verdict'. .*: --label verdict.$",
    ),
    "no column": (lines("item_id,rating", [1]), "l.csv has no column 'label'.* --label rating.$"),
    "empty": ([], "l.csv holds no rows"),
}


@pytest.mark.parametrize(("content", "message"), BAD_READINGS.values(), ids=BAD_READINGS)
def test_bad_readings(complain, content, message):
    """Where a table is read whole, and where it is read in batches."""
    complain(message, readings=content)
    with pytest.raises(InputError, match=re.sub(" --options.*| --(reader|task) .*", "", message)):
        open_readings("r.csv").check()


CASES = [{"readings": lines, "name": "r.jsonl", "message": m} for lines, m in BAD_JSON.values()]
CASES += [{"labels": lines, "message": message} for lines, message in BAD_LABELS.values()]


@pytest.mark.parametrize("case", CASES, ids=[*BAD_JSON, *BAD_LABELS])
def test_bad_json_lines_and_labels(complain, case):
    complain(**case)


def test_options_that_do_not_fit(complain):
    complain("'1', '2', '3', the columns.*: --options 0,1,2,3,4.$", "--options", "1,2,3")
    complain("must be distinct; '0' occurs twice", "--options", "0,0,1")
    complain("empty name", "--options", "0,1,,3,4")
    complain("names with commas between", "--options", '"0,1')
    complain("no column 'reader'", "--reader", "gpt")
    complain("no column 'task'", "--task", "fluency")
    message = "If your scale starts at 1, name the options: --options 1,2,3.$"
    ratings = lines("item_id,rating", [0, 1, 2])
    complain(message, "--options", "0,1,2", readings=ratings, labels=lines(LABELS, [1, 3]))
    complain("r.csv: ratings must be .* 1..3; found '0'", "--options", "1,2,3", readings=ratings)


@pytest.mark.parametrize(
    "out",
    ["none/o.csv", "folder.csv", "o.txt", "o", "r.csv", "l.csv", "r.csv/o.csv", f"{'o' * 300}.csv"],
)
def test_outputs_that_cannot_be_written(complain, tmp_path, out):
    (tmp_path / "folder.csv").mkdir()
    complain(re.escape(out), out=out)
    assert (tmp_path / "r.csv").read_text().splitlines() == GOOD_READINGS


@pytest.mark.parametrize("missing", ["r.csv", "l.csv"])
def test_files_that_are_not_there(cordial, write, tmp_path, missing):
    (there,) = {"r.csv", "l.csv"} - {missing}
    write(there, GOOD_READINGS if there == "r.csv" else GOOD_LABELS)
    for out, message in (("none/o.csv", "cannot write none/o.csv"), ("o.csv", "cannot read")):
        result = cordial("calibrate", "r.csv", "l.csv", "-o", out, status=2)
        assert_one_message(result, tmp_path, [there], message)
