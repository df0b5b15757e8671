"""Fitted calibrators on disk: the same predictions to the last bit, or one clear error."""

import subprocess
import sys

import jax
import numpy as np
import numpyro
import pandas
import pytest
from broken_channels import write_channel
from few_labels import LABELS, LOGITS, READERS, STARS, TEST, THREE
from numpyro import distributions as dist

import cordial_ppl as cp
from cordial_ppl.data.labelling import as_texts
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.runtime import storage

# The noise of the fusion's third judge happens to fall as labels rise.
pytestmark = pytest.mark.filterwarnings("ignore:labels fall as:cordial_ppl.errors.CordialWarning")

RNG = np.random.default_rng(0)
PROBS, RATED = RNG.dirichlet(np.ones(5), 40), RNG.integers(0, 5, 40)
WHO = [f"user {row % 7}" for row in range(40)]


def assert_same(found, fitted):
    assert type(found) is type(fitted)
    assert found.fit_.scale == fitted.fit_.scale and found.weights_ == fitted.weights_
    assert found.settings.names == fitted.settings.names and found.summary() == fitted.summary()
    for method in ("predict_proba", "predict", "predict_mean", "predict_interval"):
        expected = getattr(fitted, method)(TEST)
        np.testing.assert_array_equal(getattr(found, method)(TEST), expected)


def test_every_kind_comes_back_bit_for_bit(judge, folder, tmp_path):
    assert_same(cp.load(folder / "calibrator"), judge)
    for path in folder.iterdir():
        cp.load(path).save(tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("labels", [3, 20])  # With three, the losses to expect are NaN.
@pytest.mark.parametrize("options", [None, STARS])
def test_a_stack_without_channels_comes_back(options, labels, tmp_path):
    stack = cp.LogitStack(options).fit(LOGITS[:labels], LABELS[:labels] + (options is not None))
    stack.save(tmp_path / "x.cordial")
    found = cp.load(tmp_path / "x.cordial")
    assert_same(found, stack)
    np.testing.assert_equal(found.fit_.expected, stack.fit_.expected)


def test_a_channel_file_must_be_named_again_and_be_the_same(tmp_path):
    mine, path = write_channel(tmp_path, "sound"), tmp_path / "saved.cordial"
    stack = cp.Cordial(channels=(mine,), inference="mode").fit(LOGITS, LABELS)
    code = mine.read_text()
    mine.unlink()  # Of the file no more is needed.
    stack.save(path)
    mine.write_text(code)
    with pytest.raises(cp.InputError, match=r"channels=\('sound.py',\)"):
        cp.load(path)
    assert_same(cp.load(path, channels=(mine,)), stack)
    mine.write_text(code + "# changed\n")
    with pytest.raises(cp.InputError, match="sound.py differs from"):
        cp.load(path, channels=(mine,))


def test_a_channel_of_other_parameters_is_refused(tmp_path):
    """An object has no file whose contents could be compared."""

    def make(name):
        def model(readings, labels=None):
            slope = numpyro.sample(name, dist.LogNormal(0.0, 1.0))
            cp.observe(jax.nn.log_softmax(readings.logits * slope, axis=1), labels)

        return cp.channels.Channel("own", model)

    path = tmp_path / "saved.cordial"
    cp.Cordial(channels=[make("slope")], inference="mode").fit(LOGITS, LABELS).save(path)
    assert "own" in cp.load(path, channels=[make("slope")]).weights_
    with pytest.raises(cp.ChannelError, match="'own' has 'gain', but was fitted with 'slope'"):
        cp.load(path, channels=[make("gain")])


@pytest.mark.parametrize(
    ("prior", "factor"),
    [
        ({"mixture": cp.priors.Prior(np.array([0.5, 1.0, 0.0, 1.0, 3.0]), np.full(5, 0.1))}, 1),
        # For other readings, what is not given in numbers is another prior.
        ({"offset": (0.5, 0.1)}, 8),
        ({"mixture": {"temperature": (0.5, 0.1)}, "bridge": {"offset": (0.5, 0.1)}}, 8),
        (cp.priors.shipped_prior().leave_out(cp.priors.shipped_prior().tasks[:1]), 8),
        (None, 0.1),
    ],
)
def test_a_calibrator_is_fitted_again_as_before(prior, factor, tmp_path):
    settings = {"inference": "mode", "prior": prior, "effort": cp.Effort(particles=512)}
    settings["weight_counts"] = {"mixture": 9.0}  # It needs no proof, where bridge's does.
    cp.Cordial(**settings).fit(LOGITS, LABELS).save(tmp_path / "saved.cordial")
    found = cp.load(tmp_path / "saved.cordial").fit(factor * LOGITS, LABELS)
    fresh = cp.Cordial(**settings).fit(factor * LOGITS, LABELS)
    assert found.effort == fresh.effort
    for changed in (found.settings, fresh.settings, cp.load(tmp_path / "saved.cordial").settings):
        assert changed.fixed_counts == ("mixture",)
    np.testing.assert_array_equal(found.predict_proba(TEST), fresh.predict_proba(TEST))


def test_a_prior_of_an_earlier_version_stays_that_of_its_readings(tmp_path):
    path = tmp_path / "saved.cordial"
    cp.Cordial(prior={"offset": (0.5, 0.1)}, inference="mode").fit(LOGITS, LABELS).save(path)
    meta, arrays = storage.read(path, "calibrator")
    for name, posterior in meta["posteriors"].items():
        del posterior["relative"], arrays[f"posteriors.{name}.relative"]
    storage.write(path, "calibrator", meta, arrays)
    loaded = cp.load(path)
    before = loaded.posteriors_["mixture"].replaced_prior
    after = loaded.fit(8 * LOGITS, LABELS).posteriors_["mixture"].replaced_prior
    np.testing.assert_array_equal(before, after)


def test_counts_set_after_loading_are_chosen_as_in_a_constructor(tmp_path):
    """Those of the calibrator that was saved are not chosen any more."""
    for fresh in (
        cp.Cordial(channels=["scalar"], weight_counts={"mixture": 9.0}, inference="mode"),
        cp.ScalarStack(weight_counts={"scalar": 2.0}, inference="mode"),
    ):
        fresh.fit(LOGITS, LABELS).save(tmp_path / "saved.cordial")
        loaded = cp.load(tmp_path / "saved.cordial")
        for counts in (fresh.weight_counts, {"scalar": 50.0}, {"scalar": 1.0}, None):
            settings = [each.set_params(weight_counts=counts).settings for each in (loaded, fresh)]
            for name in ("weight_counts", "fixed_counts"):
                assert getattr(settings[0], name) == getattr(settings[1], name)


class Mine(cp.LogitStack):
    pass


class UserWhim(cp.UserShift):
    effect = cp.UserShift.effect._replace(name="whim")


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "x.cordial"
    for kind in (Stack, Mine):
        fitted = kind().fit(LOGITS, LABELS)
        with pytest.raises(cp.InputError, match=f"only a named stack.*{kind.__name__}"):
            fitted.save(path)
    with pytest.raises(cp.InputError, match="only built-in shifts can be saved; got 'whim'"):
        UserWhim().fit(PROBS, RATED, WHO).save(path)
    for kind in (cp.Cordial, cp.UserShift):
        with pytest.raises(cp.NotFittedError, match=f"{kind.__name__} is not fitted"):
            kind().save(path)
    assert not path.exists()


@pytest.fixture(scope="module")
def folder(judge, tmp_path_factory):
    """One file of each kind, under its name."""
    path = tmp_path_factory.mktemp("saved")
    judge.save(path / "calibrator")
    cp.UserShift().fit(PROBS, RATED, WHO).save(path / "users")
    cp.Fusion(readers=READERS, inference="mode").fit(THREE, LABELS).save(path / "fusion")
    return path


EQUAL = dict.fromkeys(
    ("mixture", "mixture-vector", "location", "bridge", "temperature", "vector", "odds"), 1 / 7
)
DRAWS, WEIGHTS = "posteriors.mixture.draws", "posteriors.mixture.weights"
CHANGES = {
    "calibrator": [
        {"weights": EQUAL | {"odds": 1 / 7 + 1, "vector": 1 / 7 - 1}},
        {"weights": {"odds": 1.0}},
        {"scale": {"options": ["1", "1", "3", "4", "5"]}},
        {"estimator": "os.system"},
        {"inference": "guess"},
        {"expected": [1.0]},
        {"expected": None},
        {"odd": 1},
        {DRAWS: np.zeros((1024, 4))},
        {DRAWS: np.full((1024, 5), 1e300)},
        {WEIGHTS: np.full(1024, 1.0)},
        {"posteriors.mixture.prior": -np.ones((2, 5))},
        {"posteriors.mixture.relative": -np.ones((3, 5))},
        {"regressions.vector.weights": np.ones(4)},
        {"labelled.labels": np.full(20, 5)},
        {"labelled.labels": np.ones(20)},
        {"labelled.weights": np.zeros(20)},
        {"labelled.texts": np.zeros(3, np.int64)},
        {"labelled.logits": np.zeros((20, 4))},
        {"folds": np.zeros(19, np.int64)},
        {"out_of_fold": np.ones((20, 5))},
        {"sketch": np.array([[0, 10**6], [10, 10]])},
        {"sketch": np.ones((3, 4), np.int64)},
        {"more": np.ones(4)},
    ],
    "users": [
        {"names": ["a"] * 7},
        {"sigma": -1.0},
        {"effect": "temperature"},
        {"histogram": np.full(5, 0.3)},
        {"counts": np.zeros(7, np.int64)},
        {"spreads.0": -np.ones(33)},
        {"spreads.3": np.zeros((8, 33))},
        {"more": np.zeros(1)},
    ],
    "fusion": [
        {"weights": dict.fromkeys((*READERS, "average reading", "joint channel"), 1.0)},
        {"stacks": {}},
        {"spreads": np.ones(2)},
        {"labelled.labels": np.full(20, 5)},
        {"labelled.labels": np.full(20, -1)},
        {"settings": {"average": False, "magic": 1}},
    ],
}


@pytest.mark.parametrize(
    ("kind", "change"), [(kind, change) for kind in CHANGES for change in CHANGES[kind]]
)
def test_a_changed_file_is_refused(folder, tmp_path, kind, change):
    meta, arrays = storage.read(folder / kind, kind)
    for name, value in change.items():
        (arrays if isinstance(value, np.ndarray) else meta)[name] = value
    storage.write(tmp_path / "saved.cordial", kind, meta, arrays)
    with pytest.raises(cp.FileError, match="saved.cordial is damaged or was changed"):
        cp.load(tmp_path / "saved.cordial")


@pytest.mark.parametrize("settings", [{}, {"sigma": 0.7}])
def test_users_go_on_as_they_were_saved(tmp_path, settings):
    names = ["a", "b", "c", "d", "e"]
    saved = cp.UserShift(names, **settings).fit(PROBS, [names[z] for z in RATED], WHO)
    saved.save(tmp_path / "users.cordial")
    loaded = cp.load(tmp_path / "users.cordial")
    assert type(loaded) is cp.UserShift and loaded.classes_.tolist() == names
    assert loaded.sigma == saved.sigma
    assert loaded.sigma_ == saved.sigma_ and loaded.counts_ == saved.counts_
    for own in (saved, loaded):
        own.partial_fit(PROBS[:2], ["a", "e"], ["user 1", "new"])
    assert loaded.values_ == saved.values_
    who = [*WHO[:38], "new", "nobody"]
    np.testing.assert_array_equal(loaded.predict_proba(PROBS, who), saved.predict_proba(PROBS, who))
    afresh, _ = loaded.predict_in_order(PROBS, ["a"] * 40, WHO, afresh=True)
    expected, _ = saved.predict_in_order(PROBS, ["a"] * 40, WHO, afresh=True)
    np.testing.assert_array_equal(afresh, expected)


CORPUS = np.concatenate([LOGITS, TEST])
WHERE = np.arange(len(CORPUS)) % 3
CLUSTERS = np.minimum(np.arange(len(CORPUS)), 12)
ANSWERS = {
    "estimate": lambda c: c.estimate(CORPUS, np.arange(20), groups=WHERE, passing=[3, 4]).to_dict(),
    "clusters": lambda c: c.estimate(CORPUS, np.arange(20), clusters=CLUSTERS).to_dict(),
    "decide": lambda c: vars(c.decide(CORPUS, np.arange(20), within=1, agree=0.8)),
    "forecast": lambda c: c.forecast(TEST),
    "bias": lambda c: cp.find_bias(c, {"odd": LABELS % 2}),
    "drift": lambda c: cp.check_readings(c, TEST),
    "labels": lambda c: cp.check_labels(c, TEST, np.arange(len(TEST)) % 5),
    "monitor": lambda c: cp.monitor(c, TEST, TEST + 0.1),
    "draws": lambda c: cp.predict_draws(c, TEST),
    "verdict": cp.verdict,
    "summary": lambda c: cp.describe(c).to_dict(),
    "arviz": lambda c: c.posteriors_["mixture"].to_datatree()["log_likelihood"]["label"].values,
    "columns": lambda c: c.feature_names_in_.tolist(),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A calibrator as it was fitted, of a data frame, and from its file."""
    path = tmp_path_factory.mktemp("both") / "c.cordial"
    fitted = cp.Cordial().fit(
        pandas.DataFrame(LOGITS, columns=[f"logit_{z}" for z in "01234"]), LABELS
    )
    fitted.save(path)
    return fitted, cp.load(path)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_loaded_calibrator_answers_as_the_fitted_one(both, answer):
    found, expected = (ANSWERS[answer](each) for each in both)
    np.testing.assert_equal(found, expected)


def test_weights_and_texts_are_kept(tmp_path):
    texts, weights = np.repeat(np.arange(10), 2), np.linspace(0.5, 2, 20)
    fitted = cp.LogitStack().fit(LOGITS, LABELS, sample_weight=weights, texts=texts)
    fitted.save(tmp_path / "x.cordial")
    found = cp.load(tmp_path / "x.cordial")
    assert_same(found, fitted)
    for name in ("labels", "weights"):
        pair = (getattr(each.fit_.labelled, name) for each in (found, fitted))
        np.testing.assert_array_equal(*pair)
    np.testing.assert_array_equal(found.fit_.folds, fitted.fit_.folds)
    # Which row is of which text, but not the text's own number.
    np.testing.assert_array_equal(found.fit_.entered.ranks, fitted.fit_.entered.ranks)
    assert not np.isin(found.fit_.labelled.texts, texts).any()


@pytest.mark.parametrize("names", [[f"text {k}" for k in range(20)], [*range(20)]])
def test_a_file_holds_no_id_that_could_be_looked_up(names, tmp_path):
    """Not as a number that another file has too; but who names a text finds it there."""
    numbers, others = as_texts(names, 20), as_texts(["other", "text 1 "], 2)
    paths = [tmp_path / f"{scale}.cordial" for scale in (1, 2)]
    stored = []
    for scale, path in enumerate(paths, 1):
        cp.LogitStack().fit(scale * LOGITS, LABELS, texts=names).save(path)
        meta, arrays = storage.read(path, "calibrator")
        stored.append({*arrays["labelled.texts"].tolist()})
        found = cp.load(path).fit_.entered
        assert found.has(numbers).all() and not found.has(others).any()
    assert len(stored[0] | stored[1] | {*numbers.tolist()}) == 60
    with pytest.warns(cp.CordialWarning, match="20 of 20 texts were used in the fit"):
        cp.check_labels(cp.load(paths[0]), LOGITS, LABELS, texts=names)
    # Files of earlier versions have no salt; saved again, they have.
    del meta["labelled"]["salt"]
    storage.write(path, "calibrator", meta, arrays | {"labelled.texts": numbers})
    old = cp.load(path)
    assert old.fit_.entered.has(numbers).all() and not old.fit_.entered.has(others).any()
    old.save(path)
    assert {*storage.read(path, "calibrator")[1]["labelled.texts"].tolist()} == stored[1]
    assert cp.load(path).fit_.entered.has(numbers).all()


def test_a_fusion_of_an_earlier_version_loads(folder, tmp_path):
    meta, arrays = storage.read(folder / "fusion", "fusion")
    for part in (meta, *meta["stacks"].values()):
        del part["labelled"]["salt"]
    del meta["provenance"]
    storage.write(tmp_path / "old", "fusion", meta, arrays)
    found, expected = (cp.load(path) for path in (tmp_path / "old", folder / "fusion"))
    np.testing.assert_array_equal(found.predict_proba(THREE), expected.predict_proba(THREE))


def test_texts_without_a_name_stay_without_one(tmp_path):
    cp.LogitStack().fit(LOGITS, LABELS).save(tmp_path / "x.cordial")
    found = cp.load(tmp_path / "x.cordial").fit_
    texts = found.labelled.texts
    assert (texts < 0).all() and not found.entered.has(texts).any()


NO_PATHS = """
import cordial_ppl as cp
from cordial_ppl.tables import read_readings, write_table
judge = cp.LogitStack().fit([[1.0, 0.0], [0.0, 1.0]] * 5, [0, 1] * 5)
save = lambda path: write_table(path, {"a": [1]})
for use in (cp.load, cp.priors.LearnedPrior.load, cp.read, read_readings, judge.save, save):
    for path in (3, b"saved.cordial", [], 2.5, "a\\0b.csv"):
        try:
            use(path)
        except cp.FileError as error:
            print(error)
"""


@pytest.mark.nightly
def test_what_is_no_path_is_refused():
    """In a process of its own, whose types nobody checks."""
    done = subprocess.run([sys.executable, "-c", NO_PATHS], capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert len(told) == 30 and all("a path must be text" in line for line in told), done.stderr
