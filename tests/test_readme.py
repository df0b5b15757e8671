"""What README and ARCHITECTURE say is so: their code runs, and their answers hold."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import pages
import pytest
from labelling_pages import answer_by_thread

import cordial_ppl as cp
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.evaluation.synthetic import reviews

ROOT = Path(__file__).parent.parent
README, ARCHITECTURE = ((ROOT / name).read_text() for name in ("README.md", "ARCHITECTURE.md"))


def code_of(document, language):
    return re.findall(rf"```{language}\n(.*?)```", document, flags=re.DOTALL)


@pytest.mark.pinned
def test_the_example_gives_the_answer_and_the_losses_beside_it(capsys):
    texts = reviews()
    unseen, truth = texts.logits[20:], texts.labels[20:]
    raw = np.exp(unseen) / np.exp(unseen).sum(axis=1, keepdims=True)
    histogram = np.tile(label_histogram(texts.labels[:20], 5), (len(truth), 1))
    found = [cp.scores.log_loss(probs, truth) for probs in (raw, histogram)]
    (sentence,) = re.findall(r"log loss is ([\d.]+) nats, .* histogram's is ([\d.]+)\.\n", README)
    assert [f"{loss:.2f}" for loss in found] == list(sentence)
    (code,) = code_of(README, "python")
    assert len(code.splitlines()) <= 15
    (promised,) = re.findall(r"# (\d\.\d+)\n", code)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    # Two decimals, and the noise of the draws.
    assert float(printed[0]) == pytest.approx(float(promised), abs=0.015)
    assert any(line.strip().startswith("temperature") for line in printed[1:])


@pytest.mark.pinned
def test_the_commands_on_files(tmp_path, monkeypatch):
    """They run one after the other, with labels filled in; the ranking is as shown."""
    tutorial = (ROOT / "docs/tutorials/rank.md").read_text()
    pattern = r"^## From your table to a ranking\n(.*?)^## "
    (section,) = re.findall(pattern, README, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code_of(tutorial, "python")[0], "rank.md", "exec"), names)
    answer_by_thread(monkeypatch, 60, names["grades"])
    pages.run(section.partition("In Python")[0], tmp_path, shell=True)


def test_the_rooms_are_those_that_the_tools_check():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract, *_ = settings["tool"]["importlinter"]["contracts"]
    rooms = code_of(ARCHITECTURE, "")[0].splitlines()
    assert [re.split(r" {2,}", line)[0] for line in rooms] == contract["layers"]


def test_the_seam_is_all_that_an_author_writes(tmp_path):
    (code,) = code_of(ARCHITECTURE, "python")
    (tmp_path / "growing.py").write_text(code)
    texts = reviews(60)
    length = {"length": np.linspace(-1, 1, 60)}
    judge = cp.ChannelCalibrator(tmp_path / "growing.py").fit(texts.logits, texts.labels, length)
    assert judge.posterior_.diagnostics.trusted
    assert set(judge.posterior_.parameters()) == {"temperature", "growth"}
    # Longer texts need another temperature, up to what the posterior leaves open.
    same = np.repeat(texts.logits[:1], 2, axis=0)
    short, long = judge.predict_proba(same, {"length": np.array([-1.0, 1.0])})
    assert np.abs(short - long).max() > 1e-6


def test_the_methods_of_a_sweep_are_on_its_page():
    from cordial_ppl.evaluation.methods import METHODS

    page = (ROOT / "docs/tutorials/calibrate.md").read_text()
    (table,) = re.findall(r"^\| method \|.*?\n\n", page, flags=re.DOTALL | re.MULTILINE)
    names = re.findall(r"^(\|[^|]+)\|", table, flags=re.MULTILINE)
    assert re.findall(r"`([\w-]+)`", "".join(names)) == list(METHODS)


ABOUT = metadata("cordial-ppl")


def test_links_of_the_readme_lead_somewhere_without_the_repository():
    urls = dict(url.split(", ") for url in ABOUT.get_all("Project-URL", []))
    base = urls["Repository"]
    assert all(url.startswith(base) for url in urls.values()) and len(urls) == 4
    links = re.findall(r"\]\(([^)]+)\)", ABOUT["Description"])
    picture = f"{base}/raw/v{ABOUT['Version']}/docs/picture.svg"
    assert picture in links and all(link.startswith(("https://", "#")) for link in links)
