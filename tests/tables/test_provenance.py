"""What tables say of how readings and labels were made, and what is certain of it."""

import warnings

import numpy as np
import polars as pl
import pytest

import cordial_ppl as cp
from cordial_ppl.tables import (
    LabelledReadings,
    match_labels,
    read_labelled,
    read_labels,
    read_readings,
    read_several,
)
from cordial_ppl.tables.provenance import (
    PEOPLE,
    UNKNOWN,
    differences,
    digest,
    identify,
    read_makers,
    read_provenance,
)

ITEMS = [f"t{row}" for row in range(4)]


@pytest.fixture
def readings(tmp_path):
    def make(name="r.csv", **columns):
        cells = {"item_id": ITEMS, "p_1": [0.2, 0.4, 0.6, 0.8], "p_2": [0.8, 0.6, 0.4, 0.2]}
        pl.DataFrame(cells).with_columns(**columns).write_csv(tmp_path / name)
        return tmp_path / name

    return make


@pytest.fixture
def labels(tmp_path):
    def make(**columns):
        cells = {"item_id": ITEMS, "label": [2, 2, 1, 1]}
        pl.DataFrame(cells).with_columns(**columns).write_csv(tmp_path / "l.csv")
        return tmp_path / "l.csv"

    return make


def each(*values):
    return pl.Series(values)


def test_a_table_says_its_judge_its_making_and_its_days(readings):
    made = {"model": each("m", "m", "n", ""), "date": each("2026-05-02", "", "2026-05-01", "")}
    prompt = "Rate the text below, from 1 to 2, as a strict reader of newspapers would: {text}"
    told = {f"reader_{name}": cells for name, cells in made.items()}
    table = read_readings(readings(**told, reader=pl.lit("j"), reader_prompt=pl.lit(prompt)))
    found = read_provenance(table)
    assert found == {
        "direction": ["as stated"],
        "judge": ["j"],
        "model": ["m", "n"],
        "prompt": [digest(prompt)],
        "date": ["2026-05-01", "2026-05-02"],
    }
    assert read_provenance(table, np.array([1, 1]))["model"] == ["m"]
    silent = {"direction": ["as stated"]}
    assert read_provenance(read_readings(readings())) == silent
    turned = read_provenance(read_readings(readings(), reverse=True))
    assert differences(silent, turned) == ["direction 'reversed' instead of 'as stated'"]
    # No file is to hold the text of a prompt, but may its name.
    names = ["v2-strict", "Be  strict.\n", "Be strict.", "a" * 65]
    told = read_provenance(read_readings(readings(reader_prompt=each(*names))))["prompt"]
    assert {*told} == {"v2-strict", digest("Be strict."), digest("a" * 65)}
    # A column that is named for something else says nothing of the judge.
    apart = read_readings(readings(reader=each(*"abab")), apart=("reader",))
    assert read_provenance(apart) == silent


def test_several_judges_are_made_in_several_ways(readings):
    paths = [
        readings(f"{name}.csv", reader=pl.lit(name), reader_model=pl.lit(f"m-{name}"))
        for name in "ab"
    ]
    found = read_provenance(read_several(paths))
    assert (found["judge"], found["model"]) == (["a", "b"], ["m-a", "m-b"])
    alone = read_provenance(read_several(paths[:1], reverse=True))
    assert alone == {"judge": ["a"], "model": ["m-a"], "direction": ["reversed"]}


def test_only_what_both_know_differs():
    fitted = {"judge": ["a"], "model": ["m"], "date": ["2026-01-01"], "labels": ["people"]}
    assert differences(fitted, {}) == differences({}, fitted) == []
    new = {"judge": ["a", "b"], "model": ["m"], "date": ["2026-09-09"], "prompt": ["x"]}
    (phrase,) = differences(fitted, new)
    assert "judge 'b'" in phrase and "'a'" in phrase
    # `cordial ask` calls a judge like its model, unless it is told a name.
    asked = [{name: [model] for name in ("judge", "model")} for model in ("m1", "m2")]
    assert differences(*asked) == ["model 'm2' instead of 'm1'"]


MODELS = (
    *("gpt-4o", "GPT4", "chatgpt", "openai/gpt-5-mini", "weighted_alpaca_eval_gpt4_turbo"),
    *("claude-3-5-sonnet-20241022", "Claude 3.5 Sonnet", "claude-opus-4", "gemini-2.5-pro"),
    *("meta-llama/Llama-3.1-8B-Instruct", "qwen2.5:7b", "mistral-large-2411", "deepseek-v3"),
    *("LLM", "llm-judge", "judge_llm"),
)
PERSONS = (
    *("Anna", "Claude", "claude.monet@example.com", "Gemma 2", "rater 4", "W1", "person 1"),
    *("Mistral, Gabriela", "o3", "Egpte", "Phil", "gemini", "ai", "allm1", "Max Grok", ""),
)


def read(readings, labels, **columns):
    table = read_readings(readings(reader=pl.lit("our judge"), reader_model=pl.lit("m-1")))
    return table, read_labels(labels(**columns), table.scale)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        pytest.param(name, column, marks=() if daily else pytest.mark.nightly)
        for name in (*MODELS, "Our judge", "M-1")
        for column in ("annotator", "user")
        for daily in [(column == "user") == (name == "M-1")]
    ],
)
def test_labels_of_a_model_are_said_to_be_that(readings, labels, name, column):
    """By its name, or because the judge itself has it."""
    table, found = read(readings, labels, **{column: pl.lit(name)})
    assert read_makers(found, read_provenance(table)) == [name] * 4
    with pytest.warns(
        cp.CordialWarning, match=f"l.csv: 4 of 4 labels come from a model or code .'{name}'"
    ):
        match_labels(table, found)


@pytest.mark.parametrize("name", PERSONS)
def test_who_could_be_a_person_is_not_said_to_be_a_model(readings, labels, name):
    table, found = read(readings, labels, annotator=pl.lit(name))
    assert read_makers(found, read_provenance(table)) == [UNKNOWN] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match_labels(table, found)


@pytest.mark.parametrize(
    ("columns", "makers"),
    [
        ({"annotator_kind": each("HUMAN", "LLM", "CODE", "")}, [PEOPLE, "LLM", "code", UNKNOWN]),
        # The file itself knows best.
        ({"annotator_kind": "human", "annotator": "gpt-4o"}, [PEOPLE] * 4),
        ({"annotator_kind": "LLM", "annotator": "Anna"}, ["LLM"] * 4),
        ({"annotator_kind": "LLM", "annotator": "gpt-4o"}, ["gpt-4o"] * 4),
        ({"source_type": "LLM_JUDGE"}, ["LLM"] * 4),
        # Who wrote the texts, for all that is known.
        ({"source_type": each("HUMAN", "LLM", "llm", "web")}, [UNKNOWN] * 4),
        ({}, [UNKNOWN] * 4),
        # As `cordial ask` and `read` name what made the readings of a row: here there is no other.
        ({"reader_model": each("m", "m", "", "n")}, ["m", "m", UNKNOWN, "n"]),
        ({"reader_model": "m", "annotator_kind": "HUMAN"}, [PEOPLE] * 4),
        # Of readings beside it, or of those that a plan or decisions were made by.
        ({"reader_model": "m", "p_1": "0.5", "p_2": "0.5"}, [UNKNOWN] * 4),
        ({"reader_model": "m", "probability": "0.5"}, [UNKNOWN] * 4),
        ({"reader_model": "m", "decision": "person"}, [UNKNOWN] * 4),
    ],
)
def test_a_column_says_what_gave_a_label(readings, labels, columns, makers):
    cells = {k: pl.lit(v) if isinstance(v, str) else v for k, v in columns.items()}
    assert read_makers(read(readings, labels, **cells)[1], {}) == makers


def test_some_labels_of_a_model_are_counted(readings, labels):
    table, found = read(readings, labels, annotator=each("Anna", "gpt-4o", "gpt-4o", "Anna"))
    with pytest.warns(cp.CordialWarning, match="2 of 4 labels come from a model"):
        match_labels(table, found)
    labelled = LabelledReadings(table, found, np.arange(4))
    assert identify(labelled, {})["labels"] == ["gpt-4o", UNKNOWN]


@pytest.mark.parametrize("name", ["r.csv", "l.csv"])
def test_predictions_are_no_labels_and_no_readings(readings, labels, name):
    """A table that `cordial predict` wrote has intervals."""
    ends = {"mean_low": pl.lit(1.0), "label_low": pl.lit(1)}
    of = {"r.csv": ends if name == "r.csv" else {}, "l.csv": ends if name == "l.csv" else {}}
    with pytest.warns(
        cp.CordialWarning, match=f"{name} contains calibrated probabilities"
    ) as caught:
        read_labelled(readings(**of["r.csv"]), labels(**of["l.csv"]))
    assert len(caught) == 1


def test_what_a_user_says_of_readings_must_not_be_false(readings, labels):
    table, found = read(readings, labels)
    silent, rows = read_readings(readings("s.csv")), np.arange(4)

    def judged(table, name, required=False):
        read = LabelledReadings(table, found, rows)
        return identify(read, {"judge": (repr(name), [name])}, required)["judge"]

    # By the judge's name or the model's.
    assert judged(table, "our judge", True) == judged(table, "m-1", True) == ["our judge"]
    with pytest.raises(
        cp.InputError,
        match="r.csv: column 'reader' must name the judge 'other'; found 'm-1', 'our judge'",
    ):
        judged(table, "other")
    # What nobody contradicts is noted; but it does not prove anything.
    assert judged(silent, "other") == ["other"]
    with pytest.raises(
        cp.InputError, match="s.csv: column 'reader' must name the judge 'other'; found nothing"
    ):
        judged(silent, "other", True)


def test_texts_of_another_model_than_the_labelled_ones_are_pointed_out(readings, labels):
    path, models = labels(), each("a", "a", "a", "b")
    table = read_readings(readings(reader_model=models))
    found = read_labels(path, table.scale)
    with pytest.warns(cp.CordialWarning, match="model 'b' instead of 'a'"):
        first = LabelledReadings(table, found.take([0, 1]), np.arange(2))
        assert identify(first, {})["model"] == ["a"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert identify(LabelledReadings(table, found, np.arange(4)), {})["model"] == ["a", "b"]
