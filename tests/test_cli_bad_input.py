"""Bad input on the command line: status 2, one line that names the place, and no file left."""

import re
from functools import partial

import pytest

from cordial_ppl import storage
from cordial_ppl.cli import fitting
from cordial_ppl.tables import write_table

IDS = [*(f"text {i}" for i in range(5)), "7"]
READINGS = "item_id,logit_0,logit_1,logit_2,logit_3,logit_4"
LABELS = "item_id,label"
SURE = "0,0,0,1,5"


def lines(header, cells):
    return [header, *(f"{item},{cell}" for item, cell in zip(IDS, cells, strict=False))]


GOOD_READINGS = lines(READINGS, [SURE] * 6)
GOOD_LABELS = lines(LABELS, [0, 1, 2, 3, 4, 4])


@pytest.fixture
def cordial(cordial, monkeypatch):
    """Run the program on bad input; nothing may be fitted."""

    def fit(*arguments, **options):
        raise AssertionError("bad input went as far as the fit")

    monkeypatch.setattr(fitting, "fit_judge", fit)
    return partial(cordial, status=2)


@pytest.fixture
def text(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
        return name

    return write


def assert_one_message(result, folder, files, message):
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert re.search(message, result.stderr), result.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)


def readings_with(cells, header=READINGS):
    return lines(header, [*cells, *[SURE] * 6][:6])


BAD_READINGS = {
    "NaN": (readings_with([SURE, "0,nan,0,0,0"]), "r.csv.*nan in line 3, column 'logit_1'"),
    "infinite": (readings_with(["0,0,0,0,inf"]), "r.csv.*inf in line 2, column 'logit_4'"),
    "no reading": (
        readings_with([SURE, SURE, "-inf,-inf,-inf,-inf,-inf"]),
        "r.csv.*every option is -inf or empty in line 4",
    ),
    "not summing to one": (
        lines("item_id,p_0,p_1", ["0.5,0.5", "0.7,0.7"]),
        "r.csv.*sum to 1.4 in line 3",
    ),
    "negative": (
        lines("item_id,p_0,p_1", ["0.5,0.5", "1.2,-0.2"]),
        "r.csv.*-0.2 in line 3, column 'p_1'",
    ),
    "no number": (readings_with(["0,0,zero,0,0"]), "r.csv.*logit_2.*'zero' in line 2"),
    "twice": (
        [READINGS, f"a,{SURE}", f"b,{SURE}", f"a,{SURE}"],
        "r.csv.*'a' is in lines 2 and 4",
    ),
    "no group": (lines("item_id,score", [1, 2]), "r.csv.*one group of columns.*'score'"),
    "two groups": (
        lines("item_id,p_0,p_1,n_0,n_1", ["0.5,0.5,1,1"]),
        "r.csv.*'p_0', 'p_1' and 'n_0', 'n_1'",
    ),
    "a doubled column": (
        lines("item_id,p_0,p_1,p_1", ["0.5,0.5,0.5"]),
        "r.csv.*'p_1' occurs twice",
    ),
    "a single option": (lines("item_id,p_0", ["1"]), "at least two options"),
    "mixed K": (readings_with([SURE, "0,0,1"]), "r.csv.*line 3 has 4 cells, the header has 6"),
    "no ids": (lines("id,p_0,p_1", ["0.5,0.5"]), "r.csv has no column 'item_id'"),
    "no rows": ([READINGS], "r.csv holds no rows"),
    "empty": ([], "r.csv is empty"),
    "JSON Lines": (['{"item_id": 1, "p_0": 1, "p_1": 0}'], "r.csv is not what its ending says"),
    "semicolons": ([line.replace(",", ";") for line in GOOD_READINGS], "r.csv.*commas"),
    "several readers": (
        lines("item_id,reader,p_0,p_1", ["r1,0.5,0.5", "r2,0.5,0.5"]),
        "r.csv holds 2 readers: 'r1', 'r2'. Choose one, for example: --reader r1.$",
    ),
    "several tasks": (
        lines("item_id,task,p_0,p_1", ["t1,0.5,0.5", "t2,0.5,0.5"]),
        "r.csv holds 2 tasks: 't1', 't2'. Choose one, for example: --task t1.$",
    ),
    "hard ratings without options": (
        lines("item_id,rating", [1, 2]),
        "r.csv.*Name the options in order, for example: --options 1,2,3.$",
    ),
    "an empty rating": (lines("item_id,rating", [1, ""]), "r.csv.*Name the options"),
    "an empty row": (
        readings_with([SURE, ",,,,"]),
        "r.csv.*every option is -inf or empty in line 3",
    ),
    "an empty probability": (
        lines("item_id,p_0,p_1,p_2", ["0.2,0.3,0.5", "0.2,,0.5"]),
        "r.csv: line 3 has no value in column 'p_1', and the other probabilities sum to 0.7, not",
    ),
}

BAD_LABELS = {
    "out of range": (lines(LABELS, [0, 7, 1]), "l.csv.*0..4; found '7' in line 3"),
    "from one": (
        lines(LABELS, [1, 2, 5]),
        "l.csv.*0..4; found '5' in line 4. If your scale starts at 1, name the columns of the "
        "readings logit_1 to logit_5.$",
    ),
    "below": (lines(LABELS, [-1, 2]), "l.csv.*found '-1' in line 2"),
    "words": (lines(LABELS, [0, "good"]), "l.csv.*found 'good' in line 3"),
    "fractional": (lines(LABELS, [0, 2, 2.5]), "l.csv.*found '2.5' in line 4"),
    "NaN": (lines(LABELS, ["nan", 2]), "l.csv: line 2 has no value in column 'label'.*remove"),
    "missing": (lines(LABELS, [1, ""]), "l.csv: line 3 has no value in column 'label'.*remove"),
    "blank": (lines(LABELS, [1, "  "]), "l.csv: line 3 has no value in column 'label'.*remove"),
    "infinite": (lines(LABELS, ["inf"]), "l.csv.*found 'inf' in line 2"),
    "twice": ([LABELS, "text 0,1", "text 1,1", "text 0,2"], "l.csv.*'text 0' is in lines 2 and 4"),
    "unknown": ([LABELS, "text 0,1", "text 9,1"], r"1 of 2 labels.*'text 9' \(line 3\)"),
    "a number": (
        ["item_id,label", "07,1"],
        "'07' .line 2.. The readings write '07' as '7': write both alike.$",
    ),
    "none": ([LABELS], "l.csv holds no rows"),
    "no column": (lines("item_id,rating", [1]), "l.csv has no column 'label'"),
    "empty": ([], "l.csv is empty"),
}


@pytest.mark.parametrize("command", ["calibrate", "fit"])
@pytest.mark.parametrize("name", BAD_READINGS)
def test_bad_readings(cordial, text, tmp_path, name, command):
    content, message = BAD_READINGS[name]
    files = text("r.csv", content), text("l.csv", GOOD_LABELS)
    out = "o.csv" if command == "calibrate" else "o.cordial"
    assert_one_message(cordial(command, *files, "-o", out), tmp_path, files, message)


@pytest.mark.parametrize("command", ["calibrate", "fit"])
@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels(cordial, text, tmp_path, name, command):
    content, message = BAD_LABELS[name]
    files = text("r.csv", GOOD_READINGS), text("l.csv", content)
    out = "o.csv" if command == "calibrate" else "o.cordial"
    assert_one_message(cordial(command, *files, "-o", out), tmp_path, files, message)


def test_mixed_sizes_in_json_lines(cordial, text, tmp_path):
    rows = ['{"item_id": 1, "p_0": 0.5, "p_1": 0.5}', '{"item_id": 2, "p_0": 1.0}']
    files = text("r.jsonl", rows), text("l.csv", GOOD_LABELS)
    message = "r.jsonl.*'p_1' is missing in line 2"
    assert_one_message(cordial("calibrate", *files, "-o", "o.csv"), tmp_path, files, message)


@pytest.mark.parametrize("name", ["r.parquet", "r.jsonl"])
def test_tables_that_are_not_what_their_ending_says(cordial, text, tmp_path, name):
    files = text(name, GOOD_READINGS), text("l.csv", GOOD_LABELS)
    result = cordial("calibrate", *files, "-o", "o.csv")
    assert_one_message(result, tmp_path, files, f"{name}.* not ")
    assert ".." not in result.stderr


def test_options_that_do_not_fit(cordial, text, tmp_path):
    files = text("r.csv", GOOD_READINGS), text("l.csv", GOOD_LABELS)

    def complain(message, *more):
        result = cordial("calibrate", *files, "-o", "o.csv", *more)
        assert_one_message(result, tmp_path, files, message)

    complain("must name the columns of r.csv.*'1', '2', '3'", "--options", "1,2,3")
    complain("must be distinct; '0' occurs twice", "--options", "0,0,1")
    complain("empty name", "--options", "0,1,,3,4")
    complain("names with commas between", "--options", '"0,1')
    complain("no column 'reader'", "--reader", "gpt")
    complain("no column 'task'", "--task", "fluency")


@pytest.mark.parametrize(
    "out",
    ["none/o.csv", "folder.csv", "o.txt", "o", "r.csv", "l.csv", "r.csv/o.csv", f"{'o' * 300}.csv"],
)
def test_outputs_that_cannot_be_written(cordial, text, tmp_path, out):
    files = text("r.csv", GOOD_READINGS), text("l.csv", GOOD_LABELS)
    (tmp_path / "folder.csv").mkdir()
    before = [(tmp_path / name).read_text() for name in files]
    result = cordial("calibrate", *files, "-o", out)
    assert_one_message(result, tmp_path, [*files, "folder.csv"], re.escape(out))
    assert [(tmp_path / name).read_text() for name in files] == before


def test_a_judge_has_an_ending_of_its_own(cordial, text, tmp_path):
    files = text("r.csv", GOOD_READINGS), text("l.csv", GOOD_LABELS)
    result = cordial("fit", *files, "-o", "judge.csv")
    assert_one_message(result, tmp_path, files, "judge.csv.*must end in .cordial.$")


def test_a_gap_between_the_options_is_named(cordial, text, tmp_path):
    header = "item_id,logit_1,logit_2,logit_4"
    files = text("r.csv", lines(header, ["0,1,2"] * 6)), text("l.csv", lines(LABELS, [1, 2, 3]))
    result = cordial("calibrate", *files, "-o", "o.csv")
    message = "found '3' in line 4. The options have a gap at 3: is an option missing there"
    assert_one_message(result, tmp_path, files, message)


def test_options_that_start_at_one_are_named_where_ratings_are_read(cordial, text, tmp_path):
    files = text("r.csv", lines("item_id,rating", [0, 1, 2])), text("l.csv", lines(LABELS, [1, 3]))
    result = cordial("calibrate", *files, "-o", "o.csv", "--options", "0,1,2")
    message = "If your scale starts at 1, name the options: --options 1,2,3.$"
    assert_one_message(result, tmp_path, files, message)


def test_the_output_is_looked_at_before_the_work(cordial, tmp_path):
    result = cordial("calibrate", "r.csv", "l.csv", "-o", "none/o.csv")
    assert_one_message(result, tmp_path, [], "cannot write none/o.csv")


@pytest.mark.parametrize("missing", ["r.csv", "l.csv"])
def test_files_that_are_not_there(cordial, text, tmp_path, missing):
    files = {"r.csv": GOOD_READINGS, "l.csv": GOOD_LABELS}
    del files[missing]
    for name, content in files.items():
        text(name, content)
    result = cordial("calibrate", "r.csv", "l.csv", "-o", "o.csv")
    assert_one_message(result, tmp_path, files, f"cannot read {missing}: No such file")


def test_files_that_are_no_judge(cordial, text, tmp_path):
    readings = text("r.csv", GOOD_READINGS)
    storage.write(tmp_path / "prior.cordial", "prior", {}, {"x": [1.0]})
    whole = (tmp_path / "prior.cordial").read_bytes()
    (tmp_path / "half.cordial").write_bytes(whole[: len(whole) // 2])
    files = ["r.csv", "prior.cordial", "half.cordial"]

    def complain(judge, message):
        result = cordial("predict", judge, readings, "-o", "o.csv")
        assert_one_message(result, tmp_path, files, message)

    complain("none.cordial", "cannot read none.cordial: No such file")
    complain("prior.cordial", "prior.cordial holds a 'prior'")
    complain("half.cordial", "half.cordial is damaged")
    complain("r.csv", "r.csv was not saved by cordial")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "r.csv", "l.csv"], "-o"),
        (["calibrate", "r.csv", "-o", "o.csv"], "LABELS"),
        (["calibrate", "r.csv", "l.csv", "-o", "o.csv", "--oops"], "--oops"),
        (["calibrate", "r.csv", "l.csv", "-o", "o.csv", "--inference", "magic"], "magic"),
        (["calibrate", "r.csv", "l.csv", "-o", "o.csv", "--seed", "-1"], "--seed"),
        (["calibrate", "r.csv", "l.csv", "-o", "o.csv", "--seed", "one"], "--seed"),
        (["guess"], "guess"),
    ],
)
def test_wrong_usage(cordial, tmp_path, arguments, message):
    result = cordial(*arguments)
    assert result.stdout == ""
    assert result.stderr.count("Error:") == 1
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_good_input_goes_as_far_as_the_fit(cordial, text):
    files = text("r.csv", GOOD_READINGS), text("l.csv", GOOD_LABELS)
    result = cordial("calibrate", *files, "-o", "o.csv", status=1)
    assert isinstance(result.exception, AssertionError)


def test_parquet_counts_rows_from_zero(cordial, tmp_path):
    cells = {"item_id": IDS[:2], "p_0": [0.5, 0.2], "p_1": [0.5, 0.2]}
    write_table(tmp_path / "r.parquet", cells)
    write_table(tmp_path / "l.parquet", {"item_id": IDS[:1], "label": [1]})
    files = ["r.parquet", "l.parquet"]
    result = cordial("calibrate", *files, "-o", "o.csv")
    assert_one_message(result, tmp_path, files, "r.parquet.*sum to 0.4 in row 1")
