"""`cordial fit` and `cordial predict`: together they are `cordial calibrate`, and say the same."""

import json
from pathlib import Path

import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.tables import write_table


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_fit_and_predict_are_calibrate(cordial, tmp_path, ending):
    files = write_tables(tmp_path, ending)
    more = [] if ending == "csv" else ["--inference", "mode"]
    cordial("calibrate", *files, "-o", f"whole.{ending}", "--seed", 5, *more)
    cordial("fit", *files, "-o", "judge.cordial", "--seed", 5, *more)
    cordial("predict", "judge.cordial", files[0], "-o", f"halves.{ending}")
    assert Path(f"halves.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_a_judge_reads_columns_of_other_names(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("fit", readings, labels, "-o", "judge.cordial"))
    cells = read(readings)
    write_table("letters.csv", dict(zip(["item_id", *(f"logit_{c}" for c in "abcde")],
                                        cells.values(), strict=True)))  # fmt: skip
    wrong = cordial("predict", "judge.cordial", "letters.csv", "-o", "o.csv", status=2)
    assert "must name the columns of letters.csv" in wrong.stderr
    few = cordial(
        "predict", "judge.cordial", "letters.csv", "-o", "o.csv", "--options", "a,b", status=2
    )
    assert "2 options, but judge.cordial was fitted on 5" in few.stderr
    assert not Path("o.csv").exists()
    cordial("predict", "judge.cordial", "letters.csv", "-o", "o.csv", "--options", "a,b,c,d,e")
    cordial("predict", "judge.cordial", readings, "-o", "own.csv")
    assert Path("o.csv").read_bytes() == Path("own.csv").read_bytes()


def test_the_summary_is_said_and_the_file_is_named(cordial, tmp_path):
    files = write_tables(tmp_path)
    result = cordial("calibrate", *files, "-o", "o.csv")
    assert "temperature" in result.stdout
    assert "Expected log loss" in result.stdout
    assert result.stderr.startswith("wrote o.csv: 60 texts")
    fitted = cordial("fit", *files, "-o", "judge.cordial")
    assert fitted.stdout == result.stdout


def test_json_and_nothing_else(cordial, tmp_path):
    files = write_tables(tmp_path)
    arguments = ["--inference", "mode", "--json"]
    found = json.loads(cordial("calibrate", *files, "-o", "o.csv", *arguments).stdout)
    assert (found["output"], found["texts"], found["labels"]) == ("o.csv", TEXTS, LABELLED)
    assert found["summary"]["sentences"]
    fitted = json.loads(cordial("fit", *files, "-o", "j.cordial", *arguments).stdout)
    assert fitted["summary"] == found["summary"]
    done = cordial("predict", "j.cordial", files[0], "-o", "o.csv", "--json").stdout
    assert json.loads(done) == {"output": "o.csv", "texts": 60, "options": list("12345")}


def test_readings_of_another_model_are_pointed_out(cordial, tmp_path):
    known, labels = write_tables(tmp_path, reader_model=["a"] * TEXTS, reader_prompt=["x"] * TEXTS)
    cordial(*fast("fit", known, labels, "-o", "judge.cordial"))
    predict = "predict", "judge.cordial", known, "-o", "o.csv"
    assert "another kind" not in cordial(*predict).stderr
    other, _ = write_tables(tmp_path, reader_model=["b"] * TEXTS, reader_prompt=["x"] * TEXTS)
    said = cordial(*predict[:2], other, *predict[3:]).stderr
    assert "model 'b' where the calibrator knows 'a'" in said
    assert "prompt 'x'" not in said
    assert Path("o.csv").exists()
    plain, _ = write_tables(tmp_path)
    assert "another kind" not in cordial(*predict[:2], plain, *predict[3:]).stderr
