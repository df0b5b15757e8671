r"""From probabilities to decisions: pass, fail or ask a person, by cost or by agreement.

A decision d about a text costs :math:`\sum_z p(z \mid x)\, L_{zd}` on average, and a person, who is
right, the same for each text.  Either each text is decided at the least expected cost; or people
see the most doubtful texts, as few as keep the share of the other m texts that is decided as people
do at a, with a probability of at least P:

.. math:: P = \sum_s w_s\, \Phi\!\left(\frac{\lfloor (1 - a) m \rfloor + \frac12 - \sum_i q_{si}}
    {\sqrt{\sum_i q_i (1 - q_i)}}\right)

with the probability q that a decision is wrong, under draw s of the posterior and on average: what
is not known of the parameters all texts have in common.  Chosen, and measured, in
`benchmarks/deciding.py`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from cordial_ppl.data.checks import check_number
from cordial_ppl.data.ratings import state
from cordial_ppl.decisions.corpus import BLOCK, PosteriorDraws
from cordial_ppl.decisions.estimates.passing import as_passing
from cordial_ppl.decisions.estimating import check_rows
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.entering import enter, predict
from cordial_ppl.stack.fit import Fit

STEPS, DRAWS, MORE = 100, 128, 20
"""Points of a curve, draws of each channel, and the labels more whose use is forecast."""

GAIN_SHARE = 0.6
"""Share of what is lost for not knowing the parameters that labels win back, as measured."""

PERSON = "person"


@dataclass(frozen=True)
class Decisions:
    """A decision about each text, and what is expected of them all.

    Attributes:
        decision: "pass" or "fail", or an option; or "person", [N].
        cost: its expected cost, [N].
        p_wrong: probability that the best decision without a person is wrong, [N].
        probability: chance that people see the text: 1 where they decide or have labelled it, the
            audited share of the others, NaN where it was not chosen, [N].
        labelled: whether the text has labels, which decide, [N].
        ways: of texts without labels, by way to decide them: share that people see, expected cost
            a text, and expected agreement of the others with people.
        curve: by the share of "people" who see the most doubtful texts: "cost", "agreement" with
            the ends of its 90 % interval, "low" and "high", and the probability "kept".
        agree: the agreement that is to be kept; None where costs decide.
        kept: with what probability it is; NaN where no share of the texts keeps it.
        checked: number of labels whose out-of-fold predictions would be decided without a person,
            and of those decided as people did.
        gain: by how much twenty labels more would lower the cost a text; NaN without costs.
    """

    decision: np.ndarray
    cost: Float[np.ndarray, " N"]
    p_wrong: Float[np.ndarray, " N"]
    probability: Float[np.ndarray, " N"]
    labelled: Bool[np.ndarray, " N"]
    ways: dict[str, tuple[float, float, float]]
    curve: dict[str, Float[np.ndarray, " S"]]
    agree: float | None
    kept: float
    checked: Float[np.ndarray, " 2"]
    gain: float

    @property
    def asked(self) -> Bool[np.ndarray, " N"]:
        """Which texts people are to label."""
        return ~(np.isnan(self.probability) | self.labelled)


def decide(
    fit: Fit,
    logits: Any,
    rows: Any = None,
    covariates: Any = None,
    *,
    passing: Any = None,
    within: int | None = None,
    false_pass: float = 1.0,
    false_fail: float = 1.0,
    person: float | None = None,
    agree: float | None = None,
    level: float = 0.9,
    audit: float = 0.05,
) -> Decisions:
    """Decide about texts; arguments, result and errors are those of ``Stack.decide``."""
    readings, extra = enter(fit, logits, covariates)
    prices = [check_number("false_pass", false_pass), check_number("false_fail", false_fail)]
    if (passing is None) == (within is None) or (within is not None and prices != [1, 1]):
        raise InputError(
            "name what passes, with costs of a false pass and a false fail, or else how many "
            "classes a decision may be off: within=1."
        )
    if (person is None) == (agree is None):
        raise InputError("name what a person costs, or else the share that has to agree: agree=.9.")
    ceiling = np.inf if person is None else check_number("person", person)
    for name, share in {"agree": agree or 0.0, "level": level, "audit": audit}.items():
        check_number(name, share, 0, 1)
    if fit.text_labels.alike:
        raise InputError(
            f"every label is {fit.scale.options[fit.labels[0]]!r}, from which nothing can be "
            "learned of which texts are unlike: label more."
        )
    if not fit.has_draws:
        raise InputError(
            "decisions need draws from a posterior: fit a stack with channels, such as Cordial, by "
            'another inference than "mode".'
        )
    size = fit.scale.size
    if within is None:
        marks = as_passing(passing, fit.scale).astype(int)
        names, price, judged = ("fail", "pass"), np.array(prices[::-1]), marks
        wrong = marks[:, None] != np.arange(2)
    else:
        within = int(check_number("within", within, 0, size - 2, whole=True))
        names, price, judged = fit.scale.options, np.ones(size), np.arange(size)
        wrong = np.abs(np.subtract.outer(judged, judged)) > within
    probs, labelled = predict(fit, readings, extra)[0], np.zeros(len(readings), bool)
    if rows is not None:
        shares, text_rows, _ = check_rows(fit, readings, rows)
        probs[text_rows], labelled[text_rows] = shares, True
    action, cost, p_wrong = _decide_alone(probs, wrong, price)
    doubt = cost if agree is None else p_wrong
    order = np.flatnonzero(~labelled)
    order = order[np.argsort(doubt[order], kind="stable")]
    count = max(len(order), 1)
    with doing("deciding"):
        home = np.unique(np.arange(len(order)) * STEPS // count, return_inverse=True)[1]
        ends = np.cumsum(np.bincount(home)) if len(order) else home
        sampler, least, shares = PosteriorDraws(fit, DRAWS, True), 0.0, np.ones(1)
        sums = np.zeros((1, len(ends)))
        for start in range(0, len(order), BLOCK):
            block = slice(start, start + BLOCK)
            some = order[block]
            members = [*sampler.predict(readings[some], {k: v[some] for k, v in extra.items()})]
            shares = np.concatenate([np.full(len(drawn), w / len(drawn)) for w, drawn in members])
            drawn = np.concatenate([drawn for _, drawn in members])
            missed = np.einsum("dmk,km->dm", drawn, wrong[:, action[some]].astype(float))
            sums = sums + missed @ np.eye(len(ends))[home[block]]
            lowest = np.minimum((drawn @ (wrong * price)).min(axis=2), ceiling)
            least += shares @ lowest.sum(axis=1)
    paid, sums = 0.0 if person is None else person, sums.cumsum(axis=1)
    curve = _follow(sums, shares, ends, (cost[order], paid), p_wrong[order], agree or 0.0)
    alone, kept = int(np.sum(cost[order] <= ceiling)), np.nan
    if agree is not None:
        enough = curve["kept"] >= level
        alone = int(ends[enough].max(initial=0))
        kept = float(curve["kept"][enough][-1]) if alone else np.nan
    asked, rest = order[alone:], order[:alone]
    # A part of the others is seen, too, so that labels stand for all texts.
    audited = np.random.default_rng([fit.seed, len(probs)]).permutation(rest)
    audited = audited[: int(np.ceil(audit * alone))]
    probability = np.where(labelled, 1.0, np.nan)
    probability[asked], probability[audited] = 1.0, len(audited) / max(alone, 1)
    stated = judged[state(readings[order])[0].argmax(axis=1)]
    by_judge = (probs[order] @ wrong)[np.arange(len(order)), stated]
    agreement, every = lambda q: 1 - q.sum() / max(len(q), 1), len(order) / count
    total = cost[rest].sum() + paid * len(asked)
    ways = {
        "as decided": (len(asked) / count, total / count, agreement(p_wrong[rest])),
        "calibrated alone": (0.0, cost[order].sum() / count, agreement(p_wrong[order])),
        "judge alone": (0.0, by_judge @ price[stated] / count, agreement(by_judge)),
        "people alone": (every, paid * every, 1.0),
    }
    gap, labels = max(total - least, 0.0) / count, len(fit.text_labels.first)
    checked = np.zeros(2)
    if fit.out_of_fold is not None:
        texts = fit.text_labels
        chosen, *doubts = _decide_alone(fit.out_of_fold[texts.first], wrong, price)
        sure = doubts[0 if agree is None else 1] <= doubt[rest].max(initial=-np.inf)
        right = 1 - np.sum(texts.shares * wrong.T[chosen], axis=1)
        checked = np.array([sure.sum(), right[sure].sum()])
    decision = np.array([*names, PERSON])[action]
    decision[asked], cost[asked] = PERSON, paid
    gain = np.nan if person is None else GAIN_SHARE * gap * MORE / (labels + MORE)
    answer = decision, cost, p_wrong, probability, labelled
    return Decisions(*answer, ways, curve, agree, kept, checked, gain)


def _decide_alone(
    probs: Float[np.ndarray, "m K"], wrong: Bool[np.ndarray, "K A"], price: Float[np.ndarray, " A"]
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Choose the cheapest decision of each text, with its cost and how probably it is wrong."""
    p_wrong = probs @ wrong
    action = np.argmin(p_wrong * price, axis=1)
    p_wrong = p_wrong[np.arange(len(probs)), action]
    return action, p_wrong * price[action], p_wrong


def _follow(
    missed: Float[np.ndarray, "D S"],
    shares: Float[np.ndarray, " D"],
    ends: Int[np.ndarray, " S"],
    costs: tuple[Float[np.ndarray, " m"], float],
    p_wrong: Float[np.ndarray, " m"],
    agree: float,
) -> dict[str, Float[np.ndarray, " S"]]:
    """Follow cost and agreement of the surest texts, from few to all, as people see the others."""
    (cost, person), count = costs, max(len(p_wrong), 1)
    noise = np.cumsum(p_wrong * (1 - p_wrong))[ends - 1] + 1e-9
    mean = shares @ missed
    half = 1.645 * np.sqrt(shares @ (missed - mean) ** 2 + noise)
    allowed = np.floor((1 - agree) * ends + 1e-9) + 0.5
    return {
        "people": 1 - ends / count,
        "cost": (np.cumsum(cost)[ends - 1] + (len(cost) - ends) * person) / count,
        "agreement": 1 - mean / ends,
        "low": np.maximum(1 - (mean + half) / ends, 0),
        "high": np.minimum(1 - (mean - half) / ends, 1),
        "kept": shares @ ndtr((allowed - missed) / np.sqrt(noise)),
    }
