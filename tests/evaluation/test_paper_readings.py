"""From reviews and segments to readings: the texts are the paper's, and a model reads them."""

import json

import numpy as np
import polars as pl
import pytest
import readings
from loopback import STARS, serving, stars_of

from cordial_ppl.evaluation.tasks import read_tasks

WORDS = list(STARS)


def write_reviews(path):
    """Fourteen users with one review, two with nine, one with twenty, one with two, some empty."""
    users = [f"u{i}" for i in range(14)] + ["a", "b"] * 9 + ["c"] * 20 + ["d"] * 2 + ["e", "f"]
    rows = [
        {"rating": float(1 + i % 5), "text": f"Number {i} is {WORDS[i % 5]}.\n", "user_id": user}
        | {"timestamp": 1000 - i, "title": "x"}
        for i, user in enumerate(users)
    ]
    rows[-2]["text"], rows[-1]["rating"] = "  ", 0.0
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def server():
    with serving() as loopback:
        yield loopback


def test_reviews_are_of_users_with_one_and_of_users_with_eight_and_more(tmp_path):
    path = write_reviews(tmp_path / "reviews.jsonl")
    texts = readings.select_reviews(path, (5, 8, 3))
    counts = texts.group_by("split").agg(pl.len(), pl.col("user").n_unique())
    assert sorted(counts.rows()) == [("calibration", 5, 5), ("report", 8, 8), ("users", 34, 3)]
    users = texts.filter(split="users")
    # Timestamps fall: a user's first review is the last line.
    for _, own in users.group_by("user"):
        lines = own["item_id"].str.slice(1).cast(int).to_list()
        assert lines == sorted(lines, reverse=True) and own["order"].to_list() == [*range(len(own))]
    assert len(users.filter(user="c")) == 16 and texts["item_id"].is_unique().all()
    again, other = (readings.select_reviews(path, (5, 8, 3), seed) for seed in (0, 1))
    assert again.equals(texts) and not other.equals(texts)


def test_segments_are_rounded_to_seven_levels(tmp_path):
    path = tmp_path / "segments.csv"
    rows = "text,sentiment,split,video\none,-2.6,train,a\ntwo,0.33,valid,a\nthree,1.67,test,b\n"
    path.write_text(rows)
    texts = readings.select_segments(path)
    assert texts["label"].to_list() == [1, 4, 6]
    assert texts["split"].to_list() == ["calibration", "calibration", "report"]
    assert texts.select("user", "order").rows() == [("a", 0), ("a", 1), ("b", 0)]


@pytest.mark.parametrize(
    ("kind", "content", "facts"),
    [
        ("reviews", '{"rating": 5.0, "text": "x"}\n', ("line 1", "user_id")),
        ("reviews", "text\n", ("JSON Lines",)),
        ("reviews", None, ("few.jsonl", "14 users", "6000", "--counts")),
        ("segments", "text,sentiment\nx,1\n", ("split",)),
        ("segments", "text,sentiment,split\nx,1,test\ny,4,test\n", ("row 2", "-3 to 3")),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(tmp_path, capsys, kind, content, facts):
    path = tmp_path / "few.jsonl"
    path.write_text(content) if content else write_reviews(path)
    assert readings.main([kind, str(path), "--model", "m", "-o", str(tmp_path / "o")]) == 2
    told = capsys.readouterr().err
    assert all(fact in told for fact in facts) and "Traceback" not in told
    assert not (tmp_path / "o").exists()


def test_a_server_reads_texts_alone_and_after_demonstrations(tmp_path, server):
    path, out = write_reviews(tmp_path / "reviews.jsonl"), tmp_path / "o"
    words = ["reviews", str(path), "--task", "music", "--counts", "5", "8", "2", "-o", str(out)]
    words += ["--model", "tiny", "--server", server.url, "--demonstrations", "2", "--draws", "3"]
    assert readings.main(words) == 0
    texts, table = pl.read_csv(out / "texts.csv"), pl.read_parquet(out / "readings.parquet")
    assert table["item_id"].to_list() == texts["item_id"].to_list()
    assert {"task", "reader", "user", "order", "split"} <= {*table.columns}
    stated = table.select(f"logprob_{k}" for k in range(1, 6)).to_numpy().argmax(axis=1) + 1
    assert stated.tolist() == [stars_of(text) for text in texts["text"]]
    asked = [request["messages"][0]["content"] for request in server.asked]
    assert len(asked) == len(texts) + 3 * 8
    shown = [text for text in asked if "Answer: " in text]
    assert len(shown) == 24 and all(text.count("Review:") == 3 for text in shown)
    labels = dict(pl.read_csv(out / "labels.csv").select("item_id", "label").iter_rows())
    pool = texts.filter(split="calibration")
    lines = {f"{t}\nAnswer: {labels[i]}" for i, t in pool.select("item_id", "text").iter_rows()}
    assert all(sum(line in text for line in lines) == 2 for text in shown)
    report = texts.filter(split="report")["item_id"].to_list()
    for draw in range(3):
        part = pl.read_parquet(out / f"demonstrations-2-{draw}.parquet")
        assert part["item_id"].to_list() == report
    # Nothing is asked twice, and a sweep takes the tables.
    assert readings.main(words) == 0 and len(server.asked) == len(asked)
    (task,) = read_tasks(out / "readings.parquet", out / "labels.csv", 8)
    assert (task.name, task.reader, len(task.pool.labels)) == ("music", "tiny", len(texts) - 8)


@pytest.mark.filterwarnings("ignore")
def test_a_model_on_this_machine_reads_segments(tmp_path):
    from tiny_model import network, tokenizer  # Skips the test where there is no torch.

    words = tokenizer(True)
    words.save_pretrained(tmp_path / "tiny")
    model = network(len(words))
    assert model.num_parameters() < 50_000
    model.save_pretrained(tmp_path / "tiny")
    rows = [f"a film {i},{i % 7 - 3},{['train', 'valid', 'test'][i % 3]}" for i in range(9)]
    (tmp_path / "segments.csv").write_text("text,sentiment,split\n" + "\n".join(rows) + "\n")
    asked = ["segments", str(tmp_path / "segments.csv"), "--model", str(tmp_path / "tiny")]
    asked += ["--local", "--reader", "tiny", "--demonstrations", "1", "--draws", "2"]
    assert readings.main([*asked, "-o", str(tmp_path / "o")]) == 0
    logits = [
        pl.read_parquet(tmp_path / "o" / f"{name}.parquet").select("^logprob_.*$").to_numpy()
        for name in ("readings", "demonstrations-1-0", "demonstrations-1-1")
    ]
    assert [each.shape for each in logits] == [(9, 7), (3, 7), (3, 7)]
    assert all(np.isfinite(each).all() for each in logits)
    # Demonstrations change what is read.
    assert np.abs(logits[1] - logits[0][2::3]).max() > 1e-3
