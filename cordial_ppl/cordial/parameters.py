"""Parameters of an estimator, as scikit-learn knows them: what its constructor was given."""

from collections.abc import Callable
from inspect import signature
from reprlib import Repr
from typing import Any

from cordial_ppl.cordial.settings import check_names

SHORT = Repr()
"""Shows a setting in a line: prior tables and channels do not fit."""
SHORT.maxtuple = SHORT.maxlist = SHORT.maxdict = 12
SHORT.maxstring = SHORT.maxother = 60


class Parameters:
    """Remembers the arguments of its constructor as they were given; base of the estimators.

    Constructors check and convert their arguments at once, so attributes may hold something else.
    A class method that makes an instance in another way says so by ``_made_by``: then the
    parameters are that method's arguments, and what is cloned is made by it again.
    """

    _made: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

    def __new__[T: "Parameters"](cls: type[T], *args: Any, **kwargs: Any) -> T:
        """Remember the arguments."""
        return object.__new__(cls)._made_by(cls, *args, **kwargs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as they were given or by default.

        Args:
            deep: for scikit-learn; no setting is an estimator with settings of its own.
        """
        constructor, args, kwargs = self._made
        bound = signature(constructor).bind(*args, **kwargs)
        bound.apply_defaults()
        found = dict(bound.arguments)
        return found | found.pop("settings", {})

    def set_params[T: "Parameters"](self: T, **params: Any) -> T:
        """Change settings; whoever was fitted forgets it, for the fit was made with other ones.

        Args:
            params: new values by name.

        Returns:
            The estimator itself.

        Raises:
            InputError: a name is none of a setting, or a value is none that it may have; all
                settings stay as they were.
        """
        known = self.get_params()
        check_names("set_params", params, known)
        if params:
            made = self._made[0](**known | params)
            vars(self).clear()
            vars(self).update(vars(made))
        return self

    def _made_by[T: "Parameters"](
        self: T, constructor: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> T:
        """Remember which constructor made this, and what it was given."""
        self._made = constructor, args, kwargs
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scale_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(None, TargetTags(required=True))

    def __sklearn_clone__[T: "Parameters"](self: T) -> T:
        # Settings are shared, not copied: a prior is known by its identity.
        return self._made[0](**self.get_params())

    def __repr__(self) -> str:
        constructor, cls = self._made[0], type(self)
        known = signature(constructor).parameters
        defaults = {name: SHORT.repr(parameter.default) for name, parameter in known.items()}
        shown = {name: SHORT.repr(value) for name, value in self.get_params().items()}
        given = (f"{name}={text}" for name, text in shown.items() if text != defaults.get(name))
        made = "" if constructor is cls else f".{constructor.__name__}"
        return f"{cls.__name__}{made}({', '.join(given)})"
