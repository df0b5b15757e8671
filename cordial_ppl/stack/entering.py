"""Readings and labels that a fit is asked about: checked once, and predicted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.frames import aligned, check_columns, column_names
from cordial_ppl.data.labelled import Labelled, find_equal, without_labels
from cordial_ppl.data.labelling import as_texts, as_weights, have_several, list_labels
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, naming
from cordial_ppl.inference.posterior import check_probs
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.fit import AnyFit
from cordial_ppl.stack.members import predict_mixture

UNREAD_DRAWS = 4000
"""Draws of the mean of texts that were not read, from its Dirichlet posterior."""


def enter(fit: AnyFit, logits: Any, covariates: Mapping[str, Any] | None = None) -> Labelled:
    """Validate readings and covariates of texts without labels, and centre the readings.

    Args:
        fit: the fit.
        logits: option logits, ``[m, K]``.
        covariates: the covariates that it was fitted with, each of shape ``[m]``.

    Raises:
        InputError: the readings are invalid or have other options, or a covariate is missing.
    """
    # Sums round alike only in one order of memory.
    readings = np.ascontiguousarray(fit.read(logits))
    covariates = aligned(logits, covariates, "covariates")
    extra = as_covariates(covariates, len(readings), fit.covariates, fit.levels)
    return without_labels(readings, extra)


def enter_labels(
    fit: AnyFit, logits: Any, labels: Any, covariates: Any, weights: Any = None, texts: Any = None
) -> Labelled:
    """Validate labelled texts for what is fitted already; arguments are those of ``Stack.fit``."""
    return label_rows(enter(fit, logits, covariates), fit.scale, logits, labels, weights, texts)


def label_rows(
    entered: Labelled, scale: Scale, logits: Any, labels: Any, weights: Any, texts: Any
) -> Labelled:
    """Add labels and weights to texts without any, one label per row, in the order of the logits.

    Raises:
        InputError: a label is no option, or there are more or fewer labels than readings.
    """
    labels, texts = aligned(logits, labels, "labels"), aligned(logits, texts, "texts")
    weights = aligned(logits, weights, "sample_weight")
    codes = None if have_several(labels) else scale.encode(labels)
    count = len(labels) if codes is None else len(codes)
    if count != len(entered.labels):
        raise InputError(
            f"got {len(entered.labels)} rows of logits but {count} {'rows of ' * (codes is None)}"
            "labels. Pass one row of logits per labelled text."
        )
    data, cells = replace(entered, texts=as_texts(texts, count)), None
    if codes is None:
        names, others = column_names(labels), column_names(weights)
        if names is not None and others is not None and {*names} == {*others}:
            with naming("sample_weight"):
                check_columns(weights, names, ())
        codes, rows, columns = list_labels(labels, scale)
        data, cells = data.take(rows), (rows, columns)
    data = replace(data, labels=codes, weights=as_weights(weights, data.texts, cells))
    # What counts nothing is left out.
    seen = np.flatnonzero(data.weights)
    return data if len(seen) == len(data.labels) else data.take(seen)


def predict(
    fit: AnyFit, texts: Labelled, level: float | None = None
) -> tuple[Float[np.ndarray, "m K"], Any]:
    """Predict texts that are validated already.

    Args:
        fit: the fit.
        texts: the texts; their labels do not count.
        level: probability inside the interval of the mean; None where none is wanted.

    Returns:
        Probabilities, and the ends of the interval before it is widened to the mean.  A text that
        was not read has the labels of others that were not.

    Raises:
        InputError: a channel gives no probabilities for a text.
    """
    values, unread, counts = fit.scale.values, texts.unread, fit.unread_counts
    read, size = np.flatnonzero(~unread), len(unread)
    probs, ends = np.tile(counts / counts.sum(), (size, 1)), np.empty((2, size))
    if level is not None and unread.any():
        means = np.random.default_rng(0).dirichlet(counts, UNREAD_DRAWS) @ values
        ends[:] = np.quantile(means, [[(1 - level) / 2], [(1 + level) / 2]])
    if read.size:
        # Hard ratings are few different readings.
        texts = texts.take(read)
        first, rows = find_equal(texts.logits, *texts.covariates.values())
        texts = texts.take(first)
        with doing("predicting"):
            members = fit.mixture(texts.logits)
            each, limits = predict_mixture(*members, texts.covariates, values, level)
        probs[read] = each[rows]
        if limits is not None:
            ends[:, read] = limits[:, rows]
    return check_probs(probs), ends


def predict_all(
    fit: AnyFit, logits: Any, level: float, covariates: Mapping[str, Any] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Predict probabilities, means and intervals of the means, for little more than the first cost.

    Args:
        fit: the fit.
        logits: option logits, ``[m, K]``.
        level: probability inside the interval, validated.
        covariates: per-text covariates, as in ``fit``.

    Returns:
        Arrays of what ``predict_proba``, ``predict_mean`` and ``predict_interval`` return.

    Raises:
        InputError: the readings are invalid.
    """
    probs, ends = predict(fit, enter(fit, logits, covariates), level)
    mean = probs @ fit.scale.values
    return probs, mean, np.minimum(ends[0], mean), np.maximum(ends[1], mean)
