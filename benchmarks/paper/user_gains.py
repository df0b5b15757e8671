"""What a shift for each user gains over the population, and over other effects of one number."""

from collections.abc import Sequence

from product import Product, bold, number, tabulate
from users import EMBEDDED, LABELS, LATE, PLAIN, measure_gains

from cordial_ppl import Cordial

EFFECTS = (
    *(PLAIN, "reliability, mode", "temperature, mode", "intercept, mode"),
    *("shift, whole classes", "shift"),
)
"""The paper's four, and two further forms of the shift."""


def user_gains(tasks: Sequence[str] = tuple(EMBEDDED), draws: int = 20) -> Product:
    """Return what each effect gains over a population fitted by the paper's stack.

    Args:
        tasks: tasks of the embedded benchmark.
        draws: draws of the population's labels.

    Returns:
        The product `users`.
    """
    table = tabulate(
        {"task": task, "effect": effect, "texts": kept, "gain": mean}
        | {"lower": ends[0], "upper": ends[1], "standard_error": ends[2]}
        for task in tasks
        for effect, parts in measure_gains(task, draws, EFFECTS, Cordial.paper).items()
        for kept, (mean, _, ends) in parts.items()
    )
    shown = table.with_columns(text=table.map_rows(_shown, None).to_series())
    return Product(
        name="users",
        title="Across users",
        caption=f"Gain in log loss (nats) over the population's prediction, fitted to {LABELS:,} "
        f"labels of others, ± standard errors over users and draws; late: after {LATE} or more "
        "earlier texts of the user. The paper's shift is the user's mode under a cross-validated "
        "sigma, with fractions of a class divided between two options or, whole classes, not; "
        "mode: other effects plugged in alike, the intercept on ordinal regression; shift: the "
        "default, which averages; a - b: what a gains over b, text by text; bold: the 95 % "
        "interval excludes zero.",
        table=table,
        shown=shown.pivot("task", index=["effect", "texts"], values="text"),
        notes=(
            f"{draws} draws of the population's labels; 95 % bootstrap intervals are over users "
            "and draws. Each half of the users takes its sigma from the other half.",
        ),
    )


def _shown(row: tuple) -> str:
    *_, gain, lower, upper, error = row
    return bold(number(gain, "+.3f", error), lower * upper > 0)
