"""What a fitted stack gives away: words, its posteriors for ArviZ, a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.decisions.forecasting import Forecast
from cordial_ppl.decisions.summary import Summary, describe
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.decisions import Decisions
from cordial_ppl.estimators.files import KIND, StackRecord
from cordial_ppl.inference.export import join
from cordial_ppl.runtime import storage
from cordial_ppl.stack.weighing import ExpectedLoss

if TYPE_CHECKING:
    from xarray import DataTree

    from cordial_ppl.estimators.stack import Stack


class Exports(Decisions):
    """A fitted stack as words, as a tree of ArviZ and as a file; base of stacks."""

    NAMED: ClassVar[dict[str, type["Exports"]]] = {}
    """Classes that can be saved, by name."""

    provenance_: dict[str, list[str]]
    expected_: ExpectedLoss
    losses_: dict[str, float]

    def __init_subclass__(cls, named: bool = False, **rest: Any):
        """Register a stack that can be saved."""
        super().__init_subclass__(**rest)
        if named:
            Exports.NAMED[cls.__name__] = cls

    def summary(self, forecast: Forecast | None = None) -> str:
        """The reader's faults, weights, the expected log loss and a verdict in plain words.

        Args:
            forecast: what more labels would give, from ``forecast``, for a sentence on it.
        """
        return self.describe(forecast).text

    def describe(self, forecast: Forecast | None = None) -> Summary:
        """The content of ``summary`` as values."""
        self._check_fitted()
        expected = self.expected_ if self.folded else None
        return describe(
            self.posteriors_,
            self.weights_,
            expected,
            self.scale_,
            self.losses_,
            forecast,
            self.verdict(),
            self.reader_,
        )

    def labelled(self, logits: Any = None, labels: Any = None, covariates: Any = None) -> Labelled:
        """Labelled texts, validated and centred: those given, or else those of the fit.

        Args:
            logits: option logits, ``[n, K]``.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: logits came without labels or are invalid, or nothing came for a stack that
                was loaded: files keep no texts.
        """
        self._check_fitted()
        if (logits is None) != (labels is None):
            raise InputError("logits and labels go together: give both, or neither.")
        if logits is not None:
            return self._enter_labels(logits, labels, covariates)
        if self._texts is None:
            raise InputError("this calibrator keeps no texts of its fit: give logits and labels.")
        return self._texts

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """Posteriors of all channels for ArviZ: a ``DataTree`` with one child a channel.

        ``az.summary(tree)`` looks at all of them, ``az.summary(tree["mixture"])`` at one, and
        ``az.compare({name: tree[name] for name in calibrator.posteriors_})`` compares them.  Their
        log likelihoods are of the texts that the stack was fitted to.

        Args:
            logits: other labelled texts, ``[m, K]``, such as for a stack that was loaded.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Returns:
            A tree whose children have the groups that `cordial_ppl.inference.export` describes;
            groups ``posterior`` and ``prior`` beside them have the parameters of all channels, by
            names such as "mixture.offset".

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: logits came without labels, or are invalid.
        """
        self._check_fitted()
        data = None
        if logits is not None or labels is not None:
            data = self.labelled(logits, labels, covariates)
        options, seed = self.scale_.options, self.seed
        return join(
            {
                name: posterior.to_datatree(data=data, options=options, seed=seed)
                for name, posterior in self.posteriors_.items()
            }
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted calibrator to one file of plain data, which ``load`` reads.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: this is not a named stack, such as ``Cordial``.
            FileError: the file cannot be written.
        """
        if self.NAMED.get(type(self).__name__) is not type(self):
            raise InputError(
                "only a named stack, such as Cordial, can be saved; this is a "
                f"{type(self).__name__}."
            )
        self._check_fitted()
        storage.write(path, KIND, *storage.pack(StackRecord.of(cast("Stack", self))))
