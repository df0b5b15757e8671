"""Labels that come in: a fitted stack takes further labelled texts.

A channel's draws are weighed by what the new labels change of its density: the likelihood of these,
the label histogram that the channel falls back on, and a prior in units of the readings' spread
(iterated importance sampling: Chopin 2002, Biometrika 89(3)).  The weights add up over updates.
Where their k-hat or effective size is poor, draws are proposed anew and weighed against the whole
posterior, as at the end of a fit, so that no error adds up.  Folds, calibrators and weights follow
from there as in a fit.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from cordial_ppl.annotators import share_text
from cordial_ppl.cordial.fingerprints import find_places, grids
from cordial_ppl.errors import InputError
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.posterior import Posterior

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack


def update(stack: "Stack", more: Labelled, named: bool = False, shared: bool = False) -> None:
    """Fit a stack to further labels.

    Args:
        stack: the fitted stack.
        more: the labels.
        named: whether texts have the numbers of the fit, so that these labels may be of texts that
            have some already; else they are of others.
        shared: whether no weights were given: if those of the fit were not either, the labels of a
            text, old and new, share a weight of one.

    Raises:
        InputError: the stack keeps no texts of its fit.
    """
    if stack._texts is None:
        raise InputError(
            "a calibrator from a file does not keep the texts of its fit, which further labels "
            "need: give it these first, attach_texts(logits, labels)."
        )
    known = stack._texts
    if not named:
        more = replace(more, texts=min(known.texts.min(), 0) - 1 - more.ranks)
    joined = known.join(more)
    if shared and np.array_equal(known.weights, share_text(known.texts)):
        joined = replace(joined, weights=share_text(joined.texts))
    stack._fit(joined, stack)


def attach(stack: "Stack", texts: Labelled, renamed: bool = False) -> Bool[np.ndarray, " n"]:
    """Find the texts of a stack's fit among others, and give it these.

    Args:
        stack: the stack.
        texts: these texts and others.
        renamed: whether weights and names of the texts are those given, and not those of the fit.

    Returns:
        Which texts are others.

    Raises:
        InputError: not all of them are there.
    """
    count = len(stack.seen_) // grids(texts.logits.shape[-1])
    if not count:
        raise InputError(
            "this calibrator's file is of an earlier version, by which its texts cannot be "
            "recognised: fit it again."
        )
    places = find_places(texts.logits, texts.labels, stack.seen_)
    missing = count - int((places >= 0).sum())
    if missing:
        raise InputError(
            f"the calibrator was fitted to {count} labelled texts, and {missing} of them are not "
            f"among these {len(places)}: give all of them, with the readings and labels that they "
            "had, beside the new ones."
        )
    own = texts.take(np.argsort(places)[-count:])
    if not renamed and stack.sample_weight_ is not None and stack.texts_ is not None:
        own = replace(own, weights=stack.sample_weight_, texts=stack.texts_)
    stack._texts = own
    stack.fits_ = {
        name: replace(fit, data=own) if isinstance(fit, Posterior) else fit
        for name, fit in stack.fits_.items()
    }
    return places < 0
