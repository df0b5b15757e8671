"""`cordial label`, its server answered by a thread in place of a browser."""

import socket
import sys

from labelling_pages import TRUTH, answer_by_thread, write_judged

from cordial_ppl.cli import labelling_commands
from cordial_ppl.tables import read_columns, write_table

ARGUMENTS = "judged.csv", "--text", "Answer", "--options", "1,2,3,4,5"


def test_labels_are_for_other_commands(cordial, as_json, monkeypatch, tmp_path):
    """Texts are labelled in two runs, and the systems compared by their labels."""
    write_judged(tmp_path / "judged.csv")
    label = "label", *ARGUMENTS, "--by", "model", "-n", 24, "--annotator", "ann"
    answer_by_thread(monkeypatch, 10, TRUTH)
    first = as_json(*label)
    assert (first["labels"], first["answered"], first["target"]) == (10, 10, 24)
    answer_by_thread(monkeypatch, 14, TRUTH)
    last = cordial(*label, "--format", "markdown")
    assert "24 labels by ann" in last.stderr and "24 labels by ann" in last.stdout
    planned = cordial(
        "plan", *ARGUMENTS[:1], *ARGUMENTS[3:], "--by", "model", "-n", 24, "-o", "p.csv"
    )
    assert planned.stdout
    assert read_columns("labels.jsonl").cells["item_id"] == read_columns("p.csv").cells["item_id"]
    compared = as_json("compare", "judged.csv", "labels.jsonl", *ARGUMENTS[3:], "--by", "model")
    assert compared["verdict"]["labels"] == 24 and not compared["warnings"]


def test_texts_may_be_in_another_table(cordial, refused, monkeypatch, tmp_path):
    write_judged(tmp_path / "judged.csv")
    (tmp_path / "words.csv").write_text(
        "id,words\n" + "".join(f"{item},words of {item}\n" for item in reversed(TRUTH))
    )
    label = "label", "judged.csv", "--options", "1,2,3,4,5", "--text", "words", "--id", "id"
    answer_by_thread(monkeypatch, 2, TRUTH)
    cordial(*label, "--texts", "words.csv")
    assert len(read_columns("labels.jsonl")) == 2
    refused("'words'", *label)


def test_no_file_is_named_where_nothing_was_labelled(as_json, monkeypatch, tmp_path):
    write_judged(tmp_path / "judged.csv")
    answer_by_thread(monkeypatch, 0, TRUTH)
    assert as_json("label", *ARGUMENTS)["output"] is None
    assert not (tmp_path / "labels.jsonl").exists()


def test_another_column_is_offered(refused, tmp_path):
    write_judged(tmp_path / "judged.csv")
    refused(
        "'reply'|'answer'|--text COLUMN", "label", "judged.csv", "--text", "reply", *ARGUMENTS[3:]
    )


def test_a_taken_port_and_a_wrong_goal_are_refused(refused, tmp_path):
    write_judged(tmp_path / "judged.csv")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused("cannot use port", "label", *ARGUMENTS, "--port", taken.getsockname()[1])
    refused("65535", "label", *ARGUMENTS, "--port", 65536)
    refused("above 0; got 0.0", "label", *ARGUMENTS, "--within", 0)
    refused("a quantity, an operator", "label", *ARGUMENTS, "--require", "good")
    refused("'Oak - Elm'|'mean'", "label", *ARGUMENTS, "--require", "Oak - Elm > 0")
    refused("--pass", "label", *ARGUMENTS, "--require", "pass >= 50%")
    refused("from 1 to 5; got 80", "label", *ARGUMENTS, "--require", "mean >= 80")
    refused("'9'", "label", *ARGUMENTS, "--pass", "9")
    refused(".jsonl", "label", *ARGUMENTS, "-o", "labels.csv")


def test_without_its_packages_it_says_how_to_install_them(refused, monkeypatch, tmp_path):
    write_judged(tmp_path / "judged.csv")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused('pip install "cordial-ppl[label]"', "label", *ARGUMENTS)


def test_the_judge_is_not_shown_to_people(refused, tmp_path):
    """Its columns may be neither the text nor its context, whatever they are called."""
    write_judged(tmp_path / "judged.csv")
    refused("'rating'|judge", "label", *ARGUMENTS[:2], "rating", *ARGUMENTS[3:])
    refused("'Rating'|judge", "label", *ARGUMENTS, "--context", "Rating")
    columns = {f"logprob_{k}": [-1.0, -2.0] for k in range(1, 4)}
    columns |= {"item_id": ["a", "b"], "n_words": [1, 2]}
    write_table(tmp_path / "read.csv", columns)
    words = "label", "read.csv", "--context", "n_words", "--text"
    refused("'logprob_1'|judge", *words, "logprob_1")


def test_a_file_of_other_texts_or_another_plan_is_not_continued(
    cordial, refused, monkeypatch, tmp_path
):
    write_judged(tmp_path / "judged.csv")
    answer_by_thread(monkeypatch, 2, TRUTH)
    cordial("label", *ARGUMENTS, "--by", "model")
    refused("--by model", "label", *ARGUMENTS, "--by", "prompt")
    refused("--by model", "label", *ARGUMENTS)
    other = (tmp_path / "judged.csv").read_text().replace("text ", "other ")
    (tmp_path / "other.csv").write_text(other)
    refused("'text |other.csv|-o", "label", "other.csv", *ARGUMENTS[1:], "--by", "model")


def test_whoever_has_no_name_on_the_machine_is_asked_for_one(refused, monkeypatch, tmp_path):
    def fail():
        raise KeyError("getpwuid(): uid not found: 12345")

    write_judged(tmp_path / "judged.csv")
    monkeypatch.setattr(labelling_commands, "getuser", fail)
    refused("--annotator NAME", "label", *ARGUMENTS)
