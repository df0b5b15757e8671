"""Labels that come in: a fitted stack takes further labelled texts.

A channel's draws are weighed by what the new labels change of its density: the likelihood of these,
the label histogram that the channel falls back on, and a prior in units of the readings' spread
(iterated importance sampling: Chopin 2002, Biometrika 89(3)).  The weights add up over updates.
Where their k-hat or effective size is poor, draws are proposed anew and weighed against the whole
posterior, as at the end of a fit, so that no error adds up.  Folds, calibrators and weights follow
from there as in a fit.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import share_text
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.decisions import Decisions
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.stack.fingerprints import find_places, grids


class Updating(Decisions):
    """A fitted stack that takes further labels; base of stacks."""

    provenance_: dict[str, list[str]]
    folds_: Int[np.ndarray, " n"] | None = None
    _texts: Labelled | None = None

    def partial_fit[T: "Updating"](
        self: T,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn from further labelled texts; on an unfitted stack this is ``fit``.

        The stack is then what ``fit`` makes of all texts, old and new, up to the noise of its
        draws.  By the default inference a channel's draws are reweighted, and replaced where their
        weights are poor (`cordial_ppl.estimators.updating`); by others it is fitted anew.  The old
        texts keep their folds.

        Args:
            logits: option logits of the new texts, shape ``[m, K]``.
            labels: their options, as in ``fit``.
            covariates: their covariates, as in ``fit``.
            sample_weight: what each label counts, as in ``fit``; without it here and there, the
                labels of a text share a weight of one, whenever they came.
            texts: which text each row is of, as in ``fit``; a text of the fit may be among them, if
                it was named there.

        Returns:
            The estimator itself; unchanged after an error.

        Raises:
            InputError: as ``fit``; or the stack was loaded, and was not given its texts by
                ``attach_texts``.
        """
        if not hasattr(self, "scale_"):
            own = {"sample_weight": sample_weight, "texts": texts}
            return self.fit(logits, labels, covariates, **own)
        more = self._enter_labels(logits, labels, covariates, sample_weight, texts)
        self.update(more, named=texts is not None, shared=sample_weight is None)
        return self

    def attach_texts(
        self, logits: Any, labels: Any, covariates: Mapping[str, Any] | None = None
    ) -> Bool[np.ndarray, " n"]:
        """Give a stack that was loaded the labelled texts of its fit, which a file does not keep.

        They are recognised by their fingerprints, in any order, among others.

        Args:
            logits: option logits, shape ``[n, K]``.
            labels: their options, as in ``fit``.
            covariates: their covariates, as in ``fit``.

        Returns:
            Which of the texts are others than those of the fit, for ``partial_fit``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: the input is invalid, or lacks a text of the fit or its label.
        """
        return self.attach(self._enter_labels(logits, labels, covariates))

    def update(self, more: Labelled, named: bool = False, shared: bool = False) -> None:
        """Learn from further labelled texts that are already validated and centred.

        Args:
            more: the labels.
            named: whether texts have the numbers of the fit, so that these labels may be of texts
                that have some already; else they are of others.
            shared: whether no weights were given: if those of the fit were not either, the labels
                of a text, old and new, share a weight of one.

        Raises:
            InputError: the stack keeps no texts of its fit.
        """
        if self._texts is None:
            raise InputError(
                "a calibrator from a file does not keep the texts of its fit, which further labels "
                "need: give it these first, attach_texts(logits, labels)."
            )
        known = self._texts
        if not named:
            more = replace(more, texts=min(known.texts.min(), 0) - 1 - more.ranks)
        self.check(more.logits, more.covariates)
        joined = known.join(more)
        if shared and np.array_equal(known.weights, share_text(known.texts)):
            joined = replace(joined, weights=share_text(joined.texts))
        self._fit(joined, self)

    def attach(self, texts: Labelled, renamed: bool = False) -> Bool[np.ndarray, " n"]:
        """Find the texts of the fit among others that are already validated, and keep them.

        Args:
            texts: these texts and others.
            renamed: whether weights and names of the texts are those given, not those of the fit.

        Returns:
            Which texts are others.

        Raises:
            InputError: not all of them are there.
        """
        count = len(self.seen_) // grids(texts.logits.shape[-1])
        if not count:
            raise InputError(
                "this calibrator's file is of an earlier version, by which its texts cannot be "
                "recognised: fit it again."
            )
        places = find_places(texts.logits, texts.labels, self.seen_)
        missing = count - int((places >= 0).sum())
        if missing:
            raise InputError(
                f"the calibrator was fitted to {count} labelled texts, and {missing} of them are "
                f"not among these {len(places)}: give all of them, with the readings and labels "
                "that they had, beside the new ones."
            )
        own = texts.take(np.argsort(places)[-count:])
        if not renamed and self.sample_weight_ is not None and self.texts_ is not None:
            own = replace(own, weights=self.sample_weight_, texts=self.texts_)
        self._texts = own
        self.fits_ = {
            name: replace(fit, data=own, densities=None) if isinstance(fit, Posterior) else fit
            for name, fit in self.fits_.items()
        }
        return places < 0

    @abstractmethod
    def _fit(self, texts: Labelled, earlier: "Updating | None" = None) -> None:
        """Fit to texts, of which an earlier stack knows the first."""
