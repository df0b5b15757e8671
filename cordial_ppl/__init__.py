"""Twenty labels turn a language model's ratings into calibrated probabilities.

The names of `__init__.pyi` are loaded when they are first used, so that the command line starts at
once.
"""

from importlib import import_module
from sys import modules
from types import ModuleType

from cordial_ppl.runtime import platform as _platform  # noqa: F401 - Forks are noted from now on.
from cordial_ppl.runtime.garbage import paused

TYPE_CHECKING = False  # Importing `typing` would delay the start.
if TYPE_CHECKING:
    from typing import Any

with open(f"{__file__.rpartition('.')[0]}.pyi", encoding="utf-8") as _stub:
    # Each line is: from ROOM import NAME as ALIAS.
    _LINES = [words for words in map(str.split, _stub) if words[:1] == ["from"]]
_ROOMS = {alias: (room, name) for _, room, _, name, _, alias in _LINES}
_MODULES = "calibrators", "channels", "plots", "priors", "scores", "synthetic"


def __getattr__(name: str) -> "Any":
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with paused():
        if name in _MODULES:
            return import_module(".".join(_ROOMS[name]))
        room, attribute = _ROOMS[name]
        return getattr(import_module(room), attribute)


class _Alias(ModuleType):
    """Stand for a module that lies in another room, which is imported when it is used."""

    def __getattr__(self, name: str) -> "Any":
        return getattr(__getattr__(self.__name__), name)


for _alias in ("calibrators", "priors", "synthetic"):
    # `import cordial_ppl.synthetic` asks for a module of that name.
    modules[f"{__name__}.{_alias}"] = _Alias(_alias)


def __dir__() -> list[str]:
    return sorted({*_ROOMS} - {"plots"})
