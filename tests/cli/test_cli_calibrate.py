"""`cordial calibrate`, and `fit` and `predict`, which together are the same."""

from hashlib import sha256

import numpy as np
import polars as pl
import pytest
from review_tables import LABELLED, TEXTS, fast, read, read_probabilities, write_tables

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.tables import read_readings, write_table
from cordial_ppl.tables.provenance import digest


def test_the_calibrated_table(cordial, as_json, tmp_path):
    notes = [f"note {i}, with a comma" for i in range(TEXTS)]
    files = write_tables(tmp_path, "csv", note=notes, mean=["mine"] * TEXTS)
    command = fast("calibrate", *files, "-o", "o.csv")
    result, warned = cordial(*command), as_json(*command)["summary"]["warnings"]
    assert result.stdout == "" and len(warned) == 1
    assert result.stderr.splitlines() == [f"warning: {each}" for each in warned]
    out = read("o.csv")
    probs = [f"p_{k}" for k in range(1, 6)]
    assert list(out) == [
        "item_id", *probs, "mean", "mean_low", "mean_high", "label", "label_low", "label_high",
        "note", "input_mean",
    ]  # fmt: skip
    assert out["item_id"] == [f"text {i}" for i in range(TEXTS)]
    assert out["note"] == notes
    assert set(out["input_mean"]) == {"mine"}
    p = read_probabilities("o.csv")
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    mean = np.array(out["mean"], float)
    np.testing.assert_allclose(mean, p @ np.arange(1, 6))
    low, high = np.array(out["mean_low"], float), np.array(out["mean_high"], float)
    assert (low >= 1).all() and (low <= high).all() and (high <= 5).all()
    assert out["label"] == [str(k + 1) for k in p.argmax(axis=1)]
    first, last = (np.array(out[name], int) - 1 for name in ("label_low", "label_high"))
    inside = (first[:, None] <= np.arange(5)) & (np.arange(5) <= last[:, None])
    assert (np.where(inside, p, 0).sum(axis=1) >= 0.9 - 1e-9).all() and not inside.all()
    assert read_readings("o.csv").kind == "p"


@pytest.mark.parametrize(
    "name, kept", [("rating", "input_rating"), ("score", "score"), ("mean", "input_mean")]
)
def test_ratings_stay_beside_predictions(cordial, tmp_path, name, kept):
    cells = read(write_tables(tmp_path)[0])
    ratings = [str(1 + row % 5) for row in range(TEXTS)]
    write_table("hard.csv", {"item_id": cells["item_id"], name: ratings})
    named = "--rating", name, "--options", "1,2,3,4,5"
    cordial(*fast("calibrate", "hard.csv", "l.csv", *named, "-o", "o.csv"))
    out = read("o.csv")
    assert out[kept] == ratings and len(out) == 13
    assert read_readings("o.csv", rating=kept, options=[*"12345"]).kind == "rating"
    assert read_readings("o.csv").kind == "p"
    cordial("plan", "hard.csv", *named, "-o", "plan.csv", "--quiet")
    assert not {name, kept} & {*read("plan.csv")}


def test_one_table_may_hold_the_labels(cordial, as_json, tmp_path):
    users = [f"user {row % 2}" for row in range(TEXTS)]
    files = write_tables(tmp_path, user=users)
    cells, rated = read(files[0]), read(files[1])["label"]
    write_table("both.csv", cells | {"label": rated + [""] * (TEXTS - LABELLED)})
    assert len(as_json(*fast("shift", "both.csv", "-o", "shifts.csv"))["shifts"]) == 2
    cordial(*fast("calibrate", "both.csv", "-o", "alone.csv"))
    cordial(*fast("calibrate", *files, "-o", "apart.csv"))
    alone, apart = map(read_probabilities, ("alone.csv", "apart.csv"))
    np.testing.assert_array_equal(alone, apart)


@pytest.mark.parametrize(
    "ending", ["csv", "parquet", pytest.param("jsonl", marks=pytest.mark.nightly)]
)
def test_fit_and_predict_are_calibrate(cordial, as_json, tmp_path, ending):
    files = write_tables(tmp_path, ending)
    more = ["--seed", 5] if ending == "csv" else ["--seed", 5, "--inference", "mode"]
    whole, halves = (tmp_path / f"{name}.{ending}" for name in ("whole", "halves"))
    made, fitted, predicted = (
        as_json(*command)
        for command in (
            ("calibrate", *files, "-o", whole, *more),
            ("fit", *files, "-o", "judge.cordial", *more),
            ("predict", "judge.cordial", files[0], "-o", halves),
        )
    )
    assert halves.read_bytes() == whole.read_bytes()
    assert (made["output"], made["texts"], made["labels"]) == (str(whole), TEXTS, LABELLED)
    assert fitted["summary"] == made["summary"] and made["summary"]["sentences"]
    assert predicted.pop("drift")["p"] == 1
    assert predicted == {"output": str(halves), "texts": TEXTS, "options": [*"12345"]} | {
        "differences": []
    }
    # In words, and with the posteriors for who asks.
    brief, long = (
        cordial("calibrate", *files, "-o", whole, *more, *verbose)
        for verbose in ((), ("--verbose",))
    )
    assert str(whole) in brief.stderr and str(TEXTS) in brief.stderr
    assert all(name in brief.stdout for name in made["summary"]["weights"])
    added = long.stdout.removeprefix(brief.stdout.rstrip())
    assert added != long.stdout and all(name in added for name in made["summary"]["diagnostics"])


MADE = {"reader": "j", "reader_model": "a", "reader_prompt": "x", "reader_date": "2026-05-01"}


def write_made(folder, **made):
    """Write tables with columns that say how the readings were made."""
    return write_tables(folder, "csv", **{name: [cell] * TEXTS for name, cell in made.items()})


@pytest.fixture
def judged(as_json, tmp_path):
    """A calibrator of readings that say how they were made."""
    files = write_made(tmp_path, **MADE)
    return as_json("fit", *files, "-o", "judge.cordial", "--inference", "mode")


def test_a_calibrator_knows_what_it_is_for(judged, cordial, as_json, tmp_path):
    assert judged["provenance"] == {
        "direction": ["as stated"],
        "judge": ["j"],
        "model": ["a"],
        "prompt": ["x"],
        "date": ["2026-05-01"],
        "labels": ["unknown"],
    }
    assert cp.load("judge.cordial").fit_.provenance == judged["provenance"]

    def predict(**made):
        readings, _ = write_made(tmp_path, **made)
        told = cordial("predict", "judge.cordial", readings, "-o", "o.csv").stderr
        printed = as_json("predict", "judge.cordial", readings, "-o", "o.csv")
        assert bool(printed["differences"]) == ("warning" in told)
        return told

    told = predict(**MADE | {"reader_model": "b"})
    assert "model 'b'" in told and "'a'" in told and "'x'" not in told
    told = predict(**MADE | {"reader": "k", "reader_prompt": "y"})
    assert "judge 'k'" in told and "'j'" in told and "prompt 'y'" in told and "model '" not in told
    later = MADE | {"reader_date": "2026-09-09"}
    assert "warning" not in predict(**later) + predict(reader_model="a") + predict()


def test_monitor_and_report_say_what_differs(judged, as_json, cordial, tmp_path, undrawn):
    readings, labels = write_made(tmp_path, **MADE)
    readings.rename(tmp_path / "old.csv")
    readings, _ = write_made(tmp_path, **MADE | {"reader_model": "b"})
    looks = "monitor", "judge.cordial", "old.csv", readings
    assert as_json(*looks)["differences"] == [[], ["model 'b' instead of 'a'"]]
    assert "model 'b'" in cordial(*looks).stderr
    told = cordial("report", "judge.cordial", readings, labels, "-o", "o.html").stderr
    assert "model 'b'" in told


def test_decisions_about_readings_of_another_model_are_warned_of(cordial, tmp_path):
    models = ["a"] * 40 + ["b"] * 20
    files = write_tables(tmp_path, reader_model=models)
    told = cordial("decide", *files, "--pass", "4,5", "--person", 0.2).stderr
    assert "model 'b' instead of 'a'" in told


def test_labels_of_a_model_are_said_to_be_that(as_json, cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    kinds = ["LLM", "HUMAN"] * (LABELLED // 2)
    pl.read_csv(labels).with_columns(annotator_kind=pl.Series(kinds)).write_csv("k.csv")
    fit = "fit", readings, "k.csv", "-o", "judge.cordial", "--inference", "mode"
    assert as_json(*fit)["provenance"]["labels"] == ["LLM", "people"]
    assert "10 of 20 labels come from a model or code ('LLM')" in cordial(*fit).stderr


def test_a_requirement_is_of_a_judge_and_a_prompt(cordial, refused, tmp_path):
    rubric, prompt = tmp_path / "rubric.md", tmp_path / "prompt.txt"
    rubric.write_text("One star is bad.\n")
    prompt.write_text("Rate {text} with one of {options}.\n")
    asked = Prompt(Scale(tuple("12345")), prompt.read_text(), 5).digest
    require = "--require", "mean >= 1", "--inference", "laplace", "--quiet"

    def estimate(*stated, **made):
        return "estimate", *write_made(tmp_path, **made), *require, *stated

    told = {"reader_model": "gpt-4o", "reader_prompt": asked}
    cordial(*estimate("--judge", "gpt-4o", "--prompt-file", prompt, **told))
    cordial(*estimate("--prompt-file", rubric, reader_prompt=digest("One star is bad.")))
    for written in ("One star\nis bad. ", sha256(rubric.read_bytes()).hexdigest()):
        cordial(*estimate("--prompt-file", rubric, reader_prompt=written))
    refused("'gpt-4o'|'gpt-5'", *estimate("--judge", "gpt-5", **told))
    refused(f"{asked}|rubric.md", *estimate("--prompt-file", rubric, **told))
    refused("reader_prompt", *estimate("--prompt-file", prompt, reader_model="gpt-4o"))
    refused("'reader'", *estimate("--judge", "gpt-4o"))
    refused("none.md", *estimate("--prompt-file", "none.md", **told))


def test_what_tables_do_not_say_a_user_may(as_json, tmp_path):
    (tmp_path / "rubric.md").write_text("One star is bad.")
    stated = "--judge", "gpt-4o", "--prompt-file", "rubric.md"
    fit = "fit", *write_tables(tmp_path), "-o", "judge.cordial", "--inference", "mode"
    made = as_json(*fit, *stated)["provenance"]
    assert made.pop("direction") == ["as stated"]
    assert made == {
        "judge": ["gpt-4o"],
        "prompt": [digest("One star is bad.")],
        "labels": ["unknown"],
    }
    readings, _ = write_made(tmp_path, reader="gpt-5")
    predicted = as_json("predict", "judge.cordial", readings, "-o", "o.csv")
    assert predicted["differences"] == ["judge 'gpt-5' instead of 'gpt-4o'"]
    assert b"One star" not in (tmp_path / "judge.cordial").read_bytes()


def test_ratings_by_others_are_no_groups(as_json, text):
    """Texts of two systems that differ, which the readings do not show, and what others rated."""
    rows = [(i, 1 + 2 * (i % 2) + i // 2 % 3 % 2) for i in range(60)]
    cells = [f"t{i},.2,.2,.2,.2,.2,{'ab'[i % 2]},{z},{z if i else ''}" for i, z in rows]
    text("r.csv", "item_id,p_1,p_2,p_3,p_4,p_5,system,claude,bard", *cells)
    text("l.csv", "item_id,label", *(f"t{i},{z}" for i, z in rows))
    found = as_json(*fast("calibrate", "r.csv", "l.csv", "-o", "o.csv"))["biases"]
    assert {bias["column"] for bias in found} == {"system"}
