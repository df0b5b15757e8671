"""Readings of a model on this machine: a tiny one with random weights, against a plain loop."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from tiny_model import OPTIONS, TEXTS, network, tokenizer  # noqa: E402

from cordial_ppl.errors import InputError, Refused  # noqa: E402
from cordial_ppl.logs.ask.local import LocalModel  # noqa: E402
from cordial_ppl.tables import read_columns  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=["chat", "plain"])
def folder(request, tmp_path):
    """A folder with a model and its tokenizer."""
    words = tokenizer(request.param == "chat")
    words.save_pretrained(tmp_path / "tiny")
    network(len(words)).save_pretrained(tmp_path / "tiny")
    return str(tmp_path / "tiny")


def plain_loop(local, question):
    """One option at a time, through the whole model, without a cache."""
    prompt, options = local.tokenise(question)
    scores = []
    for option in options:
        with torch.no_grad():
            ids = torch.tensor([[*prompt, *option]])
            logits = local.model(input_ids=ids, use_cache=False).logits[0].float()
        logs = torch.log_softmax(logits, dim=-1)
        start = len(prompt)
        scores.append(sum(float(logs[start + i - 1, own]) for i, own in enumerate(option)))
    return scores


@pytest.mark.parametrize("options", [OPTIONS, tuple(map(str, range(1, 11))), ("film", "book")])
def test_log_likelihoods_are_those_of_a_plain_loop(folder, options):
    local, questions = LocalModel(folder, options), [f"Rate the text. {text}" for text in TEXTS]
    scores = [list(local.ask(question)["scores"].values()) for question in questions]
    loop = np.array([plain_loop(local, question) for question in questions])
    np.testing.assert_allclose(scores, loop, rtol=0, atol=1e-5)
    assert np.ptp(loop, axis=1).min() > 0.1
    for question in questions:
        prompt, ends = local.tokenise(question)
        assert prompt and all(ends) and len(set(map(tuple, ends))) == len(options)


def test_memory_that_is_short_is_told(folder, monkeypatch):
    def limited(**_):
        raise torch.OutOfMemoryError

    local = LocalModel(folder, OPTIONS)
    monkeypatch.setattr(local.model, "forward", limited)
    with pytest.raises(Refused, match="memory"):
        local.ask(TEXTS[0])


def test_from_texts_to_readings(cordial, tmp_path):
    words = tokenizer(chat=True)
    words.save_pretrained(tmp_path / "tiny")
    network(len(words)).save_pretrained(tmp_path / "tiny")
    rows = [f"t{i},{text}\n" for i, text in enumerate((*TEXTS * 3, "good " * 300))]
    (tmp_path / "texts.csv").write_text("item_id,text\n" + "".join(rows))
    command = ("ask", "texts.csv", "-o", "out.csv", "--model", "tiny", "--local")
    shown = cordial(*command, "--options", ",".join(OPTIONS)).stderr
    assert "'t12'" in shown and "256-token limit of 'tiny'" in shown
    columns = read_columns("out.csv")
    # A text that was not read is a row, too.
    assert list(columns.cells["item_id"]) == [f"t{i}" for i in range(13)]
    cells = [columns.cells[f"logprob_{option}"] for option in OPTIONS]
    assert not any(column[12] for column in cells)
    scores = np.array([[float(cell) for cell in column[:12]] for column in cells]).T
    # The same texts again are the same readings.
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[:4], scores[4:8])
    with pytest.raises(InputError, match="cannot load the model"):
        LocalModel(str(tmp_path), OPTIONS)
