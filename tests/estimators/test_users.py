"""Users who differ: the grid against golden values and NUTS, labels one at a time, times."""

import inspect
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest
from golden import read_golden
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import cordial_ppl as cp
from cordial_ppl.channels.user_effects import SHIFT, shift_matrices
from cordial_ppl.estimators.users.spreads import SPREAD_PROBS, SPREADS, log_normals
from cordial_ppl.runtime.arrays import FLOOR

GOLDEN = read_golden("users")["shift"]
SIZE, USERS, EACH, COUNT = 5, 12, 16, 4
pytestmark = pytest.mark.x64


def moved(probs, deltas):
    return np.einsum("nzy,ny->nz", shift_matrices(np.asarray(deltas, float), SIZE), probs)


def made(seed=0, users=USERS, each=EACH, spread=0.8, alpha=0.5):
    """Population predictions, labels of users who differ by a shift, and who they are."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(alpha * np.ones(SIZE), users * each)
    who = np.repeat(np.arange(users), each)
    deltas = spread * rng.standard_normal(users)
    sums = moved(probs, deltas[who]).cumsum(axis=1)
    labels = (sums > rng.random((len(who), 1)) * (1 - 1e-12)).argmax(axis=1)
    return probs, labels, [f"user {u}" for u in who], deltas


PROBS, LABELS, WHO, _ = made()


loss = cp.scores.log_loss


@pytest.fixture(scope="module")
def fitted():
    return cp.UserShift().fit(PROBS, LABELS, WHO)


def test_golden_shifts():
    (still,) = (np.array(case["p"]) for case in GOLDEN if case["delta"] == 0)
    for case in GOLDEN:
        expected = np.array(case["p"])
        found = moved(still, np.full(len(still), case["delta"]))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        one = shift_matrices(jnp.asarray(case["delta"]), SIZE)
        np.testing.assert_allclose(one @ jnp.asarray(still).T, expected.T, rtol=0, atol=1e-12)


distributions = arrays(np.float64, SIZE, elements=st.floats(0.001, 1)).map(lambda p: p / p.sum())


@given(distributions, st.floats(-6, 6), st.floats(0, 3))
def test_a_shift_moves_the_mean_by_at_most_delta_and_in_order(probs, delta, further):
    first, second = moved(np.stack([probs, probs]), [delta, delta + further])
    assert first.sum() == pytest.approx(1) and (first >= 0).all()
    assert (second.cumsum() <= first.cumsum() + 1e-12).all()
    mean = np.arange(SIZE) @ (first - probs)
    assert abs(mean) <= abs(delta) + 1e-9 and mean * delta >= -1e-12
    np.testing.assert_array_equal(moved(probs[None], [0.0])[0], probs)


def test_in_order_is_as_one_at_a_time(fitted):
    probs, labels, who, _ = made(seed=5, users=3, each=5)
    together, one = (cp.UserShift().fit(PROBS, LABELS, WHO) for _ in range(2))
    new, counts = np.array([f"new {name}" for name in who]), dict.fromkeys(who, 0)
    times = np.random.default_rng(2).permutation(15) + 0.5
    found, earlier = together.predict_in_order(probs, labels, new, times)
    for row in np.argsort(times)[:, None]:
        alone = one.predict_proba(probs[row], new[row])
        np.testing.assert_allclose(found[row], alone, rtol=0, atol=1e-9)
        assert earlier[row] == counts[who[row[0]]]
        counts[who[row[0]]] += 1
        one.partial_fit(probs[row], labels[row], new[row])
    assert one.counts_ == together.counts_ | dict.fromkeys(new, 5)
    again = cp.UserShift(sigma=0.7).fit(PROBS, LABELS, WHO)
    whole = cp.UserShift(sigma=0.7).fit(np.vstack([PROBS, probs]), [*LABELS, *labels], [*WHO, *new])
    again.partial_fit(probs, labels, new)
    assert again.values_ == pytest.approx(whole.values_, abs=1e-9)
    probs, labels, _, _ = made(seed=6, users=1, each=6)
    found, earlier = fitted.predict_in_order(probs, labels, ["x"] * 6, [1, 2, 2, 2, 3, 0])
    np.testing.assert_array_equal(earlier, [1, 2, 2, 2, 5, 0])
    np.testing.assert_array_equal(found[5], probs[5])
    swap = [0, 3, 1, 2, 4, 5]
    swapped, _ = fitted.predict_in_order(probs[swap], labels[swap], ["x"] * 6, [1, 2, 2, 2, 3, 0])
    np.testing.assert_allclose(swapped, found[swap], rtol=0, atol=1e-12)
    _, earlier = fitted.predict_in_order(PROBS[:2], LABELS[:2], [WHO[0], "x"])
    np.testing.assert_array_equal(earlier, [EACH, 0])
    # Those of others tell of sigma, and nothing else does.
    probs, labels, who, _ = made(seed=2, users=3, each=8, spread=1.5)
    own = np.array(who) == "user 1"
    shifts = cp.UserShift().fit(probs, labels, who)
    found, earlier = shifts.predict_in_order(probs, labels, who, afresh=True)
    assert earlier.max() == 7
    others = cp.UserShift().fit(probs[~own], labels[~own], np.array(who)[~own])
    alone, _ = others.predict_in_order(probs[own], labels[own], ["new"] * 8)
    np.testing.assert_allclose(found[own], alone, rtol=0, atol=1e-9)


@pytest.mark.nightly
def test_the_grid_agrees_with_its_channel():
    """Sigma, every user's value and predictions by NUTS, within its error; and with sigma known.

    Chains do not cross from one mode of a user's value to another as often as they should; vague
    predictions have one each.
    """
    probs, labels, _, _ = made(seed=3, users=COUNT, each=16, alpha=8.0)
    users = np.repeat(np.arange(COUNT), 16)
    given = np.log(probs), labels
    shifts = cp.UserShift().fit(probs, labels, users)
    channel = cp.channels.user_channel(COUNT)
    found = cp.fit_nuts(channel, *given, covariates={"user": users}, warmup=400)
    ess, named = found.diagnostics.ess, found.parameters()
    values = np.column_stack([named["sigma"], named["sigma"][:, None] * named["scaled"]])
    expected = [shifts.sigma_, *shifts.values_.values()]
    assert ess > 200
    assert (np.abs(values.mean(axis=0) - expected) < 4 * values.std(axis=0) / np.sqrt(ess)).all()
    predicted = shifts.predict_proba(probs[:COUNT], range(COUNT))
    own = found.predict_proba(np.log(probs[:COUNT]), {"user": np.arange(COUNT)})
    np.testing.assert_allclose(own, predicted, rtol=0, atol=0.01)
    assert found.to_datatree()["posterior"]["scaled"].sizes["user"] == COUNT
    channel = cp.channels.user_channel(COUNT + 1, sigma=0.5)
    assert channel is cp.channels.user_channel(COUNT + 1, sigma=0.5)
    known = cp.fit_channel(channel, *given, covariates={"user": users})
    values = known.parameters()["value"]
    expected = [*cp.UserShift(sigma=0.5).fit(probs, labels, users).values_.values(), 0.0]
    assert (np.abs(known.weights @ values - expected) < 0.15 * values.std(axis=0)).all()
    assert known.target.gaussian and known.diagnostics.trusted


def test_users_of_a_channel_are_whole_numbers_and_nothing_is_before_the_fit(fitted):
    logits, labels, channel = np.log(PROBS[:4]), LABELS[:4], cp.channels.user_channel(2)
    for wrong in ([0, 1, 2, 0], [0, 0.5, 1, 0], [0, -1, 1, 0]):
        with pytest.raises(
            cp.InputError, match=r"'user' must contain only whole numbers 0..1.*in row \d"
        ):
            cp.fit_channel(channel, logits, labels, covariates={"user": wrong})
    with pytest.raises(cp.InputError, match="needs the covariate 'user'"):
        cp.fit_channel(channel, logits, labels)
    for users, sigma in ((0, None), ("a", None), (None, None), (2, 0.0), (2, "a")):
        with pytest.raises(cp.InputError, match="(users|sigma) must be a"):
            inspect.unwrap(cp.channels.user_channel)(users, sigma=sigma)
    shifts = cp.UserShift()
    for ask in (
        lambda: shifts.predict_proba(PROBS, WHO),
        lambda: shifts.partial_fit(PROBS, LABELS, WHO),
        lambda: shifts.predict_in_order(PROBS, LABELS, WHO),
        lambda: shifts.values_,
        lambda: check_is_fitted(shifts),
    ):
        with pytest.raises(Exception, match="not fitted"):
            ask()
    check_is_fitted(fitted)


@pytest.mark.parametrize(("users", "each"), [(5, 9), (1, 300)])
def test_users_are_averaged_over_sigma_and_value(users, each):
    """Sums over every sigma and value: a user's labels count once; nothing underflows."""
    probs, labels, who, _ = made(seed=4, users=users, each=each, spread=1.2)
    if users == 1:
        probs[:], labels[:] = np.array([0.8, 0.15, 0.03, 0.015, 0.005]), 3
    shifts = cp.UserShift().fit(probs, labels, who)
    grid = SHIFT.grid(SIZE)
    logs = log_normals(grid, SPREADS)
    totals = SHIFT.log_likelihoods(probs, labels).reshape(users, each, -1).sum(axis=1)
    own = np.logaddexp.reduce(totals[:, None] + logs, axis=2)
    expected = []
    for total, evidence in zip(totals, own, strict=True):
        table = (np.log(SPREAD_PROBS) + own.sum(axis=0) - evidence)[:, None] + logs + total
        weights = np.exp(table - table.max())
        expected.append((weights / weights.sum()).sum(axis=0) @ grid)
    np.testing.assert_allclose(list(shifts.values_.values()), expected, rtol=0, atol=1e-8)


def test_shifts_are_recovered_on_scales_of_any_length_and_none_where_there_is_none():
    """Of 51 options, users who differ by five are found: spreads and steps grow with the scale."""
    rng = np.random.default_rng(0)
    size, users, each = 51, 8, 20
    centres = rng.uniform(10, 40, users * each)
    probs = np.exp(-0.5 * ((np.arange(size) - centres[:, None]) / 3) ** 2)
    who, deltas = np.repeat(np.arange(users), each), np.linspace(-10, 10, users)
    labels = np.rint(centres + deltas[who] + 3 * rng.standard_normal(len(who))).astype(int)
    shifts = cp.UserShift().fit(probs / probs.sum(axis=1, keepdims=True), labels.clip(0, 50), who)
    # The worst is off by 1.3, sd .34 over 20 seeds; sigma by 9 %, sd 4 %.
    np.testing.assert_allclose(list(shifts.values_.values()), deltas, rtol=0, atol=4 * 3 / 20**0.5)
    assert shifts.sigma_ == pytest.approx(np.sqrt(np.mean(deltas**2)), rel=0.3)
    probs, labels, who, _ = made(seed=7, users=30, each=30, spread=0.0)
    shifts = cp.UserShift().fit(probs, labels, who)
    # .017 (sd .002), .004 (.004) and a loss less by .0007 (.0009) over 20 seeds.
    assert shifts.sigma_ < 0.1 and max(map(abs, shifts.values_.values())) < 0.1
    found = shifts.predict_proba(probs, who)
    assert abs(loss(found, labels) - loss(probs, labels)) < 0.005
    probs, labels, who, deltas = made(seed=11, users=200, each=20)
    half, names = np.arange(len(labels)) % 2 == 0, np.array(who)
    shifts = cp.UserShift().fit(probs[half], labels[half], names[half])
    # Over 20 seeds: off by .02 (sd .03), .952 (.009), .902 (.018), a gain of .75 (.04).
    assert shifts.sigma_ == pytest.approx(np.std(deltas), abs=0.15)
    found = [shifts.values_[f"user {u}"] for u in range(200)]
    assert np.corrcoef(found, deltas)[0, 1] > 0.9
    ends = np.array(list(shifts.intervals(0.9).values()))
    assert 0.83 < np.mean((ends[:, 0] <= deltas) & (deltas <= ends[:, 1])) < 0.97
    found = loss(shifts.predict_proba(probs[~half], names[~half]), labels[~half])
    assert found < loss(probs[~half], labels[~half]) - 0.5


@pytest.mark.parametrize("fractions", ["nearest", "divided"])
def test_the_papers_shift_is_the_penalised_mode_under_a_cross_validated_sigma(fractions, tmp_path):
    """Every sum is written out: modes on the grid, each label after the earlier ones."""
    users, each = 5, 7
    probs, labels, who, _ = made(seed=8, users=users, each=each, spread=2.0)
    grid, rows, z = SHIFT.grid(SIZE), np.arange(users * each), np.arange(SIZE)
    logs = -1e6 * (z[:, None] - z - grid[:, None, None]) ** 2  # A concentration beyond fractions.
    masses = np.exp(logs - logs.max(axis=1, keepdims=True))
    limit = masses / masses.sum(axis=1, keepdims=True)
    shifts = limit if fractions == "nearest" else shift_matrices(grid, SIZE)
    shifted = np.einsum("gzy,ny->ngz", shifts, probs)
    logs = np.log(np.maximum(shifted[rows, :, labels], FLOOR)).reshape(users, each, -1)
    near = np.argsort(np.abs(grid), kind="stable")

    def mode(total, sigma):
        return near[(total - grid**2 / (2 * sigma**2))[near].argmax()]

    def in_order(sigma):
        sums = np.cumsum(logs, axis=1) - logs
        own = [shifted[row, mode(total, sigma)] for row, total in enumerate(np.concatenate(sums))]
        return np.where((rows % each == 0)[:, None], probs, own)

    def evidence(sigma):
        return round(np.log(np.maximum(in_order(sigma)[rows, labels], FLOOR)).sum(), 9)

    best = max(SPREADS, key=evidence)
    chosen = {} if fractions == "divided" else {"fractions": fractions}
    shift = cp.UserShift.paper(**chosen).fit(probs, labels, who)
    # Not the least, of which nothing moves: log .2, sd .5 over 20 seeds; that is -4.4.
    assert shift.sigma_ == best > SPREADS[0]
    expected = [grid[mode(own.sum(axis=0), best)] for own in logs]
    np.testing.assert_allclose(list(shift.values_.values()), expected, atol=1e-12)
    found, _ = shift.predict_in_order(probs, labels, who, afresh=True)
    np.testing.assert_allclose(found, in_order(best), rtol=0, atol=1e-12)
    shift.save(tmp_path / "users.cordial")
    again: Any = clone(shift)
    for other in (cp.load(tmp_path / "users.cordial"), again.fit(probs, labels, who)):
        expected = shift.predict_proba(probs, who)
        np.testing.assert_array_equal(other.predict_proba(probs, who), expected)
    with pytest.raises(cp.InputError, match="sigma='cross-validated' has no intervals"):
        shift.intervals()


def test_users_may_be_numbers_options_names_and_weights_a_series(fitted):
    shifts = cp.UserShift([*"abcde"]).fit(PROBS[:4], ["abcde"[z] for z in LABELS[:4]], [1, 1, 2, 2])
    again = shifts.predict_proba(PROBS[:2], np.array([1.0, 2.0]))
    np.testing.assert_array_equal(again, shifts.predict_proba(PROBS[:2], ["1", "2"]))
    assert shifts.users_ == ["1", "2"] and list(shifts.classes_) == [*"abcde"]
    one = cp.UserShift(sigma=np.float32(0.5)).fit(PROBS[:1], LABELS[:1], ["a"])
    assert one.counts_ == {"a": 1} and one.sigma_ == 0.5
    np.testing.assert_allclose(one.predict_proba(PROBS[:5], ["a"] * 5).sum(axis=1), 1)
    rows = np.arange(20)
    frame, weights = pandas.DataFrame(PROBS[rows]), pandas.Series(rows / 10)
    given = LABELS[rows], [WHO[row] for row in rows]
    found, expected = (cp.UserShift().fit(PROBS, LABELS, WHO) for _ in range(2))
    found.partial_fit(frame, *given, sample_weight=weights[::-1])
    expected.partial_fit(PROBS[rows], *given, sample_weight=weights.to_numpy())
    assert found.values_ == expected.values_ != fitted.values_


@pytest.mark.parametrize("library", [pandas, polars])
def test_data_frames_and_clones(library):
    shifts: Any = clone(cp.UserShift([*"abcde"], sigma=0.5))
    assert repr(shifts) == "UserShift(options=['a', 'b', 'c', 'd', 'e'], sigma=0.5)"
    plain = cp.UserShift(sigma=0.5).fit(PROBS, LABELS, WHO)
    frame = library.DataFrame(dict(zip("abcde", PROBS.T, strict=True)))
    shifts.fit(frame, ["abcde"[z] for z in LABELS], WHO)
    found = shifts.predict_proba(frame, WHO)
    assert type(found) is type(frame) and list(found.columns) == [*"abcde"]
    np.testing.assert_array_equal(found.to_numpy(), plain.predict_proba(PROBS, WHO))
    found, counts = shifts.predict_in_order(frame, LABELS, WHO, afresh=True)
    expected, earlier = plain.predict_in_order(PROBS, LABELS, WHO, afresh=True)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    np.testing.assert_array_equal(counts.to_numpy(), earlier)
    assert counts.name == "earlier"
    with pytest.raises(cp.InputError, match="expected columns a, b, c, d, e, in this order"):
        shifts.predict_proba(frame[[*"edcba"]], WHO)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": ["a"]}, r"users .* 192 texts; got shape \[1\]"),
        ({"users": [["a"], ["b", "c"]]}, "users .* 192 texts"),
        ({"users": [None] + WHO[1:]}, "the user is missing in row 0"),
        ({"order": [1, 2]}, r"order .* 192 texts; got shape \[2\]"),
        ({"labels": LABELS[:3]}, r"labels .* 192 texts; .*\[3\]"),
        ({"labels": [7] * 192}, "7"),
        ({"probs": 2 * PROBS}, "probs must contain .*sum to one"),
        ({"probs": PROBS[0]}, "probs must have n >= 1 rows"),
        ({"probs": None}, "has no fit_.out_of_fold"),
        *(({"sigma": sigma}, "sigma") for sigma in ("best", 0, -1.0, np.inf, np.nan, True)),
    ],
)
def test_bad_input(change, message):
    settings = {"sigma": change.pop("sigma")} if "sigma" in change else {}
    given = {"probs": PROBS, "labels": LABELS, "users": WHO, "order": None} | change
    with pytest.raises(cp.InputError, match=message):
        cp.UserShift(**settings).fit(**given)


DAYS = ["2024-03-01T12:00:00", "2024-02-29", "2024-03-01T12:00:00.000001", "2024-02-29"]
MOMENTS = [datetime.fromisoformat(day) for day in DAYS]
EAST = timezone(timedelta(hours=5))


@pytest.mark.parametrize(
    "order",
    [
        [2, 0, 3, 0],
        [*"2030"],
        DAYS,
        MOMENTS,
        np.array(["2024-01-01"] * 4, "datetime64[ns]") + [1, 0, 2, 0],
        np.array(MOMENTS, "datetime64[us]") - np.datetime64("2024-01-01"),
        pandas.Series(pandas.to_datetime(DAYS, format="ISO8601", utc=True)),
        [date(2024, 1, 2), datetime(2024, 1, 1), datetime(2024, 1, 2, 1), "2024-01-01"],
        [datetime(2024, 1, 1, 9, tzinfo=EAST), "2024-01-01T00Z", "2024-01-02T00:00Z"]
        + ["2023-12-31T23:00-01:00"],
    ],
    ids=lambda order: type(order).__name__,
)
def test_numbers_and_dates_are_put_in_order(fitted, order):
    _, earlier = fitted.predict_in_order(PROBS[:4], LABELS[:4], ["x"] * 4, order)
    assert earlier.tolist() == [2, 0, 3, 0]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        (["2024-01-01", "soon"], "'soon' in row 1"),
        ([1, 2, "soon"], "'soon' in row 2"),
        (["2024-01-01", None], "None in row 1"),
        ([datetime(2024, 1, 1), 5.0], "5 in row 1"),
        (["2024-01-01", datetime(2024, 1, 1, tzinfo=UTC)], "datetime.* in row 1"),
        (np.array(["2024-01-01", "NaT"], "datetime64[s]"), ".* in row 1"),
        ([np.inf, 1.0], "inf in row 0"),
        (["999", "1,000"], "'1,000' in row 1. Use a decimal point and no thousands separator"),
    ],
)
def test_what_is_neither_is_refused(fitted, order, found):
    with pytest.raises(cp.InputError, match=f"order must be .* a time zone; got {found}"):
        fitted.predict_in_order(
            PROBS[: len(order)], LABELS[: len(order)], ["x"] * len(order), order
        )


def test_a_weight_is_so_many_labels_of_a_user(fitted):
    times = np.random.default_rng(0).integers(0, 3, len(LABELS))
    times[0] = 1
    rows = np.repeat(np.arange(len(LABELS)), times)
    weighed = cp.UserShift().fit(PROBS, LABELS, WHO, sample_weight=times)
    copies = cp.UserShift().fit(PROBS[rows], LABELS[rows], [WHO[row] for row in rows])
    for name, value in copies.values_.items():
        assert weighed.values_[name] == pytest.approx(value, rel=1e-9)
    assert weighed.sigma_ == pytest.approx(copies.sigma_)
    plain = cp.UserShift().fit(PROBS, LABELS, WHO, sample_weight=np.ones(len(LABELS)))
    assert plain.values_ == fitted.values_
