"""The page of the documentation on what the paper states and what comes out here."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from findings import list_findings
from ledger import Ledger
from product import lay_out
from stated import APART, NEAR, TASKS, Products, Row, state_numbers, state_table

HEAD = """# The paper's numbers, and ours

This page compares every number in the paper with the result of a full run of
`benchmarks/paper/make.py`, which also writes this page. Because the paper's readings are not
public, **our tasks are synthetic** (`benchmarks/embedded.py`): they have as many options as the
paper's tasks, and the readers (judges) are about as accurate and as confident. Losses may therefore
differ from the paper's, but rankings, signs and sizes of gains should be similar. *CORDIAL* is
`Cordial.paper()`. Its stack, and the stacks it is compared with, have one pseudo-count per member.
To repeat the run:

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
    rows = [(row.text, row.place, row.criterion, row.ours, WORDS[row.held]) for row in findings]
    untested = f" and {held[None]} was not tested" if held[None] else ""
    how = (
        f"Numbers after ± are standard errors, in most cases over {draws} draws of labels. *Yes* "
        f"means that the paper's number and ours differ by at most {APART:.1f} of our standard "
        "errors, which is two standard errors of the difference if the paper's errors equal ours. "
        f"*Near* means within {100 * NEAR:.0f} %. Both allow for rounding in the paper. If the "
        "paper states a range, all of our numbers must lie in it. A gain is *resolved* if its 95 % "
        f"interval is above zero. The run took {ledger.seconds() / 3600:.1f} CPU hours."
    )
    parts = (
        HEAD,
        how,
        "## Findings",
        f"A program checks each criterion. Of the {len(findings)} findings, {held[True]} are "
        f"reproduced, {held[False]} are not{untested}.",
        lay_out(("finding", "section", "reproduced if", "ours", ""), rows),
        "## Numbers in the text",
        f"Of the {len(numbers)} numbers in the paper's text, {_count(numbers)}.",
        lay_out(("section", "number", "paper", "ours", ""), numbers),
        "## Table 1",
        "Each cell shows the paper's log loss, our log loss, and whether the two agree. Of the "
        f"{len(cells)} cells, {_count(cells)}.",
        _grid(cells),
    )
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", "utf-8")


def _grid(cells: Iterable[Row]) -> str:
    """Lay out a line for each method and number of labels, with a cell for each task."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in cells:
        method, _, where = row.what.rpartition(": ")
        labels = where.partition(", ")[2].removesuffix(" labels")
        lines.setdefault((method, labels), []).append(f"{row.paper} / {row.ours}, {row.verdict}")
    return lay_out(("method", "labels", *TASKS), ((*key, *line) for key, line in lines.items()))


def _count(rows: Iterable[Row]) -> str:
    verb = {"yes": "are reproduced", "near": "are near", "no": "are not", "not made": "are missing"}
    counts = Counter(row.verdict for row in rows)
    parts = [f"{counts[key]} {text}" for key, text in verb.items() if counts[key]]
    return " and ".join([", ".join(parts[:-1])] * (len(parts) > 1) + parts[-1:])
