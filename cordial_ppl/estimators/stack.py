"""A stack: channels and calibrators that are fitted side by side, weighed, and mixed.

Every member is fitted to all labels and without each of four folds, and the out-of-fold predictions
give the weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers, deciding, estimating
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.forecasting import Forecast
from cordial_ppl.decisions.question import Question
from cordial_ppl.decisions.rule import Rule
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.stack_files import KIND, FitRecord
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.export import join
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.priors import LearnedPrior, Priors
from cordial_ppl.inference.target import Prior
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.settings import Defaults, Settings, make_settings

if TYPE_CHECKING:
    from xarray import DataTree


ARGUMENTS = "channels", "calibrators", "inference", "prior", "weight_counts", "seed", "effort"
"""Arguments of a stack that its settings have by the same names."""


class Stack(Estimator[Fit]):
    """Weighted mixture of channels and calibrators; base class of the named stacks.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        channels: additional channels, each a name, the path of a channel file (whose code is run),
            or a ``Channel``.
        calibrators: names of calibrators in logit space; by default those of the class.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts" (slow).
        prior: None for the default; "own" for the prior in each channel's file. A mapping of
            parameter names to location and scale (see ``NamedPrior``), such as ``{"offset": (0.0,
            0.3)}``, or of channel names to a ``Prior`` or to such a mapping, changes part of the
            default. A stack with one channel also accepts a ``Prior``. A prior learned from other
            tasks (``learn_prior``), or the path of its file, replaces the default. The default of
            ``Cordial`` is learned (``shipped_prior``); the default of other stacks is each
            channel's own prior.
        weight_counts: Dirichlet pseudo-counts of the weights: a mapping by member, or one number
            for all members. Counts that you set are not reduced. The default is 2 for a channel of
            the package, 1 for a channel from a file, 0.5 for proportional odds, 0.25 for
            temperature scaling, vector scaling and Dirichlet calibration, and 1 for any other
            calibrator. If a channel predicts worse than other members out of fold, its default
            count is reduced (``earned_counts``). A channel of the package keeps at least 1, and the
            reduction is phased in from 8 to 20 texts. A channel from a file may lose its whole
            count, from 8 texts on.
        seed: seed for the folds and for all random numbers.
        effort: how much work the default inference does.

    Attributes:
        fit_: everything that was fitted, as a `cordial_ppl.stack.fit.Fit`: labels, members,
            weights, out-of-fold probabilities and losses.
        weights_: weight of each member by name.
        posteriors_: posterior of each channel by name.
    """

    _defaults: Defaults = Defaults()

    def __init__(
        self,
        options: Sequence[str | float] | Scale | None = None,
        *,
        channels: Sequence[str | Path | Channel] = (),
        calibrators: Sequence[str] | None = None,
        inference: str = "default",
        prior: Prior | Mapping[str, Any] | LearnedPrior | Priors | str | Path | None = None,
        weight_counts: Mapping[str, float] | float | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        self.options, self.channels, self.calibrators = options, channels, calibrators
        self.inference, self.prior, self.weight_counts = inference, prior, weight_counts
        self.seed, self.effort = seed, effort

    @property
    def settings(self) -> Settings:
        """The settings, validated and complete; see ``Estimator.settings``."""
        return make_settings(self._defaults, **{name: getattr(self, name) for name in ARGUMENTS})

    @property
    def posteriors_(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return self.fit_.posteriors

    def summary(self, forecast: Forecast | None = None) -> str:
        """Describe the judge's bias and noise, the weights and losses, and give a verdict.

        Args:
            forecast: the result of ``forecast``, to add a sentence about more labels.
        """
        return answers.describe(self.fit_, forecast).text

    def estimate(
        self,
        logits: Any,
        rows: Any,
        question: Question | None = None,
        covariates: Any = None,
        *,
        draws: int = 256,
        **fields: Any,
    ) -> Estimate:
        """Estimate the mean label and the shares of the options, for a corpus and its groups.

        Coverage of the intervals refers to repeated sampling of the labelled texts and, with
        ``of="like-these"``, of all texts. For labelled texts, the labels are used instead of
        predictions. Each group has its own effect, because judges err differently by group.
        Estimates for a group without labels are extrapolated.

        Args:
            logits: option logits of all texts, labelled or not, shape ``[N, K]``.
            rows: positions in ``logits`` of the texts used in the fit, in the order of the fit, one
                per label or per text. Several labels of a text are averaged.
            question: a ``Question``: what to estimate, and how the labelled texts were chosen.
            covariates: per-text covariates, as in ``fit``, each of shape ``[N]``.
            draws: number of draws per channel.
            **fields: fields of the question, by name, such as ``groups=systems``.

        Returns:
            Estimates for the corpus and the groups.

        Raises:
            InputError: the readings or groups are invalid, ``rows`` do not match the texts of the
                fit, or there are no draws (no channels, or ``inference="mode"``).
            NotFittedError: ``fit`` has not been called.

        Source:
            Formulas are in `cordial_ppl.decisions.means` and, for group effects,
            `cordial_ppl.decisions.effects`.
        """
        asked = Question() if question is None else question
        asked = replace(asked, **fields) if isinstance(asked, Question) else asked
        return estimating.estimate(self.fit_, logits, rows, asked, covariates, draws)

    def decide(
        self, logits: Any, rows: Any = None, covariates: Any = None, **rule: Any
    ) -> deciding.Decisions:
        r"""Decide which texts pass, which fail, and which need a person.

        .. math:: d(x) = \operatorname{arg\,min}_d \sum_z \hat p(z \mid x)\, L_{zd}

        With ``agree``, people see the most doubtful texts, but no more than the required agreement
        on the other texts makes necessary. Labelled texts are decided by their labels.

        Args:
            logits: option logits of all texts, shape ``[N, K]``.
            rows: positions in ``logits`` of the texts used in the fit, as in ``estimate``, if
                ``logits`` contains these texts.
            covariates: per-text covariates, as in ``fit``.
            **rule: settings, by name. ``passing`` lists the options that pass. Alternatively,
                ``within`` assigns an option to each text, and an option counts as wrong if it is
                off by more than this number of classes. ``false_pass`` and ``false_fail`` are the
                costs of passing a text that people fail and of failing a text that people pass
                (default 1); ``person`` is the cost of asking a person. Instead of ``person``, you
                can set ``agree``, the share of automatic decisions that must match people's, such
                as 0.9, and ``level``, the probability of reaching this share (default 0.9).
                ``audit`` is the share of automatically decided texts that people also see, chosen
                at random (default 0.05).

        Returns:
            A decision for each text, with its cost and the probability that the decision is wrong.

        Raises:
            InputError: the readings, a cost or a share is invalid, a passing option does not exist,
                or there are no draws (no channels, or ``inference="mode"``).
            NotFittedError: ``fit`` has not been called.

        Source:
            Chow (1970), "On optimum recognition error and reject tradeoff".
        """
        return deciding.decide(self.fit_, logits, rows, covariates, rule=Rule(**rule))

    def forecast(
        self, logits: Any, covariates: Any = None, *, counts: Sequence[int] | None = None
    ) -> Forecast:
        """Forecast how more labels would change the log loss and the interval of the mean.

        No model is fitted. A forecast needs at least 20 labels.

        Args:
            logits: option logits of all texts whose mean you want, ``[m, K]``.
            covariates: covariates of these texts, as in ``fit``.
            counts: numbers of labels to forecast for; by default 2, 3, 5 and 10 times the number in
                the fit.

        Returns:
            The expected loss now and for these numbers of labels, with 80 % ranges.

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: the readings are invalid, or the calibrator has no folds or no channel with
                draws.
        """
        return answers.forecast(self.fit_, logits, covariates, counts=counts)

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """Export all channel posteriors to ArviZ, as a ``DataTree`` with a child per channel.

        ``az.summary(tree)`` summarises all channels, ``az.summary(tree["mixture"])`` one channel,
        and ``az.compare({name: tree[name] for name in calibrator.posteriors_})`` compares the
        channels. The log likelihoods are those of the texts used in the fit.

        Args:
            logits: option logits of other labelled texts, ``[m, K]``, for example for a loaded
                stack.
            labels: labels of these texts.
            covariates: covariates of these texts, as in ``fit``.

        Returns:
            A tree whose children have the groups that `cordial_ppl.inference.export` describes. The
            tree's own groups ``posterior`` and ``prior`` contain the parameters of all channels,
            under names such as "mixture.offset".

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: logits were passed without labels, or are invalid.
        """
        return join(answers.export(self.fit_, logits, labels, covariates))

    def save(self, path: str | Path) -> None:
        """Save the fitted calibrator to a single file of plain data, for ``load``.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: this is not a named stack, such as ``Cordial``.
            FileError: the file cannot be written.
        """
        name = type(self).__name__
        if name != self._defaults.name:
            raise InputError(f"only a named stack, such as Cordial, can be saved, not a {name}.")
        FitRecord.of(self.fit_, name).save(path, KIND)
