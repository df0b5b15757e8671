"""Fields by name: paths, what a field may hold, and rows read by them."""

import json
import math
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from logs_of_reviews import chat

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.logs.evidence import Scores
from cordial_ppl.logs.paths import follow, list_fields, look
from cordial_ppl.logs.values import read_value

STARS = ("1", "2", "3", "4", "5")
# A machine may be slow.
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
FREE = settings(max_examples=25, suppress_health_check=CHECKS)

ROW = {
    "id": 7,
    "scores": [{"value": 4, "by": "x"}, {"value": 2, "by": "y"}],
    "aspects": {"clarity": 4, "tone": None},
    "a.b": {"c": 1},
    "flat.x": 5,
    "flat.y.z": 6,
    "text": '{"score": 3, "why": [1, 2]}',
    "gpt_score": 1,
    "llama_score": 2,
    "q*": 9,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", 7), ("scores.0.value", 4), ("scores.2.by", None),
        ("aspects.clarity", 4), ("aspects.tone", None), ("a.b.c", 1), ("flat.y.z", 6),
        ("flat", {"x": 5, "y.z": 6}), ("text.score", 3), ("text.why.1", 2), ("id.x", None),
        ("scores.x", None), ("nothing.at.all", None), ("", ROW),
    ],
)  # fmt: skip
def test_what_stands_at_a_path(path, value):
    assert look(ROW, path) == value


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["scores.*.value", "scores.*.by", "id"], [(4, "x", 7), (2, "y", 7)]),
        (["aspects.*"], [(4,), (None,)]),
        (["*_score"], [(1,), (2,)]),
        (["flat.*"], [(5,), (6,)]),
        (["missing.*.x", "id"], [(None, 7)]),
        (["q*"], [(9,)]),
    ],
)
def test_stars_stand_for_each_and_paths_go_together(paths, expected):
    assert [tuple(one.value for one in found) for found in follow(ROW, paths)] == expected


def test_stars_that_belong_together_stand_for_the_same():
    columns = {"id": [1, 2], "score": {"0": 4, "1": 5}, "label": [3, 4, 5]}
    for paths in (["id.*", "score.*"], ["id.*", "label.*"]):
        with pytest.raises(InputError, match="have 2 and . elements, but their stars must match"):
            list(follow(columns, paths))
    scores, labels = {"a": 1, "b": 2}, {"b": 3, "c": 4}
    found = list(follow({"s": scores, "l": labels}, ["s.*", "l.*"]))
    assert [(one.value, other.value, one.keys) for one, other in found] == [
        (1, None, ("a",)), (2, 3, ("b",)), (None, 4, ("c",)),
    ]  # fmt: skip


LOGS = {"4": -0.1, "5": -3.0}
TOPS = [{"token": token, "logprob": score} for token, score in LOGS.items()]
SURE = chat(LOGS)["choices"][0]


@pytest.mark.parametrize(
    "value",
    [
        LOGS, {token: math.exp(score) for token, score in LOGS.items()},
        TOPS, [{**TOPS[0], "top_logprobs": TOPS}], {**TOPS[0], "top_logprobs": TOPS},
        {"content": [{**TOPS[0], "top_logprobs": TOPS}]}, SURE, chat(LOGS),
        {"tokens": ["4"], "token_logprobs": [-0.1], "top_logprobs": [LOGS]},
        {str(n): {"logprob": s, "decoded_token": t} for n, (t, s) in enumerate(LOGS.items())},
        json.dumps(TOPS),
    ],
)  # fmt: skip
def test_log_probabilities_in_any_form_are_the_same(value):
    found = read_value(value, "x")
    assert isinstance(found, list) and [answer.text for answer in found] == ["4"]
    (answer,) = found
    (position,) = answer.positions
    assert position.token == "4"
    assert {t: round(s, 9) for t, s in position.top.items()} == LOGS


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("Score: 4", ["Score: 4"]), (4, ["4"]), (4.0, ["4"]), (3.5, ["3.5"]), (True, ["True"]),
        (["4", 5, None, "Score: 3"], ["4", "5", "", "Score: 3"]), ("[4, 5]", ["4", "5"]),
        ("[[4]]", ["[[4]]"]), ({"4": 2, "5": 1}, ["4", "4", "5"]), ("[4, 5", ["[4, 5"]),
        ({"content": "4"}, ["4"]), (10**30, ["1" + "0" * 30]), ("4" * 10**6, ["4" * 10**6]),
    ],
)  # fmt: skip
def test_texts_and_numbers_are_answers(value, texts):
    found = read_value(value, "x")
    assert isinstance(found, list) and [answer.text for answer in found] == texts


def test_what_is_no_answer():
    for value in (None, "", "  ", math.nan, [], "[]"):
        assert read_value(value, "x") is None
    assert read_value({"4": 2.5, "5": -1}, "x") == Scores("logit", [2.5, -1], ["4", "5"])
    for value in ({"score": 4, "why": "x"}, [[4]], [{"score": "x"}]):
        with pytest.raises(InputError, match="`x"):
            read_value(value, "x")


def kept(found):
    """Readings and labels by text, reader and task, in whatever order."""
    rows = zip(found.rows, found.values, strict=True)
    readings = {row[:3]: tuple(np.round(reading.values, 9)) for row, reading in rows}
    return readings, sorted(zip(*found.labels.values(), strict=True))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=6,
)
RATED = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from("xy"), st.integers(1, 5), st.none() | st.integers(1, 5)
    ),
    min_size=1, max_size=12, unique_by=lambda row: row[:2],
)  # fmt: skip


def rows_of(rated, others):
    known: dict = {}
    rows = []
    for (item, judge, score, label), other in zip(rated, others, strict=True):
        label = known.setdefault(item, label)
        scores = {"a": score, "b": 6 - score}
        rows.append({"id": item, "judge": judge, "scores": scores, "gold": {"a": label}} | other)
    return rows


def read_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given: dict[str, Any] = {"item": "id", "answer": "scores.*", "reader": "judge"}
    labels: dict[str, Any] = {"label": "gold.*"} if any(row["gold"]["a"] for row in rows) else {}
    return kept(cp.read(path, options=STARS, **given, **labels))


@FREE
@given(st.data(), RATED)
def test_order_and_unknown_fields_change_nothing(tmp_path, data, rated):
    path = tmp_path / "rows.jsonl"
    plain = read_rows(path, rows_of(rated, [{}] * len(rated)))
    names = st.text(max_size=4).map(lambda name: f"other {name}")
    others = data.draw(
        st.lists(st.dictionaries(names, JSON), min_size=len(rated), max_size=len(rated))
    )
    rows = rows_of(rated, others)
    shuffled = [
        dict(data.draw(st.permutations(list(row.items())))) | {
            "scores": dict(data.draw(st.permutations(list(row["scores"].items()))))
        }
        for row in data.draw(st.permutations(rows))
    ]  # fmt: skip
    assert read_rows(path, rows) == plain == read_rows(path, shuffled)
    assert len(plain[0]) == 2 * len(rated)


@FREE
@given(RATED)
def test_a_container_changes_nothing(tmp_path, rated):
    """Rows, a list in an object, an object by id and columns say the same."""
    rows = [row for row in rows_of(rated, [{}] * len(rated)) if row["judge"] == "x"]
    expected = {(str(row["id"]), None, None): row["scores"]["a"] for row in rows}
    if not rows:
        return
    path = tmp_path / "one.json"
    forms = (
        (rows, "id", "scores.a"),
        ({"run": 1, "all": {"rows": rows}}, "all.rows.*.id", "all.rows.*.scores.a"),
        ({str(row["id"]): row for row in rows}, None, "scores.a"),
        ({"r": {str(row["id"]): row for row in rows}}, "r.*", "r.*.scores.a"),
        ({"i": [r["id"] for r in rows], "s": [r["scores"] for r in rows]}, "i.*", "s.*.a"),
    )
    for content, item, answer in forms:
        path.write_text(json.dumps(content))
        readings, _ = kept(cp.read(path, item=item, answer=answer, options=STARS))
        assert {key: int(np.argmax(row)) + 1 for key, row in readings.items()} == expected


# What is left out is warned of.
@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
@FREE
@given(JSON, st.sampled_from(["id", "a.b", "*", "a.*.b", "0", "*.*"]))
def test_whatever_rows_hold_there_is_no_traceback(tmp_path, value, field):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"id": 1, "a": value}, {"id": 2, "a": 4, "b": value}]))
    try:
        cp.read(path, item="id", answer=field, label="b", options=STARS)
    except InputError as error:
        assert str(path) in str(error)


@FREE
@given(st.lists(st.dictionaries(st.text("ab_ 1", min_size=1), JSON), min_size=1, max_size=3))
def test_fields_that_are_listed_can_be_named(rows):
    for path, values in list_fields(rows).items():
        cells = [match.value for row in rows for (match,) in follow(row, [path])]
        assert not path or "." in path or "*" in path or all(value in cells for value in values)
        assert 1 <= len(values) <= 3


def test_what_a_file_lacks_is_said_with_what_it_has(log):
    rows = [{"question_id": 1, "judgment": "[[4]]", "meta": {"by": "a"}, "score": 4}]
    path = log(*rows)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"answer": "judgement"}, "no `judgement`; they have question_id \\(1\\), judgment "
         r"\('\[\[4\]\]'\), meta.by \('a'\), score \(4\). Did you mean `judgment`\?"),
        ({"answer": "judgment", "item": "qid,turn"}, "its rows have no `qid`"),
        ({"answer": "judgment", "label": "by"}, "no `by`; .*Did you mean `meta.by`\\?"),
        ({"answer": "judgment", "item": "meta"}, "line 1: `meta` is an object with 'by': name one"),
        ({"answer": "judgment", "where": "score=5"}, "no row meets the condition score=5"),
        ({"answer": "judgment", "where": "score"}, "must be FIELD=VALUE or FIELD!=VALUE"),
        ({"answer": "judgment", "reader": "meta.by=b"}, "no readings of 'b'. Its judges are 'a'"),
        ({"form": "mt_bench"}, "found 'mt_bench'. Did you mean mt-bench\\?"),
    ]  # fmt: skip
    for fields, message in refused:
        with pytest.raises(InputError, match=message):
            cp.read(path, options=STARS, **fields)


def test_a_refusal_lists_fields_with_three_values_of_each(log):
    rows = [{"doc": {"uid": i}, "by": "gpt", "grades": {"tone": 3 + i % 3}} for i in range(9)]
    with pytest.raises(FileError, match="not a log of a known format; its rows have .*") as error:
        cp.read(log(*rows), options=STARS)
    fields = "doc.uid (0, 1, 2), by ('gpt'), grades.tone (3, 4, 5). Name the field"
    assert fields in str(error.value) and "--item FIELD,FIELD --answer FIELD -o" in str(error.value)


def test_rows_that_one_name_has_in_common_are_told(cordial, log):
    rows = [{"q": q, "model": m, "score": 4} for q in "ab" for m in "xy"]
    given = ("read", log(*rows), "--answer", "score", "--options", "1,2,3,4,5", "-o", "r.csv")
    told = cordial(*given, "--item", "q").stderr
    assert "warning: 2 texts have several rows" in told and "--item FIELD,FIELD" in told
    told = cordial(*given, "--item", "q,model").stderr
    assert "several rows" not in told and "4 readings" in told


def test_a_table_with_a_row_for_each_label_counts_a_judgment_once(cordial, tmp_path):
    path = tmp_path / "long.csv"
    rows = [
        f"t{i},{1 + i % 5},{who},{1 + (i + k) % 5}" for i in range(8) for k, who in enumerate("ab")
    ]
    path.write_text("\n".join(["text_id,judge_score,rater,human_score", *rows]))
    fields = ["--item", "text_id", "--answer", "judge_score", "--options", "1,2,3,4,5"]
    told = cordial("read", path, *fields, "-o", "r.csv").stderr
    assert "8 texts have several rows" in told and told.endswith("--annotator FIELD\n")
    fields += ["--label", "human_score", "-o", "r.csv", "--labels", "l.csv"]
    told = cordial("read", path, *fields, status=2).stderr
    assert "Name the field of the annotator: --annotator FIELD" in told
    told = cordial("read", path, *fields, "--annotator", "rater").stderr
    assert "warning" not in told
    assert len(polars.read_csv("r.csv")) == 8 and len(polars.read_csv("l.csv")) == 16
    # One that differs shows that each row was judged by itself.
    path.write_text(path.read_text().replace("t0,1,b", "t0,2,b"))
    table = cp.read(path, item="text_id", answer="judge_score", annotator="rater", options=STARS)
    assert {reading.values.sum() for reading in table.values} == {2}


def test_a_field_names_and_another_name_chooses(log):
    rows = [{"id": i, "judge": j, "score": 3} for i in (1, 2) for j in ("g", "h=1")]
    path = log(*rows)
    given = {"item": "id", "answer": "score", "options": STARS}
    assert cp.read(path, **given, reader="judge").readings["reader"] == ["g", "h=1", "g", "h=1"]
    assert cp.read(path, **given, reader="judge=h=1").readings["reader"] == ["h=1"] * 2
    with pytest.raises(InputError, match="it holds no readings of 'g'"):
        cp.read(path, **given, reader="g")
    known = {**given, "answer": None}
    rows = [{"item_id": row["id"], **row} for row in rows]
    assert cp.read(log(*rows), **known, reader="g").readings["reader"] == ["g"] * 2


def test_readings_and_labels_go_to_fit(log):
    rows = [{"id": i, "score": 1 + i % 5, "gold": 1 + i % 5 if i < 10 else None} for i in range(12)]
    found = cp.read(log(*rows), item="id", answer="score", label="gold", options=range(1, 6))
    logits, labels = found.labelled
    assert labels == [str(1 + i % 5) for i in range(10)]
    np.testing.assert_array_equal(logits, found.logits[:10])
    fitted = cp.LabelHistogram(options=found.options).fit(logits, labels)
    assert fitted.predict_proba(found.logits).shape == (12, 5)
    with pytest.raises(InputError, match="the log holds no labels; name their field"):
        _ = cp.read(log(*rows), item="id", answer="score", options=STARS).labelled


def test_averages_count_for_the_options_on_both_sides(log):
    path = log(
        {"id": 1, "s": 3.75}, {"id": 2, "s": 5}, {"id": 3, "s": 5.5}, {"id": 4, "s": [1, 1.5]}
    )
    with pytest.warns(CordialWarning, match="^1 answer without an option left out: line 3; .*5.5"):
        found = cp.read(path, item="id", answer="s", options=STARS, round="split")
    assert repr(found) == "<3 readings of 1, 2, 3, 4, 5; 0 labels; 1 rows left out>"
    shares = np.array([[0, 0, 0.25, 0.75, 0], [0, 0, 0, 0, 1], [1.5, 0.5, 0, 0, 0]]) + 0.5
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose([reading.values for reading in found.values], shares)
    # Whole ratings read as they do without rounding.
    (whole,) = cp.readings_from_ratings([5], options=range(1, 6))
    np.testing.assert_allclose(np.diff(found.logits[1]), np.diff(whole), atol=1e-12)
    assert found.unread == ["line 3"]
    with pytest.warns(CordialWarning, match="^2 answers without"):
        assert cp.read(path, item="id", answer="s", options=STARS).unread == ["line 1", "line 3"]
    two = cp.read(log({"id": 1, "s": 1.25}), item="id", answer="s", options="1,2", round="split")
    assert two.values[0].kind == "p"
    np.testing.assert_allclose(two.values[0].values, [0.75, 0.25])


def test_labels_of_several_people_in_columns_lists_and_objects(log):
    base = {"item": "id", "options": STARS, "answer": "s"}
    row = {"id": 1, "s": 3, "by": {"ann": 4, "bob": 3.5}, "all": [4, 3.5], "h1": 4}
    given: list[tuple[dict[str, Any], list[str]]] = [
        ({"label": "by.*", "annotator": "by.*"}, ["ann", "bob"]),
        ({"label": "all"}, ["person 1", "person 2"]),
        ({"label": "all.*"}, ["person 1", "person 2"]),
    ]
    for fields, people in given:
        found = cp.read(log(row), **base, **fields)
        assert found.labels["annotator"] == people and found.labels["label"] == ["4", "3.5"]
        assert found.between == 1 and len(found) == 1
    assert cp.read(log(row), **base, label="h1").labels == {"item_id": ["1"], "label": ["4"]}
    found = cp.read(log({**row, "h2": 2}), **base, label="h1,h2")
    assert found.labels == {"item_id": ["1"] * 2, "annotator": ["h1", "h2"], "label": ["4", "2"]}
    aspects = {"answer": "a,b", "label": "ha,hb", "item": "id", "options": STARS}
    found = cp.read(log({"id": 1, "a": 3, "b": 4, "ha": 5, "hb": 2}), **aspects)
    assert found.readings["task"] == found.labels["task"] == ["a", "b"]
    assert found.labels["label"] == ["5", "2"]


def test_tables_with_lists_and_objects_in_their_cells(tmp_path):
    rows = {"id": [1, 2], "judge": ["a", "b"], "out": [{"score": 4}, {"score": 2}]}
    nested, flat = tmp_path / "rows.parquet", tmp_path / "rows.csv"
    polars.DataFrame({**rows, "all": [[4, 5], [2]]}).write_parquet(nested)
    flat.write_text('id,judge,out,all\n1,a,"{""score"": 4}","[4, 5]"\n2,b,"{""score"": 2}",[2]\n')
    for path in (nested, flat):
        base = {"item": "id", "reader": "judge", "options": STARS}
        assert kept(cp.read(path, answer="out.score", **base))[0] == {
            ("1", "a", None): (0, 0, 0, 1, 0), ("2", "b", None): (0, 1, 0, 0, 0),
        }  # fmt: skip
        assert cp.read(path, answer="all", **base).values[0].values.tolist() == [0, 0, 0, 1, 1]


def test_a_dry_run_shows_rows_and_writes_nothing(cordial, log, tmp_path):
    rows = [{"id": i, "text": f"Score: {1 + i % 5}", "gold": 3} for i in range(8)]
    path = log(*rows)
    given = ("--item", "id", "--answer", "text", "--label", "gold", "--options", "1,2,3,4,5")
    result = cordial("read", path, *given, "--dry-run")
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["item_id", "answer", "1", "2", "3", "4", "5", "label"]
    assert len(lines) == 7 and lines[2].split() == "0 'Score: 1' 1 0 0 0 0 3".split()
    assert "8 readings of 1, 2, 3, 4, 5 (fields) would be written" in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
