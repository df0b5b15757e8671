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

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from cordial_ppl.data.checks import check_number
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.ratings import state
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.corpus_draws import BLOCK, PosteriorDraws, require_draws
from cordial_ppl.decisions.decided import MORE, Decisions
from cordial_ppl.decisions.estimates.passing import as_passing
from cordial_ppl.decisions.estimating import check_rows
from cordial_ppl.decisions.rule import Rule
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.entering import enter, predict
from cordial_ppl.stack.fit import Fit

STEPS, DRAWS = 100, 128
"""Points of a curve, and draws of each channel."""

GAIN_SHARE = 0.6
"""Share of what is lost for not knowing the parameters that labels win back."""

PERSON = "person"

Each = Float[np.ndarray, " m"]
Missed = tuple[Int[np.ndarray, " S"], Float[np.ndarray, "D S"], Float[np.ndarray, " D"]]
"""Numbers of the surest texts, decided wrongly of these under each draw, and weights of draws."""


class Losses(NamedTuple):
    """What A decisions cost: their names, of which labels they are wrong, and what that costs.

    ``judged`` is the decision that a stated option means.
    """

    names: tuple[str, ...]
    wrong: Bool[np.ndarray, "K A"]
    price: Float[np.ndarray, " A"]
    judged: Int[np.ndarray, " K"]

    def choose(self, probs: Float[np.ndarray, "m K"]) -> tuple[Int[np.ndarray, " m"], Each, Each]:
        """Choose the cheapest decision of each text; with its cost and how probably it is wrong."""
        p_wrong = probs @ self.wrong
        action = np.argmin(p_wrong * self.price, axis=1)
        p_wrong = p_wrong[np.arange(len(probs)), action]
        return action, p_wrong * self.price[action], p_wrong


def decide(
    fit: Fit, logits: Any, rows: Any = None, covariates: Any = None, *, rule: Rule
) -> Decisions:
    """Decide about texts; arguments, result and errors are those of ``Stack.decide``."""
    texts = enter(fit, logits, covariates)
    if fit.text_labels.alike:
        option = fit.scale.options[fit.labelled.labels[0]]
        raise InputError(
            f"every label is {option!r}, so the labels cannot show how texts differ. Label more "
            "texts."
        )
    require_draws(fit, "decisions need")
    losses = _weigh_errors(rule, fit.scale)
    probs, labelled = predict(fit, texts)[0], np.zeros(len(texts.labels), bool)
    if rows is not None:
        shares, text_rows, _ = check_rows(fit, texts.logits, rows)
        probs[text_rows], labelled[text_rows] = shares, True
    action, cost, p_wrong = losses.choose(probs)
    unread = texts.unread & ~labelled
    order = np.flatnonzero(~labelled & ~unread)
    order = order[np.argsort((cost if rule.agree is None else p_wrong)[order], kind="stable")]
    # Without the cost of a person there is none of a text.
    priced = 1.0 if rule.agree is None else np.nan
    person, price, cost = priced * (rule.person or 0.0), priced * losses.price, priced * cost
    with doing("deciding"):
        missed, least = _draw(fit, texts.take(order), action[order], losses, person)
    curve = _follow(missed, (cost[order], person), p_wrong[order], rule.agree or 0.0)
    alone, kept = int(np.sum(cost[order] <= person)), np.nan
    if rule.agree is not None:
        enough = curve["kept"] >= rule.level
        alone = int(missed[0][enough].max(initial=0))
        kept = float(curve["kept"][enough][-1]) if alone else np.nan
    doubtful, rest, count = order[alone:], order[:alone], max(len(order), 1)
    asked = np.concatenate([doubtful, np.flatnonzero(unread)])
    probability = np.where(labelled, 1.0, np.nan)
    probability[asked] = 1.0
    # Some of the others are seen, too, so that labels stand for all.
    shuffled = np.random.default_rng([fit.seed, len(probs)]).permutation(rest)
    audited = shuffled[: int(np.ceil(rule.audit * alone))]
    probability[audited] = len(audited) / max(alone, 1)
    stated = losses.judged[state(texts.logits[order])[0].argmax(axis=1)]
    by_judge = (probs[order] @ losses.wrong)[np.arange(len(order)), stated]
    total, every = cost[rest].sum() + person * len(doubtful), len(order) / count
    right = 1 - p_wrong[rest].sum() / max(alone, 1)
    ways = {
        "as decided": (len(doubtful) / count, total / count, right),
        "calibrated alone": (0.0, cost[order].sum() / count, 1 - p_wrong[order].sum() / count),
        "judge alone": (0.0, by_judge @ price[stated] / count, 1 - by_judge.sum() / count),
        "people alone": (every, person * every, 1.0),
    }
    gap, labels = max(total - least, 0.0) / count, len(fit.text_labels.first)
    decision = np.array([*losses.names, PERSON])[action]
    decision[asked], cost[asked] = PERSON, person
    answer = decision, cost, p_wrong, probability, labelled, ways, curve, rule.agree, kept
    checked = _check_out_of_fold(fit, losses, rule, alone / count)
    return Decisions(*answer, checked, int(unread.sum()), GAIN_SHARE * gap * MORE / (labels + MORE))


def _weigh_errors(rule: Rule, scale: Scale) -> Losses:
    """Say what decisions cost on a scale: to pass and to fail, or each option."""
    if rule.within is None:
        marks = as_passing(rule.passing, scale).astype(int)
        wrong = marks[:, None] != np.arange(2)
        price = np.array([rule.false_fail, rule.false_pass], float)
        return Losses(("fail", "pass"), wrong, price, marks)
    check_number("within", rule.within, 0, scale.size - 2, whole=True)
    ranks = np.arange(scale.size)
    wrong = np.abs(np.subtract.outer(ranks, ranks)) > rule.within
    return Losses(scale.options, wrong, np.ones(scale.size), ranks)


def _draw(
    fit: Fit, texts: Labelled, action: Int[np.ndarray, " m"], losses: Losses, person: float
) -> tuple[Missed, float]:
    """Draw wrong decisions of the surest texts, from few to all; with the least possible cost."""
    home = np.unique(np.arange(len(action)) * STEPS // max(len(action), 1), return_inverse=True)[1]
    ends = np.cumsum(np.bincount(home))
    sampler, least, shares = PosteriorDraws(fit, DRAWS, True), 0.0, np.ones(1)
    sums = np.zeros((1, len(ends)))
    for start in range(0, len(action), BLOCK):
        block = slice(start, start + BLOCK)
        shares, drawn = sampler.predict_all(texts.take(block))
        missed = np.einsum("dmk,km->dm", drawn, losses.wrong[:, action[block]].astype(float))
        sums = sums + missed @ np.eye(len(ends))[home[block]]
        lowest = (drawn @ (losses.wrong * losses.price)).min(axis=2)
        least += float(shares @ np.minimum(lowest, person).sum(axis=1))
    return (ends, sums.cumsum(axis=1), shares), least


def _follow(
    missed: Missed, costs: tuple[Each, float], p_wrong: Each, agree: float
) -> dict[str, Float[np.ndarray, " S"]]:
    """Follow cost and agreement of the surest texts, from few to all, as people see the others."""
    (cost, person), count, (ends, sums, shares) = costs, max(len(p_wrong), 1), missed
    noise = np.sqrt(np.cumsum(p_wrong * (1 - p_wrong))[ends - 1] + 1e-9)

    def below(number: np.ndarray) -> np.ndarray:
        return np.minimum(shares @ ndtr((number - sums) / noise), 1)

    low, high = np.zeros((2, len(ends))), np.stack([ends, ends]).astype(float)
    for _ in range(30):  # Two quantiles of the mixture of the draws.
        middle = (low + high) / 2
        more = np.stack([below(one) for one in middle]) < np.array([[0.05], [0.95]])
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return {
        "people": 1 - ends / count,
        "cost": (np.cumsum(cost)[ends - 1] + (len(cost) - ends) * person) / count,
        "agreement": 1 - shares @ sums / ends,
        "low": 1 - high[1] / ends,
        "high": 1 - high[0] / ends,
        "kept": below(np.floor((1 - agree) * ends + 1e-9) + 0.5),
    }


def _check_out_of_fold(
    fit: Fit, losses: Losses, rule: Rule, share: float
) -> Float[np.ndarray, " 2"]:
    """Count labelled texts that would be decided without a person, and those decided right."""
    if fit.out_of_fold is None:
        return np.zeros(2)
    texts = fit.text_labels
    action, cost, p_wrong = losses.choose(fit.out_of_fold[texts.first])
    # By rank: of readings that are alike other folds predict a little more, or less.
    sure = np.argsort(p_wrong, kind="stable")[: round(share * len(action))]
    if rule.agree is None:
        sure = np.flatnonzero(cost <= rule.person)
    right = 1 - np.sum(texts.shares * losses.wrong.T[action], axis=1)
    return np.array([len(sure), right[sure].sum()])
