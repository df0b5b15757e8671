"""`cordial learn-prior`, and `--prior` of the other commands."""

import json
from pathlib import Path

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, read_probabilities, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import write_table


@pytest.fixture
def tables(cordial, tmp_path, monkeypatch):
    """Two tasks as two readers read them, and twenty labels each; one channel, to be quick."""
    assert cp.learn_prior  # Loaded now: its defaults are the channels that there are.
    monkeypatch.setattr("cordial_ppl.channels.AFFINE_CHANNELS", ("mixture",))
    readings, labels = map(read, write_tables(tmp_path))
    logits = np.array([readings[f"logit_{k}"] for k in range(1, 6)], float)
    shown = np.concatenate([logits, logits[::-1], logits / 2, logits * 2], axis=1)
    many = {"item_id": readings["item_id"] * 4, "task": np.repeat(["wit", "tone"], 2 * TEXTS)}
    many["reader"] = np.tile(np.repeat(["a", "b"], TEXTS), 2)
    write_table("many.csv", many | {f"logit_{k}": shown[k - 1] for k in range(1, 6)})
    tasks = {"task": np.repeat(["wit", "tone"], LABELLED)}
    write_table("known.csv", tasks | {name: column * 2 for name, column in labels.items()})
    return "many.csv", "known.csv"


def test_a_prior_is_learned_and_used(cordial, as_json, tables, tmp_path):
    content = as_json("learn-prior", *tables, "-o", "p.cordial")
    tasks = [(fit["task"], fit["reader"], fit["labels"]) for fit in content["fits"]]
    assert tasks == [(t, r, 20) for t in ("wit", "tone") for r in ("a", "b")]
    assert len(content["parameters"]) == 5 and content["options"] == 5
    rows = {row["parameter"]: row for row in content["parameters"]}
    for end, loc in (("centre", "loc"), ("default_centre", "default_loc")):
        assert rows["temperature"][end] == pytest.approx(np.exp(rows["temperature"][loc]))
    told = cordial("learn-prior", *tables, "-o", "q.cordial", "--leave-out", "wit").stdout
    assert "'tone'" in told and "'wit'" not in told
    assert cp.priors.LearnedPrior.load(tmp_path / "q.cordial").tasks == ("tone",)
    # The parameters whose prior moves most.
    told = cordial("learn-prior", *tables, "-o", "q.cordial").stdout

    def move(row):
        return abs(row["loc"] - row["default_loc"]) / row["default_scale"]

    first, *others = sorted(rows, key=lambda name: -move(rows[name]))
    assert all(told.index(f"{first} ") < told.index(f"{name} ") for name in others)
    one = "--task", "wit", "--reader", "a"
    for name, rest in (("x", ()), ("y", ("--prior", "p.cordial"))):
        cordial("calibrate", *fast(*tables, *one, "-o", f"{name}.csv", *rest))
    cordial("calibrate", *fast("r.csv", "l.csv", "-o", "z.csv"))
    plain, learned, alone = (read_probabilities(f"{name}.csv") for name in "xyz")
    np.testing.assert_allclose(plain, alone, rtol=1e-9)
    assert abs(plain - learned).max() > 0.001


def test_labels_of_one_task_are_not_those_of_another(as_json, refused, tables):
    known = read(tables[1])
    write_table("wit.csv", {name: known[name][:20] for name in ("item_id", "label")})
    arguments = "learn-prior", "many.csv", "wit.csv", "-o", "p.cordial"
    refused("wit.csv|task|wit, tone", *arguments)
    fits = as_json(*arguments, "--task", "wit")["fits"]
    assert [fit["task"] for fit in fits] == ["wit", "wit"]


def test_readers_may_have_missed_texts_and_channels_have_covariates(cordial, tables, tmp_path):
    """Who has few labels is named, once."""
    cells = read(tables[0])
    cells["time"] = list(np.linspace(0, 1, len(cells["item_id"])))
    rows = zip(cells["reader"], cells["item_id"], strict=True)
    kept = [i for i, (r, t) in enumerate(rows) if r == "a" or int(t.split()[1]) % 4]
    write_table("gaps.csv", {name: [column[i] for i in kept] for name, column in cells.items()})
    drift = str(Path(__file__).parents[2] / "models" / "drift.py")
    arguments = "learn-prior", "gaps.csv", tables[1], "-o", "p.cordial", "--channel", drift
    result = cordial(*arguments, "--unit", "drift=1", "--json")
    (told,) = (line for line in result.stderr.splitlines() if "fewer than 20" in line)
    assert all(f"{task}, b (15)" in told for task in ("wit", "tone")) and ", a (" not in told
    fits = json.loads(result.stdout)["fits"]
    assert [fit["labels"] for fit in fits] == [20, 15, 20, 15]
    prior = cp.priors.LearnedPrior.load(tmp_path / "p.cordial")
    assert prior.channels["drift"].covariates == ("time",) and prior.rule.units == {"drift": 1.0}


def test_a_column_that_is_named_is_no_task(refused, tmp_path):
    (tmp_path / "r.csv").write_text("task,rating\n" + "".join(f"{i},{i % 5}\n" for i in range(9)))
    (tmp_path / "l.csv").write_text("task,who,label\n" + "".join(f"{i},a,1\n" for i in range(9)))
    chosen = "--id", "task", "--annotator", "who", "--options", "0,1,2,3,4"
    refused("2 tasks|got r", "learn-prior", "r.csv", "l.csv", "-o", "p.cordial", *chosen)
