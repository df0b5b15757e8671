"""Fusion of several readers: what it says, what may be missing, and what it refuses."""

from typing import Any

import jax
import numpy as np
import pytest
from few_labels import STARS, assert_probabilities
from three_readers import LABELS, NAMES, THREE, THREE_TEST, TRUTH

import cordial_ppl as cp
from cordial_ppl import storage
from cordial_ppl.channels import CHANNELS
from cordial_ppl.fusion import ConcatenatedDirichlet, LogitFusion, average_reading
from cordial_ppl.fusion.door import pool
from cordial_ppl.fusion.joint import JOINT, joint_prior
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors import Priors
from cordial_ppl.scores import log_loss


@pytest.fixture(scope="module")
def gappy():
    """Readings of which some by two of the readers are missing."""
    logits = THREE.copy()
    logits[::10, 1] = np.nan
    logits[::7, 2] = np.nan
    return logits


@pytest.fixture(scope="module")
def fusion(gappy):
    return cp.Fusion(readers=NAMES, inference="mode").fit(gappy, LABELS)


def test_probabilities_weights_and_losses(fusion):
    probs = fusion.predict_proba(THREE_TEST)
    assert_probabilities(probs, 40, 5)
    assert tuple(fusion.weights_) == (*NAMES, "average reading", "joint channel")
    assert np.isclose(sum(fusion.weights_.values()), 1)
    assert fusion.weights_["plain"] > fusion.weights_["noise"]
    assert fusion.best_reader_ == "plain"
    assert np.isclose(sum(fusion.shares_.values()), 1)
    assert fusion.shares_["plain"] > fusion.shares_["noise"]
    raw = cp.RawReading().fit(average_reading(THREE)).predict_proba(average_reading(THREE_TEST))
    assert log_loss(probs, TRUTH) < log_loss(raw, TRUTH)
    assert_probabilities(fusion.out_of_fold_, 20, 5)
    assert fusion.expected_.cordial == pytest.approx(log_loss(fusion.out_of_fold_, LABELS))
    assert fusion.expected_.labels == 20


def test_it_is_the_mixture_of_its_members(fusion):
    parts = [fusion.stacks_[name].predict_proba(THREE_TEST[:, r]) for r, name in enumerate(NAMES)]
    average = pool(THREE_TEST, fusion._spreads)
    parts.append(fusion.fits_["average reading"].predict_proba(average))
    parts.append(fusion.fits_["joint channel"].predict_centred(THREE_TEST, {}))
    expected = sum(w * p for w, p in zip(fusion.weights_.values(), parts, strict=True))
    np.testing.assert_allclose(fusion.predict_proba(THREE_TEST), expected, rtol=0, atol=1e-6)


def test_a_missing_reading_is_left_out_of_its_text_alone(fusion):
    logits = THREE_TEST.copy()
    logits[3, 0] = np.nan
    found, whole = fusion.predict_proba(logits), fusion.predict_proba(THREE_TEST)
    rest = np.arange(40) != 3
    np.testing.assert_allclose(found[rest], whole[rest], rtol=0, atol=1e-12)
    weights = fusion.weights_
    own = [fusion.stacks_[NAMES[r]].predict_proba(logits[3:4, r]) for r in (1, 2)]
    average = pool(logits[3:4], fusion._spreads)
    own.append(fusion.fits_["average reading"].predict_proba(average))
    own.append(fusion.fits_["joint channel"].predict_centred(logits[3:4], {}))
    shares = np.array([weights[name] for name in fusion.weights_ if name != "plain"])
    expected = np.tensordot(shares / shares.sum(), np.concatenate(own), 1)
    np.testing.assert_allclose(found[3], expected, rtol=0, atol=1e-6)


def test_each_reader_is_fitted_to_what_it_has_read(fusion, gappy):
    seen = ~np.isnan(gappy[:, 1, 0])
    assert fusion.stacks_["lower"].expected_.labels == seen.sum() == 18


def test_intervals_hold_the_mean(fusion, gappy):
    low, high = fusion.predict_interval(gappy)
    mean = fusion.predict_mean(gappy)
    assert (low <= mean).all() and (mean <= high).all() and (high > low).any()
    assert (low >= 0).all() and (high <= 4).all()


def test_a_saved_fusion_predicts_the_same(fusion, tmp_path):
    fusion.save(tmp_path / "f.cordial")
    found = cp.load(tmp_path / "f.cordial")
    assert isinstance(found, cp.Fusion) and found.readers_ == NAMES
    assert found.weights_ == fusion.weights_ and found.expected_ == fusion.expected_
    expected = fusion.predict_proba(THREE_TEST)
    np.testing.assert_array_equal(found.predict_proba(THREE_TEST), expected)
    assert found.shares_ == fusion.shares_
    found.save(tmp_path / "g.cordial")
    assert (tmp_path / "g.cordial").read_bytes() == (tmp_path / "f.cordial").read_bytes()
    with pytest.raises(cp.FileError, match="holds a 'fusion'"):
        storage.read(tmp_path / "f.cordial", "judge")
    with pytest.raises(cp.NotFittedError):
        cp.Fusion().save(tmp_path / "h.cordial")
    with pytest.raises(cp.InputError, match="only a Fusion can be saved"):
        LogitFusion().save(tmp_path / "h.cordial")


@pytest.mark.parametrize(
    "change",
    [
        lambda meta, arrays: meta["weights"].update(plain=2.0),
        lambda meta, arrays: meta["readers"].reverse(),
        lambda meta, arrays: meta["stacks"].pop("noise"),
        lambda meta, arrays: meta.update(options=["1", "2"]),
        lambda meta, arrays: arrays.update(spreads=np.ones(2)),
        lambda meta, arrays: arrays.update(more=np.ones(2)),
        lambda meta, arrays: meta["settings"].update(average=False, magic=1),
    ],
)
def test_a_changed_file_is_refused(fusion, tmp_path, change):
    fusion.save(tmp_path / "f.cordial")
    meta, arrays = storage.read(tmp_path / "f.cordial", "fusion")
    change(meta, arrays)
    storage.write(tmp_path / "f.cordial", "fusion", meta, arrays)
    with pytest.raises(cp.FileError, match="damaged or was changed"):
        cp.load(tmp_path / "f.cordial")


def test_a_mapping_names_the_readers(fusion, gappy):
    by_name = {name: gappy[:, r] for r, name in enumerate(NAMES)}
    found = cp.Fusion(STARS, inference="mode").fit(by_name, [STARS[z] for z in LABELS])
    assert found.readers_ == NAMES and found.weights_ == fusion.weights_
    other = {name: THREE_TEST[:, r] for r, name in reversed(list(enumerate(NAMES)))}
    expected = fusion.predict_proba(THREE_TEST)
    np.testing.assert_array_equal(found.predict_proba(other), expected)


def test_readers_who_read_nothing_need_not_be_named(fusion):
    gone = np.full_like(THREE_TEST, np.nan)
    gone[:, 0] = THREE_TEST[:, 0]
    found = fusion.predict_proba({"plain": THREE_TEST[:, 0]})
    np.testing.assert_array_equal(found, fusion.predict_proba(gone))
    with pytest.raises(cp.InputError, match="found plain, somebody"):
        fusion.predict_proba({"plain": THREE_TEST[:, 0], "somebody": THREE_TEST[:, 1]})


def test_a_refit_that_fails_changes_nothing(gappy):
    fusion = cp.Fusion(inference="mode").fit(THREE[:, :2], LABELS)
    before = fusion.predict_proba(THREE_TEST[:, :2])
    with pytest.raises(cp.InputError, match="has none"):
        unread = THREE.copy()
        unread[:, 2] = np.nan
        fusion.fit(unread, LABELS)
    assert fusion.readers_ == ("reader 0", "reader 1")
    np.testing.assert_array_equal(fusion.predict_proba(THREE_TEST[:, :2]), before)


def test_summary_in_plain_words(fusion, gappy):
    text = fusion.summary()
    for name in NAMES:
        assert f"  {name} (" in text
    assert "Expected log loss" in text and "average reading" in text
    few = LogitFusion().fit(THREE[:5], LABELS[:5]).summary()
    assert "too few labels for folds (5)" in few and "by itself" not in few
    with pytest.raises(cp.NotFittedError):
        cp.Fusion().summary()


def test_one_reader():
    found = cp.Fusion(inference="mode").fit(THREE[:, :1], LABELS)
    assert found.weights_ == {"reader 0": 1.0}
    assert found.shares_ == {"reader 0": 1.0} and found.best_reader_ == "reader 0"
    own = found.stacks_["reader 0"]
    np.testing.assert_allclose(
        found.predict_proba(THREE_TEST[:, :1]), own.predict_proba(THREE_TEST[:, 0]), atol=1e-12
    )
    assert found.expected_.cordial == pytest.approx(own.expected_.cordial)
    assert found.expected_.raw == pytest.approx(own.expected_.raw)


def test_few_labels_leave_the_weights_of_the_prior():
    found = LogitFusion().fit(THREE[:5], LABELS[:5])
    expected = {"reader 0": 1, "reader 1": 1, "reader 2": 1, "average reading": 12}
    assert found.weights_ == pytest.approx({name: n / 15 for name, n in expected.items()})
    flat = dict.fromkeys(found.weights_, 1.0)
    alike = LogitFusion(weight_counts=flat).fit(THREE[:5], LABELS[:5])
    assert set(alike.weights_.values()) == {0.25}
    assert found.out_of_fold_ is None and np.isnan(found.expected_.cordial)
    assert found.best_reader_ == "reader 0"


def test_weights_that_collapse_leave_the_others_for_texts_without_that_reader():
    found = LogitFusion(average=False).fit(THREE[:, [0, 2]], LABELS)
    found.weights_ = {"reader 0": 1.0, "reader 1": 0.0}
    logits = THREE_TEST[:, [0, 2]].copy()
    logits[0, 0] = np.nan
    expected = found.stacks_["reader 1"].predict_proba(logits[:1, 1])
    np.testing.assert_allclose(found.predict_proba(logits)[:1], expected, rtol=0, atol=1e-6)


def test_readers_whose_texts_do_not_overlap():
    apart = THREE[:, :2].copy()
    apart[:10, 0] = np.nan
    apart[10:, 1] = np.nan
    with pytest.warns(cp.CordialWarning, match="no labelled text in common"):
        found = LogitFusion(readers=("a", "b"), average=False).fit(apart, LABELS)
    assert min(found.weights_.values()) > 0
    apart[:, 1] = np.nan
    with pytest.raises(cp.InputError, match="'b' has none"):
        LogitFusion(readers=("a", "b")).fit(
            np.where(np.isnan(apart), np.where([[[1], [0]]], 1.0, np.nan), apart), LABELS
        )


def test_priors_and_channels_go_to_the_stacks():
    given = {"mixture": cp.Prior(np.zeros(5), np.ones(5))}
    fusion = cp.Fusion(prior=given, channels=["scalar"])
    assert fusion._stack(3).settings.prior.given == given and "scalar" in fusion._stack(3).members
    with pytest.raises(cp.InputError, match="prior may name the channels mixture"):
        cp.Fusion(prior={"magic": given["mixture"]})


def test_priors_reach_the_joint_channel():
    given = {"offset": (2.0, 1e-3), "temperature": (1.0, 1e-3)}
    fusion = cp.Fusion(prior=given, inference="mode").fit(THREE, LABELS)
    found: Any = fusion.fits_["joint channel"]
    assert found.mean()["offset"] == pytest.approx(2.0, abs=0.01)
    np.testing.assert_allclose(found.mean()["temperature"], np.exp(1.0), rtol=0.01)
    tasks = {name: (THREE_TEST[:, r], TRUTH) for r, name in enumerate(NAMES)}
    learned = cp.learn_prior(tasks, channels=["location"])
    spreads = (1.0, 2.0, 4.0)
    prior = joint_prior(Priors(learned=learned), 5, spreads, ())
    with jax.enable_x64(True):
        single = [learned.of(build_target(CHANNELS["location"], 5), own) for own in spreads]
        target = build_target(JOINT, 5, (), 3)
    assert prior is not None
    places = {site.name: site.slice for site in target.sites}
    np.testing.assert_array_equal(prior.loc[places["temperature"]], [own.loc[0] for own in single])
    assert single[1].loc[0] - single[0].loc[0] == pytest.approx(np.log(2))
    assert prior.loc[places["gain"]] == single[0].loc[2]
    np.testing.assert_array_equal(prior.scale[places["contrast"]], np.ones(2))
    assert joint_prior(Priors(), 5, spreads, ()) is None


def test_arviz_sees_every_member(fusion):
    tree: Any = fusion.to_datatree()
    assert set(tree.children) == set(fusion.fits_)
    assert set(tree["plain"].children) == set(fusion.stacks_["plain"].posteriors_)
    joint = tree["joint channel"]["posterior"]["temperature"]
    assert joint.dims == ("chain", "draw", "reader")
    assert list(joint.coords["reader"].values) == list(NAMES)
    assert tree["joint channel"]["log_likelihood"].sizes["text"] == 20
    assert tree["lower"]["mixture"]["log_likelihood"].sizes["text"] == 18


def test_a_fusion_without_channels():
    found = LogitFusion().fit(THREE, LABELS)
    assert set(found.weights_) == {"reader 0", "reader 1", "reader 2", "average reading"}
    assert set(found.stacks_["reader 0"].weights_) == {"temperature", "vector", "odds"}
    assert_probabilities(found.predict_proba(THREE_TEST), 40, 5)
    assert found.predict_interval(THREE_TEST)[0].shape == (40,)


def test_dirichlet_calibration_of_concatenated_readings():
    found = ConcatenatedDirichlet().fit(THREE, LABELS)
    assert found.params_.weights.shape == (5, 15)
    assert_probabilities(found.predict_proba(THREE_TEST), 40, 5)
    alone = ConcatenatedDirichlet().fit(THREE[:, :1], LABELS).predict_proba(THREE_TEST[:, :1])
    plain = cp.DirichletCalibration().fit(THREE[:, 0], LABELS).predict_proba(THREE_TEST[:, 0])
    np.testing.assert_allclose(alone, plain, rtol=0, atol=1e-8)
    gap = THREE.copy()
    gap[4, 1] = np.nan
    with pytest.raises(cp.InputError, match="one is missing in row 4"):
        ConcatenatedDirichlet().fit(gap, LABELS)


def test_the_average_reading_leaves_out_what_is_missing():
    logits = np.log([[[0.2, 0.8], [0.6, 0.4]], [[0.1, 0.9], [0.5, 0.5]]])
    logits[1, 1] = np.nan
    np.testing.assert_allclose(np.exp(average_reading(logits)), [[0.4, 0.6], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (THREE[:, 0], r"shape \[n, R, K\]; found \[20, 5\]. One reader is an axis too"),
        ([["a"]], "must be numbers"),
        (np.full((20, 3, 5), np.nan), "no reader has read rows 0, 1, 2"),
        (np.where(np.arange(5) == 2, np.nan, THREE), "found nan in row 0 of 'plain', column 2"),
        (np.where(np.arange(5) == 2, np.inf, THREE), "found inf in row 0 of 'plain', column 2"),
        (THREE[:, :2], "each of 3 readers, plain, lower, noise; found 2"),
        (THREE[:19], "19 rows came with 20 labels"),
        ({"plain": THREE[:, 0], "other": THREE[:, 1]}, "found plain, other"),
        ({n: THREE[: 20 - r, r] for r, n in enumerate(NAMES)}, r"'lower' is \[19, 5\]"),
    ],
)
def test_readings_that_are_refused(logits, message):
    with pytest.raises(cp.InputError, match=message):
        cp.Fusion(readers=NAMES).fit(logits, LABELS)


def test_settings_that_are_refused(fusion):
    for settings, message in (
        ({"readers": ("a", "a")}, "'a' occurs twice"),
        ({"readers": ("a", "joint channel")}, "no reader can be called 'joint channel'"),
        ({"readers": ("a", "b"), "weight_counts": {"c": 1.0}}, "got 'c'"),
        ({"inference": "magic"}, "inference must be one of"),
    ):
        given: dict[str, Any] = settings
        with pytest.raises(cp.InputError, match=message):
            cp.Fusion(**given)
    with pytest.raises(cp.NotFittedError):
        cp.Fusion().predict_proba(THREE)
    with pytest.raises(cp.InputError, match="3 readers, plain, lower, noise; found 2"):
        fusion.predict_proba(THREE_TEST[:, :2])
    with pytest.raises(cp.InputError, match="must have 5 columns; found 4"):
        fusion.predict_proba(THREE_TEST[:, :, :4])
