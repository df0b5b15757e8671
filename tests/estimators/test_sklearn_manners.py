"""Estimators as scikit-learn's users expect them: settings, clones, folds, pipelines, frames."""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from broken_channels import write_channel
from few_labels import LABELS, LOGITS, STARS, TEST, TEXTS, lengthy, small
from scipy.special import softmax
from sklearn import base
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import cordial_ppl as cp
from cordial_ppl.errors import PACKAGE, warn
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.tasks import split_task

# Five texts an option: every fold has all of them.
MANY = np.concatenate([np.flatnonzero(TEXTS.labels == k)[:5] for k in range(5)])
X, Y = TEXTS.logits[MANY], TEXTS.labels[MANY]
COUNTS = {"mixture": 1.0}
PRIOR = cp.priors.Prior(np.zeros(5), np.ones(5))

ESTIMATORS = [
    cp.Cordial(STARS, prior={"mixture": PRIOR, "location": {"offset": (0.0, 0.3)}}, seed=3),
    cp.Cordial(channels=["scalar"], weight_counts=COUNTS),
    cp.Cordial.paper(STARS, weights="flat"),
    cp.Cordial.paper(seed=3),
    cp.LogitStack(seed=3),
    cp.ScalarStack(inference="mode"),
    cp.FullChannelStack(),
    Stack(channels=("mixture",), weight_counts=COUNTS),
    cp.RawReading(),
    cp.TemperatureScaling(list(STARS)),
    cp.VectorScaling(STARS),
    cp.ProportionalOdds(penalty="cv"),
    cp.DirichletCalibration(),
    cp.BatchCalibration(),
    cp.calibrators.LabelHistogram(),
    cp.ChannelCalibrator("mixture", prior=PRIOR, inference="mode"),
    cp.ChannelCalibrator("full"),
]


def clone(estimator) -> Any:
    return base.clone(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_settings_are_kept_as_they_were_given(estimator):
    given, found = estimator.get_params(), clone(estimator)
    if isinstance(estimator, Stack):
        assert settings_of(found) == settings_of(estimator)
    assert type(found) is type(estimator) and repr(found) == repr(estimator)
    assert found.get_params(deep=False).keys() == given.keys()
    assert all(found.get_params()[name] is given[name] for name in given)
    assert clone(estimator).set_params(**given).get_params().keys() == given.keys()
    with pytest.raises(cp.InputError, match="set_params accepts only .*options.*; got 'sede'"):
        estimator.set_params(sede=1)


def test_settings_of_its_own_those_shown_and_other_ones():
    found = cp.TemperatureScaling().fit(X, Y)
    assert found.set_params().predict_proba(X).shape == (25, 5)
    with pytest.raises(cp.NotFittedError):
        found.set_params(options=STARS).predict_proba(X)
    assert set(found.fit(X, Y + 1).predict(X)) <= set(STARS)
    stack = cp.LogitStack(STARS).set_params(seed=3, weight_counts={"odds": 2.0})
    assert repr(stack) == repr(cp.LogitStack(STARS, seed=3, weight_counts={"odds": 2.0}))
    shown = "ProportionalOdds(options=('1', '2'), penalty='cv')"
    assert repr(cp.ProportionalOdds(STARS[:2], penalty="cv")) == shown
    assert len(repr(cp.Cordial(tuple(map(str, range(101))), prior={"mixture": PRIOR}))) < 300
    judge = Further(2, seed=5)
    assert judge.get_params() == {"depth": 2} and repr(judge) == "Further(depth=2)"
    assert judge.set_params(depth=3).depth == 3 and judge.seed == clone(judge).seed == 5


def settings_of(stack):
    return {
        k: v
        for k, v in vars(stack.settings).items()
        if k not in ("prior", "has_default_prior", "effort")
    }


def test_a_clone_of_a_loaded_calibrator_has_the_settings_of_its_file(judge, tmp_path):
    judge.save(tmp_path / "judge.cordial")
    found = clone(cp.load(tmp_path / "judge.cordial"))
    assert type(found) is cp.Cordial and not hasattr(found, "fit_")
    assert settings_of(found) == settings_of(judge)
    assert found.set_params(seed=4).seed == 4 and found.settings.names == judge.settings.names


def test_pipelines_and_searches():
    steps = [("halved", FunctionTransformer(lambda x: x / 2)), ("judge", cp.LogitStack())]
    pipe = Pipeline(steps).set_params(judge__seed=1).fit(X, Y)
    expected = cp.LogitStack(seed=1).fit(X / 2, Y)
    np.testing.assert_array_equal(pipe.predict_proba(TEST), expected.predict_proba(TEST / 2))
    assert base.is_classifier(pipe) and pipe.n_features_in_ == 5 and len(pipe.classes_) == 5
    counts = [{"vector": 9.0}, {"odds": 9.0}]
    search = GridSearchCV(pipe, {"judge__weight_counts": counts}, scoring="neg_log_loss", cv=5)
    search.fit(X, Y)
    np.testing.assert_array_equal(search.classes_, range(5))
    assert search.best_estimator_["judge"].get_params()["weight_counts"] in counts
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and scores[0] != scores[1]


INDEX = [f"text {row}" for row in range(40)]


@pytest.mark.parametrize(
    "judge", [cp.TemperatureScaling(), cp.LogitStack(STARS), cp.RawReading()], ids=repr
)
def test_data_frames_give_data_frames(judge):
    judge.fit(X, Y if judge.options is None else Y + 1)
    probs, columns = judge.predict_proba(TEST), judge.classes_.tolist()
    given: Any = pandas.DataFrame(TEST, INDEX), polars.DataFrame(TEST)
    for frame in given:
        found = judge.predict_proba(frame)
        assert type(found) is type(frame)
        np.testing.assert_array_equal(found.to_numpy(), probs)
        assert [*map(str, found.columns)] == [*map(str, columns)]
        for name, called in (("predict", "label"), ("predict_mean", "mean")):
            series, values = getattr(judge, name)(frame), getattr(judge, name)(TEST)
            assert series.to_list() == values.tolist() and series.name == called
            if isinstance(frame, pandas.DataFrame):
                assert list(series.index) == list(found.index) == INDEX
                assert found.columns.tolist() == columns
        ends = *judge.predict_interval(frame), *judge.predict_label_interval(frame)
        assert [e.name for e in ends] == ["mean_low", "mean_high", "label_low", "label_high"]


@pytest.mark.parametrize("library", [pandas, polars])
def test_columns_of_data_frames_keep_their_order(library, tmp_path):
    names = [f"logit_{star}" for star in STARS]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    judge = cp.TemperatureScaling().fit(frame, Y)
    assert judge.feature_names_in_.tolist() == names
    expected = judge.predict_proba(X)
    np.testing.assert_array_equal(np.asarray(judge.predict_proba(frame)), expected)
    # Without names of a fit, those of the options tell, or the numbers that names end in.
    named = cp.TemperatureScaling(STARS).fit(X, Y + 1)
    np.testing.assert_array_equal(np.asarray(named.predict_proba(frame)), expected)
    cp.LogitStack(STARS).fit(frame, Y + 1).save(tmp_path / "stack.cordial")
    loaded = cp.load(tmp_path / "stack.cordial")
    loaded.predict(frame)
    turned, mixed = frame[names[::-1]], frame[[names[k] for k in (0, 3, 1, 4, 2)]]
    for call, wrong in (
        *((own.predict, turned) for own in (judge, named, loaded)),
        (judge.predict, frame[names[:-1]]),
        (lambda given: named.fit(given, Y + 1), turned),
        (lambda given: cp.TemperatureScaling().fit(given, Y), mixed),
        (lambda given: cp.BatchCalibration().fit(given, Y), mixed),
        (lambda given: cp.check_readings(judge, given), turned),
        (lambda given: cp.TemperatureScaling().fit(frame, Y, corpus=given), turned),
        (lambda given: cp.TemperatureScaling(STARS).fit(X, Y + 1, corpus=given), turned),
    ):
        with pytest.raises(cp.InputError, match="columns logit_1, .*, in this order; got logit_"):
            call(wrong)
    numbered = pandas.DataFrame(X)
    np.testing.assert_array_equal(judge.predict_proba(numbered), expected)
    assert not hasattr(judge.fit(X, Y), "feature_names_in_")


def test_numbers_as_names_of_columns_keep_their_order():
    named = cp.TemperatureScaling(STARS).fit(pandas.DataFrame(X, columns=STARS), Y + 1)
    unnamed, turned = pandas.DataFrame(X), range(5, 0, -1)
    for columns in (STARS, [1.0, 2.0, 3.0, 4.0, 5.0], range(5)):
        assert named.predict(pandas.DataFrame(X, columns=columns)).tolist() == [*named.predict(X)]
    for call, frame in (
        (named.predict, pandas.DataFrame(X, columns=turned)),
        (lambda given: named.fit(given, Y + 1), pandas.DataFrame(X, columns=[*map(float, turned)])),
        (lambda given: cp.TemperatureScaling().fit(given, Y), unnamed.iloc[:, ::-1]),
        (lambda given: cp.TemperatureScaling().fit(given, Y), unnamed[[0, 2, 1, 3, 4]]),
    ):
        with pytest.raises(cp.InputError, match="expected columns [01], .*, in this order; got "):
            call(frame)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (("very_bad", "so_so", "good"), ["logit_very_bad", "logit_so_so", "logit_good"]),
        (("not_good", "good", "so so"), ["p_not_good", "p_good", "p_so_so"]),
        (("Poor", "Fair", "Good"), ["poor", "fair", "good"]),
        (("good", "fair", "Good"), ["p good", "p fair", "p Good"]),
    ],
)
@pytest.mark.parametrize("library", [pandas, polars])
def test_columns_of_words_keep_their_order(library, options, columns):
    codes = np.arange(12) % 3
    probs, labels = 0.1 + 0.7 * np.eye(3)[codes], [options[k] for k in codes]
    logits = np.log(probs)
    own, log = (dict(zip(columns, cells.T, strict=True)) for cells in (probs, logits))
    own, log = library.DataFrame(own), library.DataFrame(log)
    raw = cp.RawReading(options).fit(log, labels)
    users = cp.UserShift(options).fit(own, labels, codes)
    assert [*raw.predict(log)] == [*raw.predict(logits)] == labels
    raw, wrong = cp.RawReading(options).fit(logits, labels), f"columns {', '.join(columns)}, in"
    for call, frame in (
        (raw.predict, log),
        (lambda given: cp.RawReading(options).fit(given, labels), log),
        (lambda given: users.predict_proba(given, codes), own),
        (lambda given: users.fit(given, labels, codes), own),
        (lambda given: cp.Fusion(options).fit({"a": logits, "b": given}, labels), log),
    ):
        with pytest.raises(cp.InputError, match=wrong):
            call(frame[columns[::-1]])


@pytest.mark.parametrize("make", [small, cp.LogitStack, cp.DirichletCalibration])
def test_a_fit_changes_no_setting_and_knows_no_other(make):
    judge = make(seed=2) if make is not cp.DirichletCalibration else make()
    given, shown = judge.get_params(), repr(judge)
    once = judge.fit(LOGITS, LABELS).predict_proba(TEST)
    judge.fit(X[5:], Y[5:])
    np.testing.assert_array_equal(judge.fit(LOGITS, LABELS).predict_proba(TEST), once)
    assert judge.get_params() == given and repr(judge) == shown


BINARY = "classes are columns: labels are 0..K-1 with K columns, and features are logits"
WORDS = "the message says the same in words of its own"
KINDS = "logits are dense tables of real numbers, labels a list"
ARGUMENT = "the second argument is called labels"
REASONS = {
    "do_not_raise_errors_in_init_or_set_params": "the tests check the types of arguments",
    "estimators_overwrite_params sample_weights_pandas_series sample_weights_not_an_array": BINARY,
    "sample_weights_shape sample_weights_not_overwritten estimators_fit_returns_self": BINARY,
    "readonly_memmap_input classifiers_one_label classifiers_classes classifiers_train": BINARY,
    "sample_weight_equivalence_on_dense_data fit_score_takes_y": ARGUMENT,
    "estimators_unfitted": "the error is the package's own, with the bases of scikit-learn's",
    "n_features_in_after_fitting complex_data estimators_empty_data_messages": WORDS,
    "estimator_sparse_tag estimator_sparse_array estimator_sparse_matrix requires_y_none": WORDS,
    "classifiers_regression_target fit2d_1feature fit2d_predict1d": WORDS,
    "dtype_object classifier_data_not_an_array supervised_y_2d": KINDS,
}
EXPECTED = {f"check_{name}": why for names, why in REASONS.items() for name in names.split()}
"""Checks of scikit-learn's that do not apply to a calibrator on logits, and why."""


@pytest.mark.filterwarnings("ignore")  # The checks' own.
def test_the_checks_of_scikit_learn():
    found = check_estimator(
        cp.TemperatureScaling(), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None
    )
    failed = {
        check["check_name"]: check["exception"] for check in found if check["status"] == "failed"
    }
    assert not failed
    assert sum(check["status"] == "passed" for check in found) > 25


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.fixture(scope="module")
def of_a_file(tmp_path_factory):
    path = write_channel(tmp_path_factory.mktemp("channels"), "sound")
    return Stack(STARS, channels=[path], calibrators=["odds"], inference="mode").fit(X, Y + 1), path


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_predicts_the_same_and_is_fitted_by_itself(of_a_file, copied):
    judge, _ = of_a_file
    expected = judge.predict_proba(TEST)
    twin = copied(judge)
    assert repr(twin) == repr(judge)
    np.testing.assert_array_equal(twin.predict_proba(TEST), expected)
    twin.set_params(seed=4)
    np.testing.assert_array_equal(judge.predict_proba(TEST), expected)
    twin.set_params(seed=0).fit(X, Y + 1)
    np.testing.assert_array_equal(twin.predict_proba(TEST), expected)


def test_a_pickle_needs_the_channel_file_as_it_was(of_a_file):
    judge, path = of_a_file
    content = pickle.dumps(judge)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(cp.ChannelError, match="sound.py has changed"):
        pickle.loads(content)
    path.unlink()
    assert copy.deepcopy(judge).weights_ == judge.weights_
    with pytest.raises(cp.ChannelError, match="cannot find a channel file"):
        pickle.loads(content)


def test_warnings_point_at_the_line_outside_the_package():
    # Types are checked in frames of their own.
    scope = {"warn": inspect.unwrap(warn)}
    source = "def read():\n    warn('odd')\n\ndef fit():\n    read()"
    exec(compile(source, f"{PACKAGE}/stack/some.py", "exec"), scope)
    with pytest.warns(cp.CordialWarning, match="odd") as told:
        scope["fit"]()
    assert told[0].filename == __file__


def test_a_fit_keeps_the_settings_that_it_was_made_with(tmp_path):
    judge = cp.LogitStack(STARS, seed=3).fit(X, Y + 1)
    expected = judge.predict(TEST)
    judge.options, judge.seed, judge.weight_counts = None, 4, {"none": -1}
    assert judge.classes_.tolist() == list(STARS)
    np.testing.assert_array_equal(judge.predict(TEST), expected)
    judge.save(tmp_path / "judge.cordial")
    loaded = cp.load(tmp_path / "judge.cordial")
    assert loaded.seed == 3 and loaded.weight_counts == judge.fit_.settings.weight_counts
    np.testing.assert_array_equal(loaded.predict(TEST), expected)
    judge = cp.LogitStack(range(1, 6)).fit(X, Y + 1)
    judge.save(tmp_path / "judge.cordial")
    found = cp.load(tmp_path / "judge.cordial").predict(TEST)
    assert found.dtype.kind == "i"
    np.testing.assert_array_equal(found, judge.predict(TEST))


class Further(cp.LogitStack):
    """A stack with a setting of its own, which passes the others on."""

    def __init__(self, depth=1, **settings):
        super().__init__(**settings)
        self.depth = depth


FEW = np.concatenate([np.flatnonzero(TEXTS.labels == k)[:5] for k in (4, 0, 3)])


@pytest.mark.parametrize(
    "options",
    [None, range(1, 6), (9, 7, 5, 3, 1), ("poor", "fair", "good", "great", "best")],
    ids=str,
)
def test_few_labels_are_scored_whatever_the_options_are(options):
    """Folds without an option, options in no order of names, and labels in the options' terms."""
    judge = cp.TemperatureScaling(options)
    names = np.asarray(range(5) if options is None else options)
    labels = names[TEXTS.labels[FEW]]
    loss = cross_val_score(judge, TEXTS.logits[FEW], labels, scoring=cp.scores.neg_log_loss, cv=3)
    plain = cp.TemperatureScaling()
    expected = cross_val_score(
        plain, TEXTS.logits[FEW], TEXTS.labels[FEW], scoring=cp.scores.neg_log_loss, cv=3
    )
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(loss, expected)
    assert judge.fit(X, names[Y]).classes_.tolist() == names.tolist()


@pytest.mark.parametrize("make", [cp.TemperatureScaling, cp.LogitStack])
def test_an_index_says_which_label_is_whose(make):
    order = np.random.default_rng(0).permutation(len(Y))
    index = pandas.Index([f"text {row}" for row in range(len(Y))])
    logits = pandas.DataFrame(X, index)
    labels, weights = (pandas.Series(own, index) for own in (Y, np.arange(1.0, 26.0)))
    expected = make().fit(logits, Y, sample_weight=weights.to_numpy())
    judge = make().fit(logits, labels.iloc[order], sample_weight=weights.iloc[order[::-1]])
    np.testing.assert_array_equal(judge.predict_proba(TEST), expected.predict_proba(TEST))
    assert judge.score(logits, labels.iloc[order]) == judge.score(X, Y)
    for other in (labels.reset_index(drop=True), labels.rename({"text 3": "text 4"})):
        with pytest.raises(cp.InputError, match="labels and readings"):
            make().fit(logits, other)
    with pytest.raises(cp.InputError, match="different indexes"):
        judge.score(logits, labels[:-1])
    # By position where one has no index.
    for given in ((X, labels), (polars.DataFrame(X), labels), (logits, Y.tolist())):
        make().fit(*given)


def test_an_index_counts_wherever_labels_are_taken():
    order, index = np.random.default_rng(0).permutation(20), [f"text {row}" for row in range(20)]
    frame, series = pandas.DataFrame(LOGITS, index), pandas.Series(LABELS, index).iloc[order]
    turned = frame.set_axis(range(5, 0, -1), axis=1)
    score, probs = cp.scores.log_loss, pandas.DataFrame(softmax(LOGITS, axis=1), index)
    assert score(probs, series) == score(probs.to_numpy(), LABELS)
    weights = pandas.Series(np.arange(1.0, 21.0), index)
    assert cp.scores.accuracy(probs, series, weights.iloc[order]) == cp.scores.accuracy(
        probs.to_numpy(), LABELS, weights.to_numpy()
    )
    for learn in (
        lambda logits, labels: cp.fit_channel("location", logits, labels, method="mode").draws,
        lambda logits, labels: split_task("task", logits, labels, 8).report.labels,
        lambda logits, labels: [
            list(fit.modes["location"].values())
            for fit in cp.learn_prior([(logits, labels)] * 2, channels=["location"]).fits
        ],
    ):
        np.testing.assert_array_equal(learn(frame, series), learn(LOGITS, LABELS))
        with pytest.raises(
            cp.InputError, match="expected columns 1, 2, 3, 4, 5|expected columns 0"
        ):
            learn(turned.iloc[:, [1, 0, 2, 3, 4]], LABELS)


def test_covariates_and_users_follow_the_index():
    order = np.random.default_rng(0).permutation(20)
    logits = pandas.DataFrame(LOGITS)
    length = pandas.Series(np.linspace(0.5, 2, 20))
    judge = cp.ChannelCalibrator(cp.channels.Channel("lengthy", lengthy), inference="mode")
    expected = judge.fit(LOGITS, LABELS, {"length": length.to_numpy()}).predict_proba(
        LOGITS, {"length": length.to_numpy()}
    )
    shuffled = {"length": length.iloc[order]}
    found = judge.fit(logits, LABELS, shuffled).predict_proba(logits, shuffled)
    np.testing.assert_array_equal(found, expected)
    users = pandas.Series(["ann", "bob"] * 10)
    probs = pandas.DataFrame(expected)
    labels = pandas.Series(LABELS)
    plain = cp.UserShift().fit(expected, LABELS, users.tolist())
    shift = cp.UserShift().fit(probs, labels.iloc[order], users.iloc[order[::-1]])
    assert shift.values_ == plain.values_
    with pytest.raises(cp.InputError, match="users and readings have different indexes"):
        shift.predict_proba(probs, users[1:])


def test_a_score_by_log_loss_follows_the_index():
    frame, labels = pandas.DataFrame(LOGITS).add_prefix("logit_"), pandas.Series(LABELS)
    judge = cp.TemperatureScaling().fit(frame, labels)
    shuffled = labels.sample(frac=1, random_state=0)
    expected = cp.scores.neg_log_loss(judge, frame, LABELS)
    assert cp.scores.neg_log_loss(judge, frame, shuffled) == expected
    with pytest.raises(cp.InputError, match="labels and readings have different indexes"):
        cp.scores.neg_log_loss(judge, frame, shuffled.add_prefix("t"))


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize(
    "options", [("poor", "fair", "good", "great", "best"), STARS, range(1, 6), range(5, 0, -1)]
)
def test_scikit_learn_gets_no_columns_that_it_would_pair_wrongly(options, piped):
    labels = np.array(options)[Y]
    judge = cp.TemperatureScaling(list(options))
    judge = Pipeline([("judge", judge)]) if piped else judge
    # No fold shows that a label is beyond the options.
    above, lowest = np.flatnonzero(Y > 0), np.flatnonzero(Y == 0)
    folds = [(above, lowest), (above, above)]
    with pytest.raises(cp.InputError, match=r"alphabetical order.*neg_log_loss"):
        cross_val_predict(judge, X, labels, method="predict_proba", cv=folds)
    assert set(cross_val_predict(judge, X, labels)) <= set(labels)
    fitted = judge.fit(X, labels)
    assert fitted.predict_proba(X[:3]).shape == (3, 5)
    loss = get_scorer("neg_log_loss")
    if [*options] == sorted(options):
        expected = cp.scores.neg_log_loss(fitted, X, labels)
        assert loss(fitted, X, labels) == pytest.approx(expected, abs=0.01)
    else:
        with pytest.raises(cp.InputError, match="alphabetical order"):
            loss(fitted, X, labels)


@pytest.mark.parametrize("missing", [0, 4])
@pytest.mark.parametrize("options", [None, range(1, 6)])
def test_scikit_learn_renumbers_no_labels_that_lack_an_option(options, missing):
    """Its ensembles and cross-validated probabilities fit to ranks of the labels that occur."""
    judge, rows = cp.VectorScaling(options), np.flatnonzero(missing != Y)
    logits, labels = X[rows], Y[rows] + (options is not None)
    for fit in (
        VotingClassifier([("judge", judge)]).fit,
        BaggingClassifier(judge, n_estimators=2).fit,
        StackingClassifier([("judge", judge)]).fit,
        lambda X, y: cross_val_predict(judge, X, y, method="predict_proba", cv=3),
    ):
        with pytest.raises(cp.InputError, match="renumbers labels.* 4 of 5 options"):
            fit(logits, labels)
    assert set(cross_val_predict(judge, logits, labels, cv=3)) <= set(range(6))
    assert np.isfinite(cross_val_score(judge, logits, labels, cv=3)).all()
    if options is None:
        voting = VotingClassifier([("judge", judge)], voting="soft").fit(X, Y)
        expected = cp.VectorScaling().fit(X, Y).predict_proba(X)
        np.testing.assert_array_equal(voting.predict_proba(X), expected)


def test_numbers_from_one_are_told_that_scikit_learn_counts_from_zero():
    judge, settings = cp.TemperatureScaling((1, 2, 3, 4, 5)), dict[str, Any](error_score="raise")
    with pytest.raises(cp.InputError, match="scikit-learn expects labels numbered from 0"):
        cross_val_predict(judge, X, Y + 1, method="predict_proba")
    assert set(cross_val_predict(judge, X, Y + 1)) <= {1, 2, 3, 4, 5}
    with pytest.raises(cp.InputError, match="whole numbers 1..5; found 0"):
        cross_val_score(judge, X, Y, **settings)
