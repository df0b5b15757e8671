"""Fields by name: keys, JMESPath, what a field may hold, and rows read by them."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from logs_of_reviews import chat, reading, table

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, FileError, InputError, SettingNeeded
from cordial_ppl.logs.fields import Field
from cordial_ppl.logs.protocols import read_value
from cordial_ppl.tables.provenance import digest

STARS = "1,2,3,4,5"
ROW = {
    "id": 7, "user-id": "u", "my score": 4, "a.b": 1, "a": {"b": 2}, "none": None,
    "scores": [{"value": 4, "by": "x"}, {"value": 2, "by": "y"}],
    "text": '{"score": 3, "why": [1, 2]}', "aspects": {"clarity": 4, "tone": 5},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("id", 7), ("user-id", "u"), ("my score", 4), ("a.b", 1), ("scores[0].value", 4),
        ("scores[?by=='y'].value | [0]", 2), ("parse_json(text).score", 3), ("none || id", 7),
        ("parse_json(none)", None), ("items(aspects)[].key", ["clarity", "tone"]),
        ("'gpt-4'", "gpt-4"), ("nothing.at.all", None), ("no such-name", None), ("@", ROW),
    ],
)  # fmt: skip
def test_a_field_is_a_key_or_an_expression(text, value):
    assert Field(text).find(ROW) == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("id=7", True), ("id=8", False), ("user-id=U", True), ("id!=8", True), ("nothing!=x", True),
        ("nothing=x", False), ("id == `7`", True), ("aspects.tone > `4`", True), ("none", False),
        ("a.b=1", True), ("my score!=4", False),
    ],
)  # fmt: skip
def test_conditions(condition, holds):
    assert Field(condition).holds(ROW) is holds


LOGS = {"4": -0.1, "5": -3.0}
TOPS = [{"token": token, "logprob": score} for token, score in LOGS.items()]


@pytest.mark.parametrize(
    "value",
    [
        LOGS, TOPS, [{**TOPS[0], "top_logprobs": TOPS}],
        {"content": [{**TOPS[0], "top_logprobs": TOPS}]}, chat(LOGS)["choices"][0], chat(LOGS),
    ],
)  # fmt: skip
def test_log_probabilities_in_any_form_are_the_same(value):
    one = reading(STARS, read_value(value, "x"))
    assert one.kind == "logprob"
    np.testing.assert_allclose(one.values[3:], [-0.1, -3.0])


@pytest.mark.parametrize(
    ("value", "kind", "values"),
    [
        ("Score: 4", "n", [1, 0]), (4, "n", [1, 0]), (5.0, "n", [0, 1]), ("[[4]]", "n", [1, 0]),
        (["4", 5, None, "Score: 5"], "n", [1, 2]), ({"4": 2.5, "5": -1}, "logit", [2.5, -1]),
        ({"4": 0.75, "5": 0.25}, "p", [0.75, 0.25]), ({"4": 3, "5": 1}, "n", [3, 1]),
        ({"options": ["5", "4"], "scores": [-0.1, -2]}, "logprob", [-2, -0.1]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
def test_texts_numbers_and_objects_of_numbers_are_answers(log, value, kind, values):
    one = cp.read(log({"x": value}), answer="x", options="4,5")
    assert one.table[0] == kind
    np.testing.assert_allclose(table(one), [values])


@pytest.mark.parametrize(
    "value", [{"score": 4, "why": "x"}, [[4]], [{"score": "x"}], {"4": 0.58, "5": 0.3}]
)
def test_what_is_no_answer_is_refused_by_name(log, value):
    with pytest.raises(InputError, match="`x"):
        cp.read(log({"x": value}), answer="x", options=STARS)


ROWS = [
    {"doc": i, "system": "A", "judge": "gpt-4o", "scores": {"clarity": 1 + i % 5, "tone": 5},
     "human": {"clarity": 2} if i % 2 else None, "note": "n" * 201, "n_tokens": 3, "lang": "de"}
    for i in range(6)
]  # fmt: skip


def test_rows_by_their_fields(log):
    one = cp.read(
        log(*ROWS), item=["doc", "system"], answer="scores.clarity,scores.tone", reader="judge",
        label="human.clarity", options=STARS,
    )  # fmt: skip
    columns = one.readings
    assert columns["item_id"][:3] == ["0|A", "0|A", "1|A"] and len(one) == 12
    assert columns["task"][:2] == ["clarity", "tone"] and set(columns["reader"]) == {"gpt-4o"}
    assert set(columns["input_n_tokens"]) == {3} and "note" not in columns
    assert table(one)[::2].argmax(axis=1).tolist() == [0, 1, 2, 3, 4, 0]
    assert one.labels == {"item_id": ["1|A", "3|A", "5|A"], "label": ["2"] * 3}
    alone = cp.read(log(*ROWS), answer="scores.clarity,scores.tone", options=STARS, task="tone")
    assert len(alone) == 6 and alone.readings["item_id"] == [str(i) for i in range(6)]
    assert alone.unnamed
    logits, labels = cp.read(
        log(*ROWS), item="doc", answer="scores.clarity", label="human.clarity", options=STARS
    ).labelled
    assert logits.shape == (3, 5) and labels == ["2"] * 3


def test_numbers_of_words_are_counted_as_in_tables(log):
    def labels(*numbers):
        rows = [{"id": i, "answer": "fair", "human": n} for i, n in enumerate(numbers)]
        path, options = log(*rows), "poor,fair,good"
        return cp.read(path, options=options, item="id", answer="answer", label="human").labelled[1]

    assert labels(0, 2, 1) == ["poor", "good", "fair"]
    with pytest.warns(CordialWarning, match="read as numbers from 1 .'poor'. to 3"):
        assert labels(1, "good", 3, "1.0") == ["poor", "good", "good", "poor"]
    with pytest.raises(SettingNeeded, match="labels 1, 2 are ambiguous"):
        labels(1, 2)


def test_rows_inside_rows_and_people_among_judges(log):
    path = log({"run": 9, "results": [
        {"id": f"t{i}", "ratings": [{"by": "gpt", "is": 4}, {"by": "ann", "is": 1 + i}]}
        for i in range(4)
    ]})  # fmt: skip
    one = cp.read(
        path, rows="results,ratings", item="outer.id", answer="is", people="by=ann",
        annotator="by", options=STARS, where="outer.outer.run=9",
    )  # fmt: skip
    assert one.readings["item_id"] == one.labels["item_id"] == ["t0", "t1", "t2", "t3"]
    assert one.labels["label"] == ["1", "2", "3", "4"] and set(one.labels["user"]) == {"ann"}
    assert one.readings["run"] == [9] * 4 and one.readings["id"] == ["t0", "t1", "t2", "t3"]
    by_name = log({"a": {"score": 4}, "b": {"score": 2}})
    assert cp.read(by_name, answer="score", options=STARS).readings["item_id"] == ["a", "b"]
    texts: dict[str, Any] = {
        "item": "outer.id",
        "rows": "@,items(scores)",
        "answer": "value",
        "task": "key",
    }
    one = cp.read(log({"id": 1, "scores": {"tone": 4, "style": 5}}), options=STARS, **texts)
    assert one.readings["task"] == ["tone", "style"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "json"])
def test_files_of_every_kind_are_read_alike(tmp_path, ending):
    import polars

    frame = polars.DataFrame({"id": ["a", "b"], "score": [4, 2], "raw": ['{"x": 5}', '{"x": 3}']})
    path = tmp_path / f"rows.{ending}"
    if ending == "json":
        path.write_text("\ufeff" + json.dumps(frame.to_dicts(), indent=1))
    else:
        write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[ending]
        getattr(frame, write)(path)
    assert table(cp.read(path, item="id", answer="score", options=STARS)).argmax(
        axis=1
    ).tolist() == [3, 1]
    one = cp.read(path, item="id", answer="parse_json(raw).x", options=STARS)
    assert table(one).argmax(axis=1).tolist() == [4, 2]


def test_an_answer_that_is_no_json_stops_nothing(log):
    answers = '{"score": 4}', "I cannot rate this.", '{"score": 2, "reason": "cut', '{"score": 1}'
    path = log(*({"id": k, "raw": text} for k, text in enumerate(answers)))
    with pytest.warns(CordialWarning, match="2 rows"):
        found = cp.read(path, item="id", answer="parse_json(raw).score", options=STARS)
    assert table(found).argmax(axis=1).tolist() == [3, 0]
    assert found.readings["unread"] == [None, "failed", "failed", None]


def test_readers_and_tasks_are_fields_or_chosen(log):
    rows = [
        {"item_id": i, "judge": judge, "score": 1 + i} for i in range(3) for judge in ("x", "y")
    ]
    for reader, number in (("judge", 6), ("judge=x", 3)):
        assert len(cp.read(log(*rows), answer="score", reader=reader, options=STARS)) == number
    assert len(cp.read(log(*rows), form="samples", reader="y", options=STARS)) == 3
    labelled = [row | {"human": 2} for row in rows]
    for label in (None, "human"):
        with pytest.raises(InputError, match="names the judge 'z'; choose from 'x', 'y'"):
            cp.read(log(*labelled), answer="score", reader="judge=z", options=STARS, label=label)
        # Nothing tells which field it is.
        with pytest.raises(SettingNeeded, match="names the judge 'x'. .*reader='FIELD=x'"):
            cp.read(log(*labelled), answer="score", reader="x", options=STARS, label=label)
    # Rows that nothing tells apart are answers to one question, which is told.
    with pytest.warns(CordialWarning, match="3 texts with several rows"):
        one = cp.read(log(*rows), answer="score", options=STARS)
    assert table(one).sum(axis=1).tolist() == [2] * 3


PROMPT = (
    "Rate the text from 1, the worst, to 5, the best.\n\nText: {text}\n\nGive the number alone."
)
JUDGED = {"id": "a", "judge": "gpt", "version": "gpt-4-0613", "template": PROMPT, "score": 4}


@pytest.mark.parametrize(
    ("row", "naming", "made"),
    [
        (JUDGED, {"reader": "judge", "model": "version", "prompt": "template"},
         ("gpt", "gpt-4-0613", digest(PROMPT))),
        (JUDGED | {"template": "v2"}, {"model": "version", "prompt": "template"},
         (None, "gpt-4-0613", "v2")),
        # Messages of OpenAI, and a request of Anthropic, are their text.
        (JUDGED | {"template": [
            {"role": "system", "content": PROMPT[:10]},
            {"role": "user", "content": [{"type": "text", "text": PROMPT[10:]}]}]},
         {"prompt": "template"}, (None, None, digest(f"{PROMPT[:10]} {PROMPT[10:]}"))),
        (JUDGED | {"template": {"messages": [{"content": PROMPT}], "system": "Be strict."}},
         {"prompt": "template"}, (None, None, digest(f"Be strict. {PROMPT}"))),
        (JUDGED | {"template": "Be  strict."}, {"prompt": "template"},
         (None, None, digest("Be strict."))),
        (JUDGED | {"template": 3}, {"prompt": "template"}, (None, None, "3")),
        # Our own tables call them so.
        ({"id": "a", "reader": "gpt", "reader_model": "m", "reader_prompt": "v2", "score": 4}, {},
         ("gpt", "m", "v2")),
        ({"id": "a", "reader": "gpt", "by": "eva", "score": 4}, {"reader": "by"},
         ("eva", None, None)),
        # OpenAI's chat completions, of which only the text is named.
        ({"id": "a", "model": "the judged", "score": 4, "response": {
            "model": "m-1", "choices": [{"message": {"content": "4"}}]}},
         {"answer": "response.choices[0].message.content"}, ("m-1", "m-1", None)),
        ({"id": "a", "output": "4", "model": "the judged"}, {"answer": "output"},
         (None, None, None)),
    ],
)  # fmt: skip
def test_judge_model_and_prompt_survive_when_fields_are_named(log, row, naming, made):
    one = cp.read(log(row), options=STARS, **({"item": "id", "answer": "score"} | naming))
    columns = ("reader", "reader_model", "reader_prompt")
    assert tuple(one.readings.get(name, [None])[0] for name in columns) == made
    assert table(one).tolist() == [[0, 0, 0, 1, 0]]


@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
def test_a_cut_text_is_cut_when_it_is_named(log):
    """OpenAI's chat completions and Gemini's responses, of which only the text is named."""
    for answer, responses in {
        "response.choices[0].message.content": [
            {"choices": [{"message": {"content": text}, "finish_reason": reason}]}
            for text, reason in (("Score: 1", "length"), ("Score: 10", "stop"))
        ],
        "response.candidates[0].content.parts[0].text": [
            {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]}
            for text, reason in (("Score: 1", "MAX_TOKENS"), ("Score: 10", "STOP"))
        ],
    }.items():
        rows = [{"item_id": i, "response": one} for i, one in enumerate(responses)]
        one = cp.read(log(*rows), answer=answer, options=[str(k) for k in range(11)])
        assert one.readings["unread"] == ["cut", None] and table(one)[0].argmax() == 10


@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
@pytest.mark.parametrize(
    ("field", "cut", "unread"),
    [
        ("answer", {"answer": "Score: 1", "finish_reason": "length"}, "cut"),
        ("answer", {"answer": "Score: 1", "status": "incomplete"}, "cut"),
        ("answer", {"answer": "", "stop_reason": "max_tokens"}, "cut"),
        ("output.text", {"output": {"text": "Score: 1", "finish_reason": "length"}}, "cut"),
        ("output.text", {"output.text": "Score: 1", "output.finish_reason": "length"}, "cut"),
        ("j.message.text", {"j": {"message": {"text": "[[1]]"}, "stopReason": "length"}}, "cut"),
        ("answer", {"answer": "Score: 1", "finish_reason": "content_filter"}, "filtered"),
        ("answer", {"answer": "1", "done_reason": "length"}, "cut"),
        ("answer", {"answer": "Score: 1", "status_code": "500"}, "failed"),
        ("answer", {"answer": "Score: 1", "status_code": "ok"}, None),
        # All that one token can be.
        ("answer", {"answer": "2", "finish_reason": "length"}, None),
        ("answer", {"answer": "Score: 2", "finish_reason": "stop", "status": "complete"}, None),
        # Of the text that was judged, for all that is known.
        ("j.text", {"j": {"text": "Score: 2"}, "finish_reason": "length"}, None),
    ],
)
def test_what_stands_beside_an_answer_says_that_it_was_cut(log, field, cut, unread):
    rows = [{"id": "a", **cut}, {"id": "b", field: "10"}]
    paths = [log(*rows)]
    if field in cut:
        paths.append(paths[0].with_suffix(".csv"))
        pl.DataFrame(rows).write_csv(paths[1])
    for path in paths:
        one = cp.read(path, item="id", answer=field, options=[str(k) for k in range(11)])
        assert one.readings.get("unread", [None])[0] == unread


def test_options_may_be_named_best_first(log):
    rows = [{"item_id": word, "score": word, "label": word} for word in ("good", "fair", "poor")]
    one = cp.read(log(*rows), options="good,fair,poor", reverse=True)
    assert one.options == ("poor", "fair", "good")
    assert table(one).argmax(axis=1).tolist() == [2, 1, 0]
    assert one.labels["label"] == ["good", "fair", "poor"]
    # System One's levels, where a rubric begins with the best.
    levels = {"legend": {"0": "good", "1": "poor"}, "probabilities": {"0": 0.9, "1": 0.1}}
    one = cp.read(log({"id": 1, "answers": {"tone": {"type": "score"} | levels}}), reverse=True)
    assert one.options == ("poor", "good") and table(one).tolist() == [[0.1, 0.9]]


def test_tenths_and_numbers_between_options(log):
    tenths = [f"{k / 10:g}" for k in range(11)]
    rows = [{"id": i, "rel": 0.1 * (i % 11), "avg": 2.25} for i in range(22)]
    one = cp.read(log(*rows), item="id", answer="rel", options=tenths)
    assert table(one).argmax(axis=1).tolist() == [i % 11 for i in range(22)]
    split = cp.read(log(*rows), item="id", answer="avg", options=STARS, round="split")
    assert split.table[0] == "p" and len(split) == 22
    assert table(split)[0] @ np.arange(1, 6) == pytest.approx((2.25 + 0.5 * 15) / 3.5)
    half = cp.read(log(*rows), item="id", answer="avg", options=STARS, round="half-up")
    assert table(half).argmax(axis=1).tolist() == [1] * 22
    with pytest.raises(InputError, match="names an option"):
        cp.read(log(*rows), item="id", answer="avg", options=STARS)


def test_labels_are_options_or_between_two_and_of_whom(log):
    rows = [
        {"item_id": "a", "score": 4, "label": "3.5"},
        {"item_id": "b", "score": 4, "label": 4.0},
    ]
    one = cp.read(log(*rows), options=STARS)
    assert one.labels == {"item_id": ["a", "b"], "label": ["3.5", "4"]}
    several = [{"id": 1, "score": 4, "labels": [4, 5], "by": ["x", "y"]}]
    one = cp.read(
        log(*several), item="id", answer="score", label="labels", annotator="by", options=STARS
    )
    assert one.labels == {"item_id": ["1"] * 2, "annotator": ["x", "y"], "label": ["4", "5"]}
    one = cp.read(log(*several), item="id", answer="score", label="labels", options=STARS)
    assert one.labels["annotator"] == ["person 1", "person 2"]
    with pytest.raises(InputError, match=r"line 1.*found '9'"):
        _ = cp.read(log({"item_id": "a", "score": 4, "label": 9}), options=STARS).labels
    with pytest.raises(InputError, match="calibrate"):
        _ = cp.read(
            log(*several), item="id", answer="score", label="labels", options=STARS
        ).labelled


@pytest.mark.parametrize(
    "row",
    [
        {"error": "timed out"}, {"graderError": {"message": "late"}}, {"status": "error"},
        {"label": "NOT_PARSABLE"}, {"scoring_failed": True}, {"score": None}, {"score": []},
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
def test_scores_of_graders_that_failed_are_none(log, row):
    good = {"item_id": "b", "score": 2, "error": None, "status": "ok", "scoring_failed": False}
    one = cp.read(log({"item_id": "a", "score": 1} | row, good), answer="score", options=STARS)
    assert one.readings["unread"] == ["failed", None] and len(one) == 1


def test_options_that_are_not_known_are_proposed(log):
    with pytest.raises(SettingNeeded) as needed:
        cp.read(log(*({"item_id": i, "score": 1 + i} for i in range(5))))
    assert needed.value.setting == "options" and needed.value.value == tuple("12345")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"answer": "scor"}, "`scor`.*score.*Did you mean `score`"),
        ({"answer": "score", "item": "x"}, "`x`"),
        ({"answer": "score", "where": "kind!=x"}, "kind"),
        ({"answer": "score", "rows": "x"}, "`x`"),
        ({"answer": "length(score)"}, "line 1.*length"), ({"answer": "meta"}, "meta.lang"),
        ({"answer": "score", "item": "meta"}, "line 1.*lang"),
        ({"answer": "score", "after": "("}, "regular"),
        ({"answer": "score", "points": "x"}, "unknown field 'points'"),
        ({"answer": "score", "where": "score=9"}, "no"),
    ],
)  # fmt: skip
def test_fields_that_are_wrong_are_named(log, fields, words):
    with pytest.raises(InputError, match=words):
        cp.read(log({"id": 1, "score": 4, "meta": {"lang": "de"}}), options=STARS, **fields)


BAD = {
    "text": ("good\nbad\n", "line 1"), "cut": ('{"a": 1}\n{"a": ', "line 2"),
    "empty": ("", "empty"),
    "no object": ("[1, 2]", "element 0"), "blank": (" \n", "empty"),
    "bytes": (b"\xff\xfe\xfa", "UTF-8"),
    "deep": ("[" * 200_000, "deep|JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_files_that_cannot_be_read(tmp_path, name):
    content, words = BAD[name]
    path = tmp_path / "log.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=words):
        cp.read(path, answer="a", options=STARS)
    with pytest.raises(FileError, match="No such file"):
        cp.read(tmp_path / "gone.jsonl")
