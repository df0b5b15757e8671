"""`cordial calibrate`, its first half `cordial fit`, and `cordial demo`: what is fitted."""

from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import Fitting
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.errors import count

FIGURES = {"draws": "draws", "khat": "k-hat", "ess": "effective draws"}
"""Diagnostics of a posterior, and what they are called."""

DEMONSTRATED = 20
"""Reviews of the demonstration whose labels are used."""

MEASURED = "log_loss", "accuracy", "confidence"

NEXT = """
Now with your own readings and labels (one row per text; item_id, logit_1 ... and item_id, label):
  cordial calibrate readings.csv labels.csv -o calibrated.csv"""

Verbose = Annotated[bool, Parameter(group=options.OUTPUT)]


@command
def calibrate(tables: Fitting, *, output: options.TableOut, verbose: Verbose = False) -> Result:
    """Fit on the labelled texts; write calibrated probabilities for all texts.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): p_..., mean and interval, label.
        verbose: Print how well each posterior is known, too.
    """
    read = tables.read()
    calibrator = tables.fit(*read)
    from cordial_ppl.estimators.bulk.predictor import predict_table

    texts = predict_table(calibrator, read[0], output)
    done = f"wrote {output}: {count(texts, 'text')}, calibrated on {say_labels(read[1])}"
    return _describe(calibrator, read, {"output": output, "texts": texts}, done, verbose)


@command
def fit(tables: Fitting, *, output: options.CalibratorOut, verbose: Verbose = False) -> Result:
    """Fit on the labelled texts; save the calibrator for `cordial predict`.

    Args:
        output: Calibrator to write (.cordial).
        verbose: Print how well each posterior is known, too.
    """
    read = tables.read()
    calibrator = tables.fit(*read)
    calibrator.save(output)
    done = f"wrote {output}: a calibrator fitted on {say_labels(read[1])}"
    return _describe(calibrator, read, {"output": output}, done, verbose)


@command
def demo(*, inference: options.Inference = "default", seed: options.Seed = 0) -> Result:
    """Show what calibration does: fit on 20 labels of made-up reviews, score the others."""
    from cordial_ppl import scores
    from cordial_ppl.data.readings import label_histogram
    from cordial_ppl.decisions.answers import describe
    from cordial_ppl.estimators.named import Cordial
    from cordial_ppl.evaluation import synthetic
    from cordial_ppl.stack.weighing import stated

    reviews = synthetic.reviews()
    logits, unseen = np.split(reviews.logits, [DEMONSTRATED])
    labels, truth = np.split(reviews.labels, [DEMONSTRATED])
    calibrator = Cordial(reviews.options, inference=inference, seed=seed)
    calibrator.fit(logits, [reviews.options[label] for label in labels])
    predictions = {
        "raw reading": stated(unseen),
        "label histogram": np.tile(label_histogram(labels, unseen.shape[1]), (len(unseen), 1)),
        "calibrated": calibrator.predict_proba(unseen),
    }
    scored, summary = {}, describe(calibrator)
    for name, probs in predictions.items():
        losses = scores.log_loss(probs, truth), scores.accuracy(probs, truth)
        confidence = float(probs.max(axis=1).mean())
        scored[name] = dict(zip(MEASURED, (*losses, confidence), strict=True))
    title = f"\nOn {len(unseen)} held-out texts, after {DEMONSTRATED} labels"
    rows = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in scored.items()]
    table = as_table(title, ("", "log loss", "accuracy", "mean confidence"), rows)
    content = {"labels": DEMONSTRATED, "held_out": len(unseen), "scores": scored}
    return Result(content | {"summary": summary.to_dict()}, f"{summary.text}\n{table}", NEXT)


def _describe(calibrator: Any, read: Any, content: Any, done: str, verbose: bool) -> Result:
    """Return the summary, with warnings of groups that are rated otherwise."""
    from cordial_ppl.decisions import answers
    from cordial_ppl.tables import list_groups

    (table, labels, rows), fit, forecast = read, calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, table.logits, table.covariates(fit.covariates))
    summary = answers.describe(fit, forecast)
    biases = answers.find_bias(fit, list_groups(table, rows, labels))
    content |= {"labels": len(rows), "summary": summary.to_dict()}
    content |= {"biases": [bias._asdict() for bias in biases]}
    text = summary.text
    for name, each in summary.diagnostics.items() if verbose else ():
        figures = (f", {word} {each[key]:.4g}" for key, word in FIGURES.items() if each[key])
        text += f"\nPosterior of {name}: {each['method']}{''.join(figures)}"
    return Result(content, text=text, warnings=map(str, biases), done=[done])


def say_labels(labels: Any) -> str:
    """Count labels, and say whose label is predicted where texts have several."""
    number = count(len(labels.labels), "label")
    if labels.several:
        number += f" of {count(len(labels.first), 'text')}"
    if labels.several and labels.annotators is not None:
        people = count(len(set(labels.annotators)), "annotator")
        number += f" by {people}; a probability is of a single annotator's label"
    return number
