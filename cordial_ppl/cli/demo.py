"""`cordial demo`: calibration of made-up reviews, scored on reviews that the fit has not seen."""

import numpy as np

from cordial_ppl.cli.options import Seed
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import Fitting, Inference

LABELS = 20
"""Reviews whose labels are used."""

NEXT = """\
Now with your own readings and labels (one row per text; item_id, logit_1 ... and item_id, label):
  cordial calibrate readings.csv labels.csv -o calibrated.csv"""


def demo(*, inference: Inference = "default", seed: Seed = 0) -> Result:
    """Show what calibration does: fit on 20 labels of made-up reviews, score the others."""
    from cordial_ppl import scores
    from cordial_ppl.cli.calibrate import fit_calibrator
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.readings import as_logits, label_histogram
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.decisions.answers import describe
    from cordial_ppl.evaluation import synthetic
    from cordial_ppl.stack.weighing import stated

    reviews = synthetic.reviews()
    logits, unseen = as_logits(reviews.logits[:LABELS]), reviews.logits[LABELS:]
    labels, truth = reviews.labels[:LABELS], reviews.labels[LABELS:]
    settings = Fitting(seed=seed, inference=inference).settings
    calibrator = fit_calibrator(Labelled(logits, labels, {}), Scale(reviews.options), settings)
    histogram = label_histogram(labels, len(reviews.options))
    predictions = {
        "raw reading": stated(unseen),
        "label histogram": np.tile(histogram, (len(unseen), 1)),
        "calibrated": calibrator.predict_proba(unseen),
    }
    scored = {
        name: {
            "log_loss": scores.log_loss(probs, truth),
            "accuracy": scores.accuracy(probs, truth),
            "confidence": float(probs.max(axis=1).mean()),
        }
        for name, probs in predictions.items()
    }
    summary = describe(calibrator.fit_)
    content = {"labels": LABELS, "held_out": len(unseen), "scores": scored}
    title = f"\nOn {len(unseen)} held-out texts, after {LABELS} labels"
    rows = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in scored.items()]
    table = as_table(title, ("", "log loss", "accuracy", "mean confidence"), rows)
    content["summary"] = summary.to_dict()
    return Result(content, f"{summary.text}\n{table}", f"\n{NEXT}")
