"""`cordial learn-prior`, and `--prior` of the other commands."""

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from review_tables import fast, write_tables
from sweep_files import tasks_of, write_sweep

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.evaluation.sweeps import make_parts
from cordial_ppl.inference.priors.fits import LearnedChannel, TaskFit, reading_spread
from cordial_ppl.inference.target import build_target
from cordial_ppl.tables import read_labels, read_readings, write_table
from cordial_ppl.tables.formats import read_columns

PAIR = "many.csv known.csv"


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Two tasks as two readers read them, and twenty labels each; one channel, to be quick."""
    monkeypatch.setattr("cordial_ppl.channels.AFFINE_CHANNELS", ("mixture",))
    paths = write_tables(tmp_path)
    readings = read_readings(paths[0])
    labels = read_labels(paths[1], readings.scale)
    ids, logits = readings.item_ids, readings.logits
    pairs = [(task, reader) for task in ("wit", "tone") for reader in ("a", "b")]
    many = {"item_id": ids * 4, "task": [t for t, _ in pairs for _ in ids]}
    many["reader"] = [r for _, r in pairs for _ in ids]
    shown = np.concatenate([logits, logits[:, ::-1], logits / 2, logits * 2])
    many |= {f"logit_{k + 1}": shown[:, k] for k in range(5)}
    write_table(tmp_path / "many.csv", many)
    own = {"item_id": labels.item_ids * 2, "task": ["wit"] * 20 + ["tone"] * 20}
    write_table(tmp_path / "known.csv", own | {"label": [*(labels.labels + 1)] * 2})
    return tmp_path / "many.csv", tmp_path / "known.csv"


def test_a_prior_is_learned_and_used(cordial, tables, tmp_path):
    shown = cordial("learn-prior", *tables, "-o", "p.cordial", "--json").stdout
    content = json.loads(shown)
    tasks = [(fit["task"], fit["reader"], fit["labels"]) for fit in content["fits"]]
    assert tasks == [(t, r, 20) for t in ("wit", "tone") for r in ("a", "b")]
    assert len(content["parameters"]) == 5 and content["options"] == 5
    prior = cp.LearnedPrior.load(tmp_path / "p.cordial")
    with jax.enable_x64(True):
        found = prior.of(build_target(CHANNELS["mixture"], 5))
    rows = {row["parameter"]: row for row in content["parameters"]}
    assert rows["offset"]["loc"] == pytest.approx(found.loc[1])
    result = cordial("learn-prior", *tables, "-o", "q.cordial", "--leave-out", "wit")
    assert "1 task by 2 readers, 2 fits to 20 labels each\n  'tone'" in result.stdout
    assert "2 fits of 1 task" in result.stderr
    assert cp.LearnedPrior.load(tmp_path / "q.cordial").tasks == ("tone",)
    told = cordial("learn-prior", *tables, "-o", "q.cordial").stdout
    moved = {
        n: abs(row["loc"] - row["default_loc"]) / row["default_scale"] for n, row in rows.items()
    }
    widths = [row["scale"] / row["default_scale"] for row in rows.values()]
    middle = f"{np.median([*moved.values()]):.2f} +{np.median(widths):.2f}"
    assert re.search(f"mixture +5 +{middle}", told)
    first = max(moved, key=lambda name: moved[name])
    ends = f"{rows[first]['centre']:.2f} in place of {rows[first]['default_centre']:.2f}"
    assert told.split("seen a label\n  mixture: ")[1].startswith(f"{first} {ends}\n")
    for end, loc in (("centre", "loc"), ("default_centre", "default_loc")):
        assert rows["temperature"][end] == pytest.approx(np.exp(rows["temperature"][loc]))
    one = "--task", "wit", "--reader", "a"
    for name, rest in (("x", ()), ("y", ("--prior", "p.cordial"))):
        cordial("calibrate", *fast(*tables, *one, "-o", f"{name}.csv", *rest))
    plain, learned = ((tmp_path / f"{name}.csv").read_text() for name in "xy")
    assert plain != learned
    cordial("fit", *fast(*tables, *one, "-o", "j.cordial", "--prior", "p.cordial"))
    kept = cp.load(tmp_path / "j.cordial").prior.by_channel
    readings = read_readings(tables[0], task="wit", reader="a")
    with jax.enable_x64(True):
        target = build_target(CHANNELS["mixture"], 5)
    found = prior.of(target, reading_spread(readings.logits[:20]))
    np.testing.assert_array_equal(kept["mixture"], found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("many.csv", "tables come in pairs, READINGS LABELS; got 1"),
        (f"{PAIR} {PAIR}", "many.csv: wit by a was in an earlier"),
        (f"{PAIR} --task odd", "--task odd: no table holds labelled texts"),
        (
            f"{PAIR} --leave-out odd",
            "no task 'odd' to leave out; found 'wit', 'tone'. Choose among these, for example: "
            "--leave-out wit.",
        ),
        ("r.csv l.csv", "at least; there is r. Leave out fewer, or add tasks"),
    ],
)
def test_bad_input_is_one_message(arguments, message, cordial, tables):
    result = cordial("learn-prior", *arguments.split(), "-o", "p.cordial", status=2)
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_labels_of_one_task_are_not_those_of_another(cordial, tables, tmp_path):
    known = read_columns(tables[1]).cells
    write_table(tmp_path / "wit.csv", {k: list(known[k])[:20] for k in ("item_id", "label")})
    arguments = "learn-prior", tables[0], "wit.csv", "-o", "p.cordial"
    result = cordial(*arguments, status=2)
    assert (
        "wit.csv needs a column task, for" in result.stderr and "holds wit, tone" in result.stderr
    )
    shown = cordial(*arguments, "--task", "wit", "--json").stdout
    assert [fit["task"] for fit in json.loads(shown)["fits"]] == ["wit", "wit"]


def test_readers_may_have_missed_texts_and_channels_have_covariates(cordial, tables, tmp_path):
    cells = {name: list(own) for name, own in read_columns(tables[0]).cells.items()}
    cells["time"] = list(np.linspace(0, 1, len(cells["item_id"])))
    kept = [
        i
        for i, (r, t) in enumerate(zip(cells["reader"], cells["item_id"], strict=True))
        if r == "a" or int(t.split()[1]) % 4
    ]
    write_table(tmp_path / "gaps.csv", {k: [own[i] for i in kept] for k, own in cells.items()})
    drift = str(Path(__file__).parents[2] / "models" / "drift.py")
    arguments = "learn-prior", "gaps.csv", tables[1], "-o", "p.cordial", "--channel", drift
    result = cordial(*arguments, "--unit", "drift=1", "--json")
    assert "fewer than 20 labels say less" in result.stderr and "wit, b (15)" in result.stderr
    fits = json.loads(result.stdout)["fits"]
    assert [fit["labels"] for fit in fits] == [20, 15, 20, 15]
    prior = cp.LearnedPrior.load(tmp_path / "p.cordial")
    assert prior.channels["drift"].covariates == ("time",) and prior.rule.units == {"drift": 1.0}


def test_few_labels_are_warned_of_once(cordial, tables):
    rows = [f"{text},{reader},1,0,0,0,0" for reader in "ab" for text in ("x", "y")]
    Path("one.csv").write_text("\n".join(["item_id,reader,n_1,n_2,n_3,n_4,n_5", *rows]))
    Path("label.csv").write_text("item_id,label\nx,3\n")
    arguments = "learn-prior", *tables, "one.csv", "label.csv", "-o", "p.cordial", "--quiet"
    (told,) = cordial(*arguments).stderr.splitlines()
    assert told.endswith(
        "fewer than 20 labels say less of the reader than of the prior in the "
        "channel's file: one, a (1); one, b (1)."
    )


def test_a_sweep_knows_a_prior_by_its_contents(tmp_path):
    names = "temperature", "offset", "gain", "concentration", "strength_log_odds"
    values = {"mixture": {name: [0.0] for name in names}}
    fits = tuple(TaskFit(name, "", [1] * 5, values) for name in "ab")
    prior = cp.LearnedPrior(fits, {"mixture": LearnedChannel()})
    write_sweep(tmp_path)
    tasks, made = tasks_of(tmp_path, reader="a"), []
    for folder, rule in (("one", "paper"), ("two", "paper"), ("three", "cautious")):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "p.cordial"
        prior.with_rule(name=rule).save(path)
        method = cp.ChannelCalibrator("mixture", inference="mode", prior=path)
        (part,) = make_parts(tasks, {"learned": method}, [4], 1, folder=tmp_path / "parts")
        made.append(part.name)
    assert made[0] == made[1] != made[2]


def test_a_column_that_is_named_is_no_task(cordial, tmp_path):
    (tmp_path / "r.csv").write_text("task,rating\n" + "".join(f"{i},{i % 5}\n" for i in range(9)))
    (tmp_path / "l.csv").write_text("task,who,label\n" + "".join(f"{i},a,1\n" for i in range(9)))
    given = "--id", "task", "--annotator", "who", "--options", "0,1,2,3,4"
    said = cordial("learn-prior", "r.csv", "l.csv", "-o", "p.cordial", *given, status=2).stderr
    assert "needs the fits of 2 tasks" in said and "there is r." in said
