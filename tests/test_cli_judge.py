"""`cordial fit` and `cordial predict`: together they are `cordial calibrate`, and say the same."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cordial_ppl import synthetic
from cordial_ppl.cli.app import app
from cordial_ppl.formats import write_table
from cordial_ppl.formats.files import read_columns

LABELLED = 20
TEXTS = 60


@pytest.fixture
def cordial(tmp_path, monkeypatch):
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if status == 0 and result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result

    return run


def write_tables(folder, ending="csv", **extras):
    """Write readings of some reviews and the labels of the first; return their paths."""
    reviews = synthetic.reviews(TEXTS, seed=3)
    ids = [f"text {i}" for i in range(TEXTS)]
    cells = {f"logit_{o}": reviews.logits[:, k] for k, o in enumerate(reviews.options)}
    labels = [int(reviews.options[z]) for z in reviews.labels[:LABELLED]]
    readings, labelled = folder / f"r.{ending}", folder / f"l.{ending}"
    write_table(readings, {"item_id": ids, **cells, **extras})
    write_table(labelled, {"item_id": ids[:LABELLED], "label": labels})
    return readings, labelled


def read(path):
    columns = read_columns(path)
    return {name: list(cells) for name, cells in columns.cells.items()}


def fast(*arguments):
    return *arguments, "--inference", "mode", "--quiet"


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
