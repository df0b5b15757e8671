"""The Python reference as `docs/api.md`, to be read in the repository.

    python docs/signatures.py

`docs/reference.md` lists the names and builds the page of the site; this has the same in Markdown.
"""

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TOP = """# Python reference

<!-- python docs/signatures.py -->

Most names are in `cordial_ppl`, usually imported as `cp`. Shapes: n labelled texts, m texts to
predict, K ordered options, R judges. Logits and losses are in nats, positions in scale points.
"""
ENTRY = re.compile(r"^::: ([\w.]+)\n((?: +.*\n)*)|^(## .*)\n", re.MULTILINE)
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Note|Example|Source):$")
ITEM = re.compile(r"^    (\*{0,2}\w+)( \(.*?\))?: ")
HIDDEN = set(
    "effect fit_labelled key name of over predict_centred prediction_draws restore state target "
    "thinned_weights".split()
)
ATTRIBUTES = property, cached_property


def find(path: str) -> Any:
    """Return what a dotted name stands for."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise LookupError(path)


def render(docstring: str) -> str:
    """Turn a docstring's sections and roles into Markdown."""
    docstring = re.sub(r":(?:class|func|meth|mod):`([^`]*)`", r"`\1`", docstring)
    docstring = re.sub(r":math:`([^`]*)`", r"$\1$", docstring).replace(".. math::", "")
    lines, listed = [], False
    for line in docstring.splitlines():
        if heading := SECTION.match(line):
            listed = True
            lines += [f"**{heading[1]}**", ""]
        elif listed and line.startswith("    "):
            named = ITEM.match(line)
            lines.append(ITEM.sub(r"- `\1`: ", line) if named else f"  {line.strip()}")
        else:
            listed = listed and not line.strip()
            lines.append(line)
    return "\n".join(lines)


def sign(found: Any) -> str:
    """Return the names and defaults of a function's arguments."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return "()"
    arguments = []
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        stable = each.default is each.empty or not re.search(
            r" at 0x|<factory>", repr(each.default)
        )
        default = each.default if stable else ...
        arguments.append(each.replace(annotation=each.empty, default=default))
    return str(inspect.Signature(arguments)).replace("Ellipsis", "...")


def describe(name: str, found: Any, level: int) -> list[str]:
    """Return a heading, the signature and the docstring of a function or class."""
    attribute = isinstance(found, ATTRIBUTES)
    code = getattr(found, "fget", None) or getattr(found, "func", None) or found
    shown = f"```text\n{name}{'' if attribute else sign(code)}\n```"
    return [f"{'#' * level} {name}", shown, render(inspect.getdoc(code) or "")]


def members(found: Any, options: str) -> list[str]:
    """Return the members of a class or module that the reference shows, in order."""
    chosen = re.search(r"members: \[(.*)\]", options)
    own = list(vars(found)) if not chosen else chosen[1].split(", ")
    if inspect.ismodule(found) and not chosen:
        made = {n for n in own if getattr(getattr(found, n), "__module__", "") == found.__name__}
        own = [n for n in own if n in made and n.islower() and not n.startswith("as_")]
    kinds = (*ATTRIBUTES, classmethod, staticmethod)
    kept = [
        n
        for n in own
        if not n.startswith("_")
        and n not in HIDDEN
        and (
            isinstance(inspect.getattr_static(found, n, None), kinds) or callable(getattr(found, n))
        )
    ]
    return [n for n in kept if inspect.getdoc(getattr(found, n))]


def page() -> str:
    """Return the page."""
    blocks = [TOP.strip()]
    for path, options, heading in ENTRY.findall((FOLDER / "reference.md").read_text()):
        if heading:
            blocks.append(heading)
            continue
        found, name = find(path), path.rpartition(".")[2]
        if not inspect.ismodule(found):
            blocks += describe(name, found, 3)
        if inspect.isclass(found) or inspect.ismodule(found):
            for member in members(found, options):
                inside = inspect.getattr_static(found, member, None)
                inside = inside if isinstance(inside, ATTRIBUTES) else getattr(found, member)
                blocks += describe(f"{name}.{member}", inside, 4)
    return re.sub(r"[ \t]+\n", "\n", "\n\n".join(blocks)) + "\n"


if __name__ == "__main__":
    (FOLDER / "api.md").write_text(page(), encoding="utf-8")
