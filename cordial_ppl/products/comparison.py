"""Who is compared: which method is ours, which others it is compared with, and what is missing."""

from cordial_ppl.errors import InputError
from cordial_ppl.sweep import Results

OURS = ("cordial", "paper", "paper-one-count")
"""What is ours unless the caller says so: the first of them that the sweep has."""

Key = tuple[str, str, int]
"""A cell: task, reader and number of labels."""


def our_method(results: Results, ours: str | None = None) -> str:
    """Return the method that the others are compared with.

    Raises:
        InputError: the sweep does not have it, or none of `OURS`.
    """
    if ours is not None:
        need_methods(results, ours)
        return ours
    found = [name for name in OURS if name in results.methods]
    if not found:
        raise InputError(
            f"the sweep has none of the methods {', '.join(OURS)}: add one to methods in its file, "
            f"or name another as ours; it has {', '.join(results.methods)}."
        )
    return found[0]


def rivals(results: Results, ours: str) -> tuple[str, ...]:
    """Return what ours is compared with: every method that is no other form of it.

    Raises:
        InputError: there is none.
    """
    alike = forms(results, ours)
    found = tuple(method for method in results.methods if method not in alike)
    if not found:
        raise InputError(f"this compares {ours!r} with other methods, and the sweep has none.")
    return found


def forms(results: Results, ours: str) -> tuple[str, ...]:
    """Return ours and every other form of it that the sweep has."""
    bases = {m: "ours" if base_of(results, m) in OURS else m for m in results.methods}
    return tuple(method for method in results.methods if bases[method] == bases[ours])


def base_of(results: Results, method: str) -> str:
    """Return what a method is a variant of; itself where it is none."""
    known = {each["name"]: each.get("base") for each in results.config.get("methods", ())}
    return known.get(method) or method


def need_methods(results: Results, *methods: str) -> None:
    """Raise an `InputError` that names the first method that the sweep does not have."""
    for method in methods:
        if method not in results.methods:
            raise InputError(
                f"this needs the method {method!r}: add it to methods in the sweep's file; it has "
                f"{', '.join(results.methods)}."
            )


def need_budgets(results: Results, *budgets: int) -> None:
    """Raise an `InputError` that names the first budget that a task and reader do not have."""
    for task, reader in results.pairs:
        found = results.budgets(task, reader)
        for n in budgets:
            if n not in found:
                raise InputError(
                    f"this needs fits to {n} labels, which {task!r} read by {reader!r} lacks: add "
                    f"{n} to budgets in the sweep's file and run it; it has "
                    f"{', '.join(map(str, found))}."
                )
