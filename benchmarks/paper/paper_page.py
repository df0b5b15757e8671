"""The page of the documentation on what the paper states and what comes out here."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from findings import list_findings
from ledger import Ledger
from product import lay_out
from stated import APART, NEAR, Products, Row, state_numbers, state_table

HEAD = """# The paper's figures, and ours

Every number that the paper states, beside ours from a full run of `benchmarks/paper/make.py`,
which also writes this page. **The texts are synthetic**: the paper's readings are not public, so
tasks and readers are made up, with the paper's numbers of texts and options, and readers as
accurate and sure as the paper's ([how](results.md)). Levels may differ for that reason alone;
what can be reproduced are orders, signs, sizes of gains and the method's own numbers. Ours is
`Cordial.paper()`; its stack and those of its rivals have one pseudo-count for each weight.

```sh
python benchmarks/paper/make.py --page docs/paper.md
```
"""

WORDS = {True: "yes", False: "**no**", None: "not tested"}


def write_page(folder: Path, ledger: Ledger, draws: int, path: Path) -> None:
    """Write the page from the products of a folder, and what it cost from what is finished."""
    products = Products(folder)
    findings, numbers = list_findings(products), [*state_numbers(products)]
    cells = [*state_table(products)]
    held = Counter(finding.held for finding in findings)
    rows = [
        (each.text, each.place, each.criterion, each.ours, WORDS[each.held]) for each in findings
    ]
    stated = f"Of {len(numbers)} numbers of the text, {_count(numbers)}."
    table = f"Of its {len(cells)} cells, {_count(cells)}."
    how = (
        f"{draws} draws of labels; ± standard errors over them. *yes*: within {APART:.1f} standard "
        "errors of ours, which is two of the difference if the paper's are as large; *near*: "
        f"within {100 * NEAR:.0f} %; both up to the rounding of the paper's. A range is of tasks, "
        "of numbers of labels or of readers, and all of ours must lie in the paper's. All of it "
        f"took {ledger.seconds() / 3600:.1f} CPU hours."
    )
    parts = (
        HEAD,
        how,
        "## What the paper finds",
        f"Of {len(findings)} findings, {held[True]} are reproduced, {held[False]} are not"
        + (f"; not tested: {held[None]}" if held[None] else "")
        + ". The criteria are computed.",
        lay_out(("finding", "section", "reproduced if", "ours", ""), rows),
        "## The numbers of the text",
        stated,
        lay_out(("section", "number", "paper", "ours", ""), map(_cells, numbers)),
        "## Table 1",
        table,
        lay_out(("", "number", "paper", "ours", ""), map(_cells, cells)),
    )
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", "utf-8")


def _cells(row: Row) -> Sequence[str]:
    what = f"{row.what} ({row.why})" if row.why else row.what
    return row.place, what, row.paper, row.ours, row.verdict


def _count(rows: Iterable[Row]) -> str:
    words = {"yes": "are reproduced", "near": "are near", "no": "are not", "not made": "not made"}
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{counts[key]} {text}" for key, text in words.items() if counts[key])
