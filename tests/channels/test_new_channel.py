"""A researcher's way: a channel copied from the template goes everywhere with no other change."""

import json
from functools import partial
from pathlib import Path

import arviz as az
import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

import cordial_ppl as cp
from cordial_ppl.decisions import answers
from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.evaluation.tasks import read_tasks

TEMPLATE = Path(__file__).parents[2] / "models" / "template.py"


@pytest.fixture
def mine(tmp_path):
    """The template with another prior of the gain, and a covariate: how clear a text is."""
    text = TEMPLATE.read_text().replace("dist.LogNormal(0.0, 0.5)", "dist.LogNormal(0.0, 0.2)")
    scaled = "(-concentration * readings.covariates['doubt'][:, None] *"
    text = text.replace("(-concentration *", scaled)
    text = text.replace("PARAMETERS = {", "PARAMETERS = {'gain': 'classes a stated class',")
    assert "doubt" in text and "0.2" in text and "a stated" in text
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


def test_a_new_channel_goes_everywhere(cordial, mine, tmp_path, undrawn):
    doubt = np.random.default_rng(0).uniform(0.5, 2.0, TEXTS)
    readings, labels = write_tables(tmp_path, doubt=doubt)
    logits = np.stack([np.array(read(readings)[f"logit_{k}"], float) for k in range(1, 6)], 1)
    given, extra = [str(z) for z in read(labels)["label"]], {"doubt": doubt[:LABELLED]}
    single = cp.ChannelCalibrator(mine, [*"12345"]).fit(logits[:LABELLED], given, extra)
    assert single.posterior_.diagnostics.trusted
    assert "gain" in az.summary(single.to_datatree()).index
    options = "--channel", mine, "--quiet"
    mode = "--inference", "mode"
    arguments = "calibrate", readings, labels, "-o", "o.csv", *mode, *options, "--json"
    said = json.loads(cordial(*arguments).stdout)["summary"]
    faults = {fault["name"]: fault["words"] for fault in said["channel_faults"]["mine"]}
    assert "mine" in said["weights"] and faults["gain"] == "classes a stated class"
    probs = np.array([read("o.csv")[f"p_{k}"] for k in range(1, 6)], float).T
    stack = cp.Cordial([*"12345"], channels=[mine], inference="mode")
    expected = stack.fit(logits[:LABELLED], given, extra).predict_proba(logits, {"doubt": doubt})
    np.testing.assert_allclose(probs, expected, rtol=0, atol=1e-9)
    cordial("fit", readings, labels, "-o", "j.cordial", *mode, *options)
    cordial("predict", "j.cordial", readings, "-o", "p.csv", *options)
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "o.csv").read_bytes()
    # The file that is named again has the words.
    again = answers.describe(cp.load("j.cordial", channels=[mine]).fit_)
    pairs = again.channel_faults, answers.describe(stack.fit_).channel_faults
    ours, others = ([(f.name, f.words, f.median) for f in each["mine"]] for each in pairs)
    for one, other in zip(ours, others, strict=True):
        assert one[:2] == other[:2] and one[2] == pytest.approx(other[2])
    cordial("report", "j.cordial", readings, labels, "-o", "page.html", "--channel", mine)
    assert "classes a stated class" in (tmp_path / "page.html").read_text()


def test_a_value_beyond_the_levels_is_refused_before_and_after_the_fit(cordial, mine, tmp_path):
    with mine.open("a") as file:
        file.write("\nLEVELS = {'doubt': 3}\n")
    doubt = np.arange(TEXTS) % 3
    table, labels = write_tables(tmp_path, doubt=doubt)
    options = "--channel", mine, "--inference", "mode", "--quiet"
    cordial("fit", table, labels, "-o", "j.cordial", *options)
    doubt[[41, 50]] = 7, -1
    table, labels = write_tables(tmp_path, doubt=doubt)
    for arguments in (
        ("calibrate", table, labels, "-o", "o.csv", *options),
        ("predict", "j.cordial", table, "-o", "o.csv", *options[:2]),
        ("report", "j.cordial", table, labels, "-o", "o.html", *options[:2]),
    ):
        assert "0..2" in (told := cordial(*arguments, status=2).stderr) and "7 in lines 43" in told
    assert not {*tmp_path.glob("o.*")}
    logits, rated = np.eye(5)[[0, 1, 2, 3, 4, 0]], [0, 1, 2, 3, 4, 1]
    stack, beyond = cp.load("j.cordial", channels=[mine]), {"doubt": [0, 1, 2, 1, 3, 0]}
    fusion = cp.Fusion(average=False, channels=[mine], inference="mode")
    gaps = np.stack([np.where(np.eye(6)[:, [0]] == 1, np.nan, logits), logits], 1)
    fusion.fit(gaps, rated, {"doubt": [0, 1, 2, 1, 0, 0]})
    silent = {"sample_weight": [0, 1, 1, 1, 1, 1]}
    for call in (
        lambda: cp.ChannelCalibrator(mine).fit(logits, rated, beyond),
        # Rows are those given: what counts nothing, and texts that a reader lacks, are rows too.
        lambda: cp.Cordial(channels=[mine]).fit(logits, rated, beyond, **silent),
        lambda: stack.predict_proba(logits, beyond),
        lambda: fusion.predict_proba(gaps, beyond),
        lambda: cp.Fusion(channels=[mine]).fit(gaps, rated, beyond),
        lambda: cp.learn_prior({"task": (logits, rated, beyond)}, channels=[mine]),
    ):
        with pytest.raises(cp.InputError, match="'doubt' .* 0..2 .* 3 in row 4"):
            call()


def test_it_goes_through_a_sweep(mine, tmp_path):
    readings, labels = write_tables(tmp_path, doubt=[1.0] * TEXTS)
    tasks = read_tasks(readings, labels, LABELLED // 4, channels=[mine])
    single = partial(cp.ChannelCalibrator, mine, inference="mode")
    methods = {"mine": single(), "tight": single(prior={"offset": (0, 0.001)})}
    losses = run_sweep(tasks, methods, [10], 1).filter(metric="log_loss")
    assert losses["method"].to_list() == ["mine", "tight"]
    assert abs(losses["value"][0] - losses["value"][1]) > 1e-3
