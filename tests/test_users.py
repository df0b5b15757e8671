"""Per-user effects: the grid against golden values, against NUTS, and one label at a time."""

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rivals import UserIntercept, UserReliability, UserTemperature
from sklearn.utils.validation import check_is_fitted

import cordial_ppl as cp
from cordial_ppl.arrays import FLOOR
from cordial_ppl.checks import check_channel, run
from cordial_ppl.inference import fit
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.personal import UserEffect
from cordial_ppl.personal.effects import SHIFT, Effect, shift
from cordial_ppl.personal.evidence import highest, log_likelihoods, predict_values
from cordial_ppl.personal.history import arrange
from cordial_ppl.personal.spreads import SPREAD_PROBS, SPREADS, log_evidence, log_normals

GOLDEN = json.loads((Path(__file__).parent / "reference" / "users.json").read_text())
KINDS = [cp.UserShift, UserTemperature, UserIntercept, UserReliability]
SIZE, USERS, EACH, COUNT = 5, 12, 16, 4
pytestmark = pytest.mark.x64


def made(seed=0, users=USERS, each=EACH, spread=0.8, alpha=0.5):
    """Population predictions, labels of users who differ by a shift, and who they are."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(alpha * np.ones(SIZE), users * each)
    who = np.repeat(np.arange(users), each)
    deltas = spread * rng.standard_normal(users)
    moved = np.asarray(jax.vmap(shift)(jnp.asarray(probs), jnp.asarray(deltas[who])))
    labels = (moved.cumsum(axis=1) > rng.random((len(who), 1)) * (1 - 1e-12)).argmax(axis=1)
    return probs, labels, [f"user {u}" for u in who], deltas


PROBS, LABELS, WHO, DELTAS = made()


def loss(probs, labels):
    return cp.scores.log_loss(probs, labels)


@pytest.mark.parametrize("case", GOLDEN["shift"], ids=lambda case: str(case["delta"]))
def test_golden_shifts(case):
    (still,) = (c["p"] for c in GOLDEN["shift"] if c["delta"] == 0)
    moved = jax.vmap(shift, (0, None))(jnp.asarray(still), jnp.asarray(case["delta"]))
    np.testing.assert_allclose(moved, case["p"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", GOLDEN["best_shift"], ids=lambda case: str(case["sigma"]))
def test_golden_modes(case):
    """The estimator's own mode, on a grid as fine as the golden value's tolerance."""
    probs = np.array(case["p"])
    fine = SHIFT._replace(low=lambda _: 0.0, high=lambda _: 1.2, step=lambda _: 1e-6)
    fine = fine._replace(linear=False)

    class Fine(UserEffect):
        effect = fine

    found = Fine(average=False, sigma=case["sigma"])
    found.fit(probs / probs.sum(axis=1, keepdims=True), np.array(case["z"], int), ["u"] * 8)
    assert found.values_["u"] == pytest.approx(case["delta"], abs=2e-6)


distributions = arrays(np.float64, SIZE, elements=st.floats(0.001, 1)).map(lambda p: p / p.sum())


@given(distributions, st.floats(-6, 6), st.floats(0, 3))
def test_a_shift_moves_the_mean_by_no_more_and_in_order(probs, delta, further):
    first, second = (
        np.asarray(shift(jnp.asarray(probs), jnp.asarray(d))) for d in (delta, delta + further)
    )
    assert first.sum() == pytest.approx(1)
    assert (second.cumsum() <= first.cumsum() + 1e-12).all()
    mean = np.arange(SIZE) @ (first - probs)
    assert abs(mean) <= abs(delta) + 1e-9
    assert mean * delta >= -1e-12


@pytest.mark.parametrize("effect", [kind.effect for kind in KINDS], ids=lambda effect: effect.name)
@given(probs=distributions)
def test_zero_changes_nothing(effect, probs):
    grid = effect.grid(SIZE)
    assert (grid == 0).sum() == 1
    histogram = jnp.full(SIZE, 1 / SIZE)
    found = jax.vmap(lambda v: effect.apply(jnp.asarray(probs), v, histogram))(jnp.asarray(grid))
    np.testing.assert_allclose(found[grid == 0][0], probs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-9)
    assert (np.asarray(found) >= -1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_label_counts_once(kind):
    """One after the other or all together, in whatever order, and others do not matter."""
    whole = kind(sigma=0.7).fit(PROBS, LABELS, WHO)
    order = np.random.default_rng(1).permutation(len(LABELS))
    start, rest = order[:40], order[40:]
    names = np.array(WHO)
    parts = kind(sigma=0.7).fit(PROBS[start], LABELS[start], names[start])
    # The histogram is that of the first labels; only the reliability depends on it.
    parts._histogram = whole._histogram
    parts._totals[:] = 0
    parts._counts[:] = 0
    parts.partial_fit(PROBS[start], LABELS[start], names[start])
    for row in rest:
        parts.partial_fit(PROBS[row : row + 1], LABELS[row : row + 1], names[row : row + 1])
    assert parts.counts_ == {name: EACH for name in parts.users_}
    found = parts.predict_proba(PROBS, WHO)
    np.testing.assert_allclose(found, whole.predict_proba(PROBS, WHO), rtol=0, atol=1e-9)
    for name, value in whole.values_.items():
        assert parts.values_[name] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", [True, False])
def test_in_order_is_as_one_at_a_time(kind, average):
    probs, labels, who, _ = made(seed=5, users=3, each=5)
    fitted = kind(average=average).fit(PROBS, LABELS, WHO)
    new = [f"new {name}" for name in who]
    times = np.random.default_rng(2).permutation(15) + 0.5
    found, earlier = fitted.predict_in_order(probs, labels, new, times)
    one = kind(average=average).fit(PROBS, LABELS, WHO)
    counts = dict.fromkeys(new, 0)
    for row in np.argsort(times):
        alone = one.predict_proba(probs[row : row + 1], [new[row]])
        np.testing.assert_allclose(found[row], alone[0], rtol=0, atol=1e-9)
        assert earlier[row] == counts[new[row]]
        counts[new[row]] += 1
        one.partial_fit(probs[row : row + 1], labels[row : row + 1], [new[row]])


def test_labels_at_the_same_time_do_not_know_of_each_other():
    fitted = cp.UserShift(sigma=1.0).fit(PROBS, LABELS, WHO)
    probs, labels, _, _ = made(seed=6, users=1, each=6)
    found, earlier = fitted.predict_in_order(probs, labels, ["x"] * 6, [1, 2, 2, 2, 3, 0])
    np.testing.assert_array_equal(earlier, [1, 2, 2, 2, 5, 0])
    np.testing.assert_array_equal(found[5], probs[5])
    swapped, _ = fitted.predict_in_order(
        probs[[0, 3, 1, 2, 4, 5]], labels[[0, 3, 1, 2, 4, 5]], ["x"] * 6, [1, 2, 2, 2, 3, 0]
    )
    np.testing.assert_allclose(swapped[[0, 2, 3, 1, 4, 5]], found, rtol=0, atol=1e-12)


def test_known_users_bring_their_labels():
    fitted = cp.UserShift().fit(PROBS, LABELS, WHO)
    _, earlier = fitted.predict_in_order(PROBS[:2], LABELS[:2], [WHO[0], "x"])
    np.testing.assert_array_equal(earlier, [EACH, 0])


def test_a_new_user_gets_the_population():
    fitted = cp.UserShift().fit(PROBS, LABELS, WHO)
    np.testing.assert_array_equal(fitted.predict_proba(PROBS[:3], ["a", "b", "c"]), PROBS[:3])


def test_blocks_change_nothing(monkeypatch):
    fitted = cp.UserShift(sigma="cross-validated").fit(PROBS, LABELS, WHO)
    whole, earlier = fitted.predict_in_order(PROBS, LABELS, WHO)
    for room in ("evidence", "labelled", "prediction"):
        monkeypatch.setattr(f"cordial_ppl.personal.{room}.CHUNK_ROWS", 8)
    again = cp.UserShift(sigma="cross-validated").fit(PROBS, LABELS, WHO)
    assert again.sigma_ == fitted.sigma_
    parts, _ = again.predict_in_order(PROBS, LABELS, WHO)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)
    assert earlier.min() == EACH


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", [True, False])
def test_cross_validation_picks_the_best_sequential_predictions(kind, average):
    """Against each sigma by itself, through the public door."""
    found = kind(average=average, sigma="cross-validated").fit(PROBS, LABELS, WHO)

    def sequential(sigma):
        # No labels at the start: sigma is given, and the fit's own users are others.
        one = kind(average=average, sigma=sigma).fit(PROBS, LABELS, WHO)
        probs, earlier = one.predict_in_order(PROBS, LABELS, [f"{name} again" for name in WHO])
        return loss(probs[earlier > 0], LABELS[earlier > 0])

    best = sequential(found.sigma_)
    for factor in (0.5, 2.0**-0.25, 2.0**0.25, 2.0):
        other = found.sigma_ * factor
        if 0.0125 * found.effect.unit(SIZE) <= other <= 3.2 * found.effect.unit(SIZE):
            assert best <= sequential(other) + 1e-9


def users_of(posterior):
    """Draws of every user's value."""
    named = posterior.parameters()
    return named["value"] if "value" in named else named["sigma"][:, None] * named["scaled"]


@pytest.mark.parametrize(
    "kind", [cp.UserShift, pytest.param(UserIntercept, marks=pytest.mark.nightly)]
)
def test_the_grid_agrees_with_nuts(kind, monkeypatch):
    """Sigma's posterior, every user's, and what they predict, within NUTS's own error.

    Chains do not cross from one mode of a user's value to another as often as they should; vague
    predictions have one each.
    """
    monkeypatch.setattr(fit, "sample_nuts", partial(sample_nuts, warmup=400))
    probs, labels, _, _ = made(seed=3, users=COUNT, each=16, alpha=8.0)
    users = np.repeat(np.arange(COUNT), 16)
    fitted = kind().fit(probs, labels, users)
    channel = cp.user_channel(COUNT, kind.effect)
    found = cp.fit_nuts(channel, np.log(probs), labels, covariates={"user": users})
    ess = found.diagnostics.ess
    assert ess > 200
    values = np.column_stack([found.parameters()["sigma"], users_of(found)])
    expected = [fitted.sigma_, *(fitted.values_[str(u)] for u in range(COUNT))]
    assert (np.abs(values.mean(axis=0) - expected) < 4 * values.std(axis=0) / np.sqrt(ess)).all()
    predicted = fitted.predict_proba(probs[:COUNT], range(COUNT))
    own = found.predict_proba(np.log(probs[:COUNT]), {"user": np.arange(COUNT)})
    np.testing.assert_allclose(own, predicted, rtol=0, atol=0.01)
    tree = found.to_datatree()
    assert dict(tree["posterior"]["scaled"].sizes) == {"chain": 4, "draw": 500, "user": COUNT}


@pytest.mark.parametrize("kind", KINDS)
def test_the_grid_agrees_with_a_channel_of_known_sigma(kind):
    """One value a user, by the default method; and a user of whom nothing is known."""
    probs, labels, _, _ = made(seed=3, users=COUNT, each=16, alpha=8.0)
    users = np.repeat(np.arange(COUNT), 16)
    fitted = kind(sigma=0.5).fit(probs, labels, users)
    channel = cp.user_channel(COUNT + 1, kind.effect, 0.5)
    assert channel is cp.user_channel(COUNT + 1, kind.effect, 0.5)
    found = cp.fit_channel(channel, np.log(probs), labels, covariates={"user": users})
    values = users_of(found)
    spread = values.std(axis=0)
    expected = [*(fitted.values_[str(u)] for u in range(COUNT)), 0.0]
    if kind is UserReliability:
        # Its sign does not matter: the grid has one of two modes that are the same.
        values, expected = np.abs(values[:, :-1]), expected[:-1]
        spread = values.std(axis=0)
    mean = found.weights @ values
    assert (np.abs(mean - expected) < 0.15 * spread).all()
    assert found.target.gaussian and found.diagnostics.trusted


def test_users_of_a_channel_are_whole_numbers():
    probs, labels = PROBS[:4], LABELS[:4]
    channel = cp.user_channel(2)
    for wrong in ([0, 1, 2, 0], [0, 0.5, 1, 0], [0, -1, 1, 0]):
        with pytest.raises(cp.InputError, match=r"'user' must be whole numbers 0..1.*in row \d"):
            cp.fit_channel(channel, np.log(probs), labels, covariates={"user": wrong})
    with pytest.raises(cp.InputError, match="uses the covariate 'user'"):
        cp.fit_channel(channel, np.log(probs), labels)
    found = cp.fit_channel(
        channel, np.log(probs), labels, method="mode", covariates={"user": [0, 1, 1, 0]}
    )
    with pytest.raises(cp.InputError, match="found 2 in row 0"):
        found.predict_proba(np.log(probs), {"user": [2, 0, 0, 0]})
    with pytest.raises(cp.InputError, match="effect must be a .*Effect; got 'gain'"):
        cp.user_channel(2, "gain")
    with pytest.raises(cp.InputError, match="must be a user"):
        cp.user_channel(0)


def test_a_channel_of_users_passes_its_checks(monkeypatch):
    # Without NUTS, which a test above compares with.
    monkeypatch.setattr(run, "check_posteriors", lambda *own: iter(()))
    report = check_channel(cp.user_channel(4))
    assert report.status != "fail", report.text
    assert "covariates: user" in report.text


def by_hand(kind, groups, spreads, shares):
    """Posterior means of users' values as sums over every sigma and value, in logarithms."""
    effect = kind.effect
    grid = effect.grid(SIZE)
    logs = log_normals(grid, spreads)
    totals = []
    for probs, labels in groups:
        rows = log_likelihoods(effect, probs, labels, np.full(SIZE, 1 / SIZE))
        totals.append(rows.sum(axis=0))
    joint = np.log(shares)
    for total in totals:
        joint = joint + np.logaddexp.reduce(total[None] + logs, axis=1)
    means = []
    for total in totals:
        own = np.logaddexp.reduce(total[None] + logs, axis=1)
        table = (joint - own)[:, None] + logs + total[None]
        weights = np.exp(table - table.max())
        means.append((weights / weights.sum()).sum(axis=0) @ grid)
    return means


@pytest.mark.parametrize("kind", [cp.UserShift, UserTemperature, UserIntercept])
@pytest.mark.parametrize("users", [1, 2, 5])
def test_users_are_averaged_over_sigma_and_value(kind, users):
    """A user's own labels count once, in the value and in sigma."""
    probs, labels, who, _ = made(seed=4, users=users, each=9, spread=1.2)
    fitted = kind().fit(probs, labels, who)
    groups = [(probs[9 * u : 9 * u + 9], labels[9 * u : 9 * u + 9]) for u in range(users)]
    expected = by_hand(kind, groups, fitted.effect.unit(SIZE) * SPREADS, SPREAD_PROBS)
    np.testing.assert_allclose(list(fitted.values_.values()), expected, rtol=0, atol=1e-9)


def test_begun_afresh_a_users_later_labels_are_not_known():
    """Those of others tell of sigma, and nothing else does."""
    probs, labels, who, _ = made(seed=2, users=3, each=8, spread=1.5)
    names = np.array(who)
    found, earlier = (
        cp.UserShift().fit(probs, labels, who).predict_in_order(probs, labels, who, afresh=True)
    )
    assert earlier.max() == 7
    own = names == "user 1"
    others = cp.UserShift().fit(probs[~own], labels[~own], names[~own])
    alone, _ = others.predict_in_order(probs[own], labels[own], ["new"] * 8)
    np.testing.assert_allclose(found[own], alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.3])
@pytest.mark.parametrize("average", [True, False])
def test_a_small_sigma_holds_against_many_labels(sigma, average):
    """The penalty grows without bound: nothing underflows on the way."""
    row, count = np.array([0.8, 0.15, 0.03, 0.015, 0.005]), 300
    fitted = cp.UserShift(average=average, sigma=sigma)
    fitted.fit(np.tile(row, (count, 1)), np.full(count, 3), ["u"] * count)
    grid = fitted.effect.grid(SIZE)
    moved = jax.vmap(shift, (None, 0))(jnp.asarray(row), jnp.asarray(grid))
    posterior = count * np.log(np.maximum(np.asarray(moved)[:, 3], FLOOR))
    posterior -= 0.5 * (grid / sigma) ** 2
    weights = np.exp(posterior - posterior.max())
    expected = grid @ weights / weights.sum() if average else grid[posterior.argmax()]
    assert fitted.values_["u"] == pytest.approx(expected, abs=1e-6)


def test_of_equal_modes_the_nearest_to_zero():
    row = np.array([[0.01, 0.01, 0.96, 0.01, 0.01]])
    fitted = cp.UserShift(average=False, sigma=1.0).fit(row.repeat(4, 0), [0, 4, 0, 4], ["u"] * 4)
    mirrored = cp.UserShift(average=False, sigma=1.0).fit(row.repeat(4, 0), [4, 0, 4, 0], ["u"] * 4)
    assert abs(fitted.values_["u"]) == abs(mirrored.values_["u"])
    assert highest(np.array([[1.0, 3.0, 2.0, 3.0]]), np.array([-2.0, -1.0, 0.0, 0.5])).argmax() == 3


def test_one_label_a_user_still_tells_of_sigma():
    probs, labels, who, _ = made(users=40, each=1)
    cross = cp.UserShift(sigma="cross-validated").fit(probs, labels, who)
    assert cross.sigma_ == cp.UserShift().fit(probs, labels, who).sigma_ > 0.05


def test_numbers_name_users_whatever_their_type():
    fitted = cp.UserShift().fit(PROBS[:4], LABELS[:4], [1, 1, 2, 2])
    again = fitted.predict_proba(PROBS[:2], np.array([1.0, 2.0]))
    np.testing.assert_array_equal(again, fitted.predict_proba(PROBS[:2], ["1", "2"]))
    assert fitted.users_ == ["1", "2"]


def test_evidence_is_the_integral_over_values():
    logs = log_normals(np.linspace(-2, 2, 9), np.array([0.3, 1.0]))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)
    totals = np.random.default_rng(0).normal(size=(4, 9)) - 800.0
    expected = [[np.log(np.sum(np.exp(t + 800 + row))) - 800 for row in logs] for t in totals]
    np.testing.assert_allclose(log_evidence(totals, logs), expected, rtol=1e-12)


@pytest.mark.parametrize("effect", [kind.effect for kind in KINDS], ids=lambda effect: effect.name)
def test_likelihoods_are_those_of_the_moved_predictions(effect):
    """Also where an effect is a matrix, and predictions are averages of what is moved."""
    histogram = np.array([0.1, 0.1, 0.1, 0.3, 0.4])
    found = log_likelihoods(effect, PROBS[:7], LABELS[:7], histogram)
    weights = np.random.default_rng(0).dirichlet(np.ones(found.shape[1]), 7)
    average = np.zeros((7, SIZE))
    for g, value in enumerate(effect.grid(SIZE)):
        moved = jax.vmap(effect.apply, (0, None, None))(
            jnp.asarray(PROBS[:7]), jnp.asarray(value), jnp.asarray(histogram)
        )
        own = np.maximum(np.asarray(moved)[np.arange(7), LABELS[:7]], FLOOR)
        np.testing.assert_allclose(found[:, g], np.log(own), rtol=0, atol=1e-9)
        average += weights[:, g, None] * np.asarray(moved)
    predicted = predict_values(effect, PROBS[:7], weights, histogram)
    np.testing.assert_allclose(predicted, average, rtol=0, atol=1e-12)


def test_long_scales():
    """Of 51 options, users who differ by five are found: spreads and steps grow with the scale."""
    rng = np.random.default_rng(0)
    size, users, each = 51, 8, 20
    centres = rng.uniform(10, 40, users * each)
    probs = np.exp(-0.5 * ((np.arange(size) - centres[:, None]) / 3) ** 2)
    who, deltas = np.repeat(np.arange(users), each), np.linspace(-10, 10, users)
    labels = np.rint(centres + deltas[who] + 3 * rng.standard_normal(len(who))).astype(int)
    fitted = cp.UserShift().fit(probs / probs.sum(axis=1, keepdims=True), labels.clip(0, 50), who)
    np.testing.assert_allclose(list(fitted.values_.values()), deltas, rtol=0, atol=4 * 3 / 20**0.5)
    assert fitted.sigma_ == pytest.approx(np.sqrt(np.mean(deltas**2)), rel=0.3)


@pytest.mark.parametrize("size", [2, 5, 7, 21, 101])
def test_spreads_and_steps_are_shares_of_the_scale(size):
    effect = SHIFT
    grid, spreads = effect.grid(size), effect.unit(size) * SPREADS
    assert -grid[0] == grid[-1] == pytest.approx(size - 1)
    assert len(grid) <= 801 and (grid == 0).sum() == 1
    step = grid[1] - grid[0]
    assert step < 0.26 and spreads[0] < 1.01 * step
    assert 0.4 < spreads[-1] / (size - 1) <= 0.8
    assert size not in (5, 7) or effect.unit(size) == 1


def test_shifts_are_recovered_and_pay():
    probs, labels, who, deltas = made(seed=11, users=60, each=40)
    half = np.arange(len(labels)) % 2 == 0
    names = np.array(who)
    fitted = cp.UserShift().fit(probs[half], labels[half], names[half])
    assert fitted.sigma_ == pytest.approx(np.std(deltas), abs=0.2)
    found = [fitted.values_[f"user {u}"] for u in range(60)]
    assert np.corrcoef(found, deltas)[0, 1] > 0.9
    after = fitted.predict_proba(probs[~half], names[~half])
    gain = loss(probs[~half], labels[~half]) - loss(after, labels[~half])
    plugged = cp.UserShift(average=False, sigma="cross-validated")
    plugged.fit(probs[half], labels[half], names[half])
    mode = loss(plugged.predict_proba(probs[~half], names[~half]), labels[~half])
    assert gain > 0.3
    assert loss(after, labels[~half]) < mode


def test_users_who_do_not_differ_keep_the_population():
    probs, labels, who, _ = made(seed=8, users=100, each=16, spread=0.0)
    fitted = cp.UserShift().fit(probs, labels, who)
    assert fitted.sigma_ < 0.12
    again = fitted.predict_proba(probs, who)
    assert abs(again - probs).mean() < 0.01


def test_one_label_and_one_user():
    fitted = cp.UserShift().fit(PROBS[:1], LABELS[:1], ["a"])
    found = fitted.predict_proba(PROBS[:5], ["a"] * 5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert fitted.counts_ == {"a": 1}


def test_arranged_by_user_then_time():
    found = arrange(np.array([1, 0, 1, 1, 0]), np.array([3.0, 2.0, 1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(found.rows, [4, 1, 2, 3, 0])
    np.testing.assert_array_equal(found.earlier, [0, 1, 0, 0, 2])
    assert list(found.blocks(3)) == [slice(0, 2), slice(2, 5)]
    assert list(found.blocks(5)) == [slice(0, 5)]
    assert list(found.blocks(1)) == [slice(0, 2), slice(2, 5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"users": ["a"]},
            "users must name one user for each of 192 texts, in one dimension; found 1",
        ),
        ({"users": [["a"], ["b", "c"]]}, "in one dimension; found none"),
        ({"users": [None] + WHO[1:]}, "every text needs a user; none is named in row 0"),
        (
            {"order": [np.nan] + [1.0] * 191},
            "order must be finite numbers or dates; not so in row 0",
        ),
        ({"order": ["soon"] * 192}, "order must be numbers that grow with time"),
        ({"order": [1, 2]}, r"one number or date for each of 192 texts; got shape \(2,\)"),
        ({"labels": LABELS[:3]}, "192 rows came with 3 labels"),
        ({"labels": [7] * 192}, "7"),
        ({"probs": 2 * PROBS}, "each row of probs must sum to one"),
        ({"probs": PROBS[0]}, "probs must have n >= 1 rows"),
    ],
)
def test_bad_input(change, message):
    given = {"probs": PROBS, "labels": LABELS, "users": WHO, "order": None} | change
    with pytest.raises(cp.InputError, match=message):
        cp.UserShift().fit(**given)


@pytest.mark.parametrize("sigma", ["best", 0, -1.0, np.inf, np.nan, True])
def test_bad_sigma(sigma):
    with pytest.raises(cp.InputError, match="sigma must be"):
        cp.UserShift(sigma=sigma)


@pytest.mark.parametrize("sigma", [np.float32(0.5), np.int64(1)])
def test_sigma_may_be_any_number(sigma):
    fitted = cp.UserShift(sigma=sigma).fit(PROBS, LABELS, WHO)
    assert fitted.values_ == cp.UserShift(sigma=float(sigma)).fit(PROBS, LABELS, WHO).values_


def test_nothing_before_the_fit():
    shifts = cp.UserShift()
    for ask in (
        lambda: shifts.predict_proba(PROBS, WHO),
        lambda: shifts.partial_fit(PROBS, LABELS, WHO),
        lambda: shifts.predict_in_order(PROBS, LABELS, WHO),
        lambda: shifts.values_,
    ):
        with pytest.raises(cp.NotFittedError, match="UserShift is not fitted"):
            ask()


def test_another_number_of_options():
    fitted = cp.UserShift().fit(PROBS, LABELS, WHO)
    with pytest.raises(cp.InputError, match="probs must have 5 columns; found 2"):
        fitted.predict_proba([[0.5, 0.5]], ["a"])


def test_named_options():
    fitted = cp.UserShift(["a", "b", "c", "d", "e"])
    fitted.fit(PROBS, ["abcde"[z] for z in LABELS], WHO)
    plain = cp.UserShift().fit(PROBS, LABELS, WHO)
    assert fitted.values_ == plain.values_


def test_an_effect_of_ones_own():
    """A new effect is one function and a line."""

    class UserBlend(UserEffect):
        effect = Effect(
            "blend",
            lambda probs, value, histogram: (1 - value) * probs + value * histogram,
            lambda size: 0.0,
            lambda size: 1.0,
            lambda size: 0.1,
        )

    found = UserBlend().fit(PROBS, LABELS, WHO).predict_proba(PROBS, WHO)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_scikit_learn_knows_whether_it_is_fitted():
    shifts = cp.UserShift()
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(shifts)
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 40)
    shifts.fit(probs, np.arange(40) % 5, [f"user {k % 8}" for k in range(40)])
    check_is_fitted(shifts)
