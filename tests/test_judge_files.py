"""Fitted judges on disk: the same predictions to the last bit, or one clear error."""

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST

import cordial_ppl as cp
from cordial_ppl import storage
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import FileError, InputError, NotFittedError
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior

CHANNEL = """
import jax, jax.numpy as jnp, numpyro, numpyro.distributions as dist
from cordial_ppl import observe

def model(readings, labels=None):
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    observe(jax.nn.log_softmax(slope * readings.logits), labels)
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    path = tmp_path_factory.mktemp("channels") / "mine.py"
    path.write_text(CHANNEL)
    return path


@pytest.fixture(scope="module")
def judge():
    return cp.Cordial(STARS, seed=4).fit(LOGITS, LABELS + 1)


@pytest.fixture
def saved(judge, tmp_path):
    path = tmp_path / "judge.cordial"
    judge.save(path)
    return path


def assert_same(found, judge):
    assert type(found) is type(judge)
    assert found.scale_ == judge.scale_ and found.weights_ == judge.weights_
    assert found.members == judge.members and found.summary() == judge.summary()
    for method in ("predict_proba", "predict", "predict_mean", "predict_interval"):
        expected = getattr(judge, method)(TEST)
        np.testing.assert_array_equal(getattr(found, method)(TEST), expected)


def test_a_judge_comes_back_bit_for_bit(judge, saved, tmp_path):
    found = cp.load(saved)
    assert_same(found, judge)
    for name, posterior in judge.posteriors_.items():
        np.testing.assert_array_equal(found.posteriors_[name].draws, posterior.draws)
        np.testing.assert_equal(
            found.posteriors_[name].diagnostics._asdict(), posterior.diagnostics._asdict()
        )
    again = tmp_path / "again.cordial"
    found.save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_the_stack_without_channels_comes_back(tmp_path):
    for options, labels in ((None, LABELS), (STARS, LABELS + 1)):
        stack = cp.LogitStack(options).fit(LOGITS, labels)
        stack.save(tmp_path / "x.cordial")
        assert_same(cp.load(tmp_path / "x.cordial"), stack)


def test_a_judge_that_saw_few_labels_comes_back(tmp_path):
    """Its expected losses are not numbers, which JSON cannot say."""
    stack = cp.LogitStack().fit(LOGITS[:3], LABELS[:3])
    stack.save(tmp_path / "x.cordial")
    found = cp.load(tmp_path / "x.cordial")
    np.testing.assert_equal(found.expected_._asdict(), stack.expected_._asdict())
    np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))


def test_a_channel_file_must_be_named_again(mine, tmp_path):
    stack = cp.Cordial(channels=(mine,)).fit(LOGITS, LABELS)
    path = tmp_path / "judge.cordial"
    stack.save(path)
    with pytest.raises(InputError, match=r"mine.py: name that file again"):
        cp.load(path)
    found = cp.load(path, channels=(mine,))
    np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))


def test_a_channel_file_must_be_the_same(mine, tmp_path):
    stack = cp.Cordial(channels=(mine,), inference="mode").fit(LOGITS, LABELS)
    stack.save(tmp_path / "judge.cordial")
    other = tmp_path / "mine.py"
    other.write_text(CHANNEL + "# changed\n")
    with pytest.raises(InputError, match=r"another mine.py than .*their contents differ"):
        cp.load(tmp_path / "judge.cordial", channels=(other,))
    other.write_text(CHANNEL)
    assert cp.load(tmp_path / "judge.cordial", channels=(other,)).members == stack.members


def test_a_judge_is_fitted_again_as_before(tmp_path):
    """What a user set stays set: the prior and the effort too."""
    prior = Prior(np.array([0.5, 1.0, 0.0, 1.0, 3.0]), np.full(5, 0.1))
    effort = Effort(particles=512)
    judge = cp.Cordial(inference="mode", prior={"mixture": prior}, effort=effort)
    judge.fit(LOGITS, LABELS)
    judge.save(tmp_path / "judge.cordial")
    found = cp.load(tmp_path / "judge.cordial")
    assert found.effort == effort
    np.testing.assert_equal(found.prior.given["mixture"], prior)
    assert list(found.prior.given) == list(judge.posteriors_)
    again = found.fit(LOGITS, LABELS).predict_proba(TEST)
    np.testing.assert_array_equal(again, judge.predict_proba(TEST))


class Mine(cp.LogitStack):
    pass


@pytest.mark.parametrize("kind", [Stack, Mine])
def test_only_what_can_be_loaded_is_saved(kind, tmp_path):
    stack = kind().fit(LOGITS, LABELS)
    with pytest.raises(InputError, match=f"only a named stack, such as Cordial.*{kind.__name__}"):
        stack.save(tmp_path / "x.cordial")
    assert not (tmp_path / "x.cordial").exists()


def test_nothing_to_save(tmp_path):
    with pytest.raises(NotFittedError, match="Cordial is not fitted"):
        cp.Cordial().save(tmp_path / "x.cordial")
    assert not (tmp_path / "x.cordial").exists()


def change(path, *, meta=None, arrays=None):
    """Rewrite a judge with fields replaced; None removes one."""
    fields, stored = storage.read(path, "judge")
    for target, changes in ((fields, meta or {}), (stored, arrays or {})):
        for key, value in changes.items():
            if value is None:
                del target[key]
            else:
                target[key] = value
    storage.write(path, "judge", fields, stored)


EQUAL = dict.fromkeys(
    ("mixture", "mixture-vector", "location", "bridge", "temperature", "vector", "odds"),
    1 / 7,
)


@pytest.mark.parametrize(
    "changes",
    [
        {"meta": {"weights": EQUAL | {"odds": 0.9}}},
        {"meta": {"weights": EQUAL | {"odds": 1 / 7 + 1, "vector": 1 / 7 - 1}}},
        {"meta": {"weights": {"odds": 1.0}}},
        {"meta": {"weights": None}},
        {"meta": {"options": ["1", "2", "3", "4"]}},
        {"meta": {"options": ["1", "1", "3", "4", "5"]}},
        {"meta": {"estimator": "os.system"}},
        {"meta": {"calibrators": ["temperature", "vector", "eval"]}},
        {"meta": {"calibrators": ["temperature", "vector"]}},
        {"meta": {"inference": "guess"}},
        {"meta": {"effort": {"particle": 3}}},
        {"meta": {"priors": ["mixture"]}},
        {"meta": {"expected": {"cordial": 1.0}}},
        {"meta": {"channels": {}}},
        {"arrays": {"channel.mixture.draws": np.zeros((512, 4))}},
        {"arrays": {"channel.mixture.draws": np.zeros(512)}},
        {"arrays": {"channel.mixture.draws": None}},
        {"arrays": {"channel.mixture.weights": np.full(512, 1.0)}},
        {"arrays": {"channel.mixture.histogram": np.full(4, 0.25)}},
        {"arrays": {"calibrator.temperature.temperature": None}},
        {"arrays": {"calibrator.vector.scale": np.ones(4)}},
        {"arrays": {"more": np.ones(4)}},
    ],
    ids=lambda changes: "-".join(f"{key}" for part in changes.values() for key in part),
)
def test_a_changed_file_is_refused(saved, changes):
    change(saved, **changes)
    with pytest.raises(FileError, match="judge.cordial"):
        cp.load(saved)


def test_a_judge_saved_before_a_figure_was_known_is_read(saved, judge):
    fields, _ = storage.read(saved, "judge")
    for entry in fields["channels"].values():
        del entry["diagnostics"]["fold_khat"], entry["diagnostics"]["divergences"]
    change(saved, meta={"channels": fields["channels"]})
    found = cp.load(saved)
    assert_same(found, judge)
    figures = found.posteriors_["mixture"].diagnostics
    assert np.isnan(figures.fold_khat) and figures.divergences == 0


def test_a_loaded_judge_meets_other_readings_with_the_default_prior(tmp_path):
    stack = cp.Cordial(inference="mode").fit(LOGITS, LABELS)
    stack.save(tmp_path / "judge.cordial")
    again = cp.load(tmp_path / "judge.cordial")
    fresh = cp.Cordial(inference="mode").fit(0.1 * LOGITS, LABELS)
    np.testing.assert_array_equal(
        again.fit(0.1 * LOGITS, LABELS).predict_proba(LOGITS), fresh.predict_proba(LOGITS)
    )


def test_a_loaded_judge_keeps_a_prior_that_was_given(tmp_path):
    given = {"offset": (0.5, 0.1)}
    stack = cp.Cordial(inference="mode", prior=given).fit(LOGITS, LABELS)
    stack.save(tmp_path / "judge.cordial")
    again = cp.load(tmp_path / "judge.cordial").fit(LOGITS, LABELS)
    np.testing.assert_array_equal(again.predict_proba(LOGITS), stack.predict_proba(LOGITS))
