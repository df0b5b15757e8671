"""Settings of an estimator, by scikit-learn's convention: what its constructor was given.

This takes the place of ``sklearn.base.BaseEstimator``, whose import would delay the start.
"""

from inspect import Parameter, signature
from reprlib import Repr
from typing import Any

from cordial_ppl.data.checks import check_names

SHORT = Repr(maxtuple=12, maxlist=12, maxdict=12, maxstring=60, maxother=60)
"""Shows a setting in a few words: a table of priors does not fit in a line."""


class Parameters:
    """Base of the estimators: settings are attributes, kept as given and validated by ``fit``.

    An attribute whose name ends in "_" is learned, one whose name begins with "_" is internal.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name.

        Args:
            deep: for scikit-learn; no setting is an estimator itself.
        """
        arguments = signature(type(self)).parameters.items()
        # As in scikit-learn, what is passed on as keywords is no setting.
        names = [name for name, argument in arguments if argument.kind != Parameter.VAR_KEYWORD]
        return {name: getattr(self, name) for name in names}

    def set_params[T: "Parameters"](self: T, **params: Any) -> T:
        """Change settings, and forget what was learned with the former ones.

        Args:
            params: new values by name.

        Returns:
            The estimator itself.

        Raises:
            InputError: a name is not an argument of the constructor.
        """
        check_names("set_params", params, self.get_params())
        if params:
            settings = self._settings() | params
            vars(self).clear()
            vars(self).update(settings)
        return self

    def _settings(self) -> dict[str, Any]:
        """Collect all attributes that are not learned."""
        return {k: v for k, v in vars(self).items() if k == "_defaults" or "_" not in (k[0], k[-1])}

    def __sklearn_clone__[T: "Parameters"](self: T) -> T:
        # Settings are shared, not copied: a prior is known by its identity.
        clone = object.__new__(type(self))
        vars(clone).update(self._settings())
        return clone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(None, TargetTags(required=True))

    def __repr__(self) -> str:
        arguments = signature(type(self)).parameters
        shown = {name: SHORT.repr(value) for name, value in self.get_params().items()}
        changes = [f"{k}={v}" for k, v in shown.items() if v != SHORT.repr(arguments[k].default)]
        return f"{type(self).__name__}({', '.join(changes)})"
