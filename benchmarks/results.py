"""Measurements whose numbers are published, by one command.

    python benchmarks/results.py --list
    python benchmarks/results.py estimates stopping --draws 20
    CORDIAL_DATA=path python benchmarks/results.py          # all, and the paper's page: hours
    python benchmarks/results.py --quick                    # a few cells of each, in minutes

Each program that PROGRAMS lists has some measurements.  What a cell of one gives is appended to a
file below ``--rows`` as soon as it is there: a run that was killed goes on where it was, and so
does one by another machine whose files lie there.  Parallel runs take draws of their own
(``--draws 20 40``) or a share of the cells (``--share 1/4``) each, with a core of their own; one
that finds all cells, from the first draw on, writes the table, ``benchmarks/results/NAME.csv``,
unless that has more draws.  Rows by other sources of the package or of these programs, or another
prior, are measured anew; ``--keep-rows`` takes them where one knows that the change is no matter.
"""

import argparse
import csv
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from measurement import Key, Line, Measurement, Row
from real import APART, FOLDER, NEEDED
from safetensors import safe_open

import cordial_ppl
from cordial_ppl.inference.priors.learned import FILE
from cordial_ppl.runtime.cache import cache_programs
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.text_table import align

PROGRAMS = (
    *("accuracy", "annotators", "centring", "channels", "deciding", "device"),
    *("directions", "drift", "enough", "estimates", "fit", "forecasts", "fusion", "monitoring"),
    *("odd_scales", "planning", "posterior", "priors", "reading", "samples", "simulations"),
    *("stopping", "sweep", "unproven", "unread", "users", "words"),
)
TABLES = Path(__file__).with_name("results")
QUICK = 2
"""Cells of the first draw that are measured with --quick."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="measurements; by default all")
    parser.add_argument("--list", action="store_true", help="say what each one measures")
    parser.add_argument("--quick", action="store_true", help="a few cells, and no files")
    parser.add_argument("--draws", type=int, nargs="+", metavar="N", help="number; or first, end")
    parser.add_argument("--share", default="1/1", help="which part of the cells, as 1/4")
    parser.add_argument("--rows", type=Path, default=Path("rows"), help="folder of what is done")
    parser.add_argument("--keep-rows", action="store_true", help="take rows of other sources too")
    parser.add_argument("--tables", type=Path, default=TABLES, help="folder of the tables")
    args, every = parser.parse_args(arguments), list_measurements()
    if unknown := [name for name in args.names if name not in (*every, "paper")]:
        parser.error(f"no measurement is called {unknown[0]!r}; --list shows those that there are.")
    chosen = {name: every[name] for name in args.names or every if name != "paper"}
    if args.list:
        print("\n".join(f"{name:24} {summarise(program)}" for name, (program, _) in chosen.items()))
        return 0
    if any(each.needs_data for _, each in chosen.values()) and not os.environ.get(FOLDER):
        parser.error(NEEDED)
    cache_programs()
    if args.quick:
        os.environ[APART] = ""
    try:
        share = parse_share(args.share)
        spans = {name: parse_draws(args.draws, each.draws) for name, (_, each) in chosen.items()}
    except ValueError as error:
        parser.error(str(error))
    for name, (program, each) in chosen.items():
        if args.quick:
            with tempfile.TemporaryDirectory() as folder:
                rows, _ = fill(each, range(1), (0, 1), Path(folder), QUICK)
            show(each, [*each.tabulate(rows)] if rows else [])
            continue
        rows, missing = fill(each, spans[name], share, args.rows, keep=args.keep_rows)
        if missing:
            print(f"{name}: {missing} cells are left to other runs", flush=True)
            continue
        if not (table := [*each.tabulate(rows)] if rows else []):
            print(f"{name}: this machine has nothing to measure it with", flush=True)
            continue
        show(each, table)
        if spans[name].start == 0:
            path = args.tables / f"{name}.csv"
            write(table, path, program, spans[name].stop, " or before" * args.keep_rows)
    if args.quick or (args.names and "paper" not in args.names):
        return 0
    page, output = TABLES.parents[1] / "docs/paper.md", args.rows / "paper"
    command = TABLES.parent / "paper/make.py", "--page", page, "-o", output
    return subprocess.run([sys.executable, *command], check=False).returncode


def list_measurements() -> dict[str, tuple[str, Measurement]]:
    """Load all measurements, by name, each with its program."""
    programs = {name: import_module(name).MEASUREMENTS for name in PROGRAMS}
    return {each.name: (f"{name}.py", each) for name, many in programs.items() for each in many}


def summarise(program: str) -> str:
    """Read the first line of what a program says of itself."""
    return (import_module(program.removesuffix(".py")).__doc__ or "").partition("\n")[0]


def parse_draws(numbers: list[int] | None, most: int) -> range:
    """Make the range of draws of one number, or of the first and the end."""
    first, end = (0, *numbers)[-2:] if numbers else (0, most)
    if len(numbers or ()) > 2 or not 0 <= first < end:
        raise ValueError("--draws takes a number of draws, or the first one and the end.")
    return range(first, end)


def parse_share(text: str) -> tuple[int, int]:
    """Make of "1/4" the number of the part, from 0 on, and how many parts there are."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"--share takes a part and the number of parts, as 1/4; got {text!r}.")
    return int(part) - 1, int(parts)


def fill(
    measurement: Measurement,
    draws: range,
    share: tuple[int, int],
    folder: Path,
    most: int | None = None,
    keep: bool = False,
) -> tuple[list[Row], int]:
    """Measure what is not kept of a share of the cells.

    Returns:
        The rows of all cells, and how many of them are missing.
    """
    cells = [(draw, tuple(cell)) for draw in draws for cell in measurement.cells(draw)][:most]
    name, sources = measurement.kept_as or measurement.name, digest_sources()
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(folder.glob(f"{name}.*.jsonl"))
    # Rows of today's sources replace those of others.
    wanted = (None, sources) if keep else (sources,)
    kept = dict(row for digest in wanted for path in paths for row in read(path, digest))
    part, parts = share
    path = folder / f"{name}.{draws.start}-{draws.stop}.{part + 1}-of-{parts}.jsonl"
    drop_half_line(path)
    left = [cell for index, cell in enumerate(cells) if index % parts == part and cell not in kept]
    # Two threads of one fit spend a sixth more CPU time than one; shares run side by side instead.
    threads = {} if measurement.timed else {"OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    with path.open("a", encoding="utf-8") as file, patch.dict(os.environ, threads):
        for number, (draw, cell) in enumerate(left, start=1):
            line = json.dumps(
                [sources, draw, cell, measurement.measure(draw, *cell)], default=as_plain
            )
            kept[draw, cell] = json.loads(line)[-1]  # As a run that goes on reads it.
            file.write(line + "\n")
            file.flush()
            seconds = time.perf_counter() - start
            progress = f"{measurement.name}: {number} of {len(left)} cells, {seconds:.0f} s"
            print(progress, file=sys.stderr, flush=True)
    rows = [Row(*key, kept[key]) for key in cells if key in kept]
    return rows, len(cells) - len(rows)


def read(path: Path, sources: str | None) -> Iterator[tuple[tuple[int, Key], Any]]:
    """Read rows that some sources gave, or all; a last line without its end is none."""
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            digest, draw, cell, numbers = json.loads(line)
            if sources in (None, digest):
                yield (draw, tuple(cell)), numbers


def as_plain(value: Any) -> Any:
    """Make numbers of NumPy, arrays and iterators what JSON can hold."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else list(value)


def drop_half_line(path: Path) -> None:
    """Cut off what a run that was killed wrote of its last line."""
    content = path.read_bytes() if path.exists() else b""
    if not content.endswith(b"\n") and content:
        os.truncate(path, content.rfind(b"\n") + 1)


def digest_prior() -> str:
    """Read the digest that the file of the shipped prior has."""
    with as_file(files("cordial_ppl.inference.priors") / FILE) as path, safe_open(path, "np") as f:
        return json.loads(f.metadata()["cordial"])["digest"][:12]


@cache
def digest_sources() -> str:
    """Digest what numbers follow from: the package and its prior, these programs and judgments."""
    digest, room, here = sha256(), Path(cordial_ppl.__file__).parent, Path(__file__).parent
    paths = *room.rglob("*.py"), room / "inference/priors" / FILE, *here.glob("*.[pt]*")
    for name, path in sorted((f"{path.parent.name}/{path.name}", path) for path in paths):
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def show(measurement: Measurement, table: list[Line]) -> None:
    """Print a table: numbers to four digits, and errors beside them."""
    every = dict.fromkeys(name for line in table for name in line)
    columns = [name for name in every if not name.endswith(" se")]
    cells = ([plain(line, name) for name in columns] for line in table)
    print(f"\n{measurement.name}", *align(columns, *cells), sep="\n", flush=True)


def plain(line: Line, name: str) -> str:
    """Write a value for a screen, with its standard error."""
    value, error = line.get(name), line.get(f"{name} se")
    text = f"{value:.4g}" if isinstance(value, float) else str("" if value is None else value)
    return text if error is None else f"{text} ± {error:.2g}"


def write(table: list[Line], path: Path, program: str, draws: int, age: str) -> None:
    """Write a table as CSV, with what it was made by; one of more draws stays."""
    lines = csv.DictReader(path.read_text("utf-8").splitlines()) if path.exists() else ()
    if (most := max((int(line.get("draws") or 0) for line in lines), default=0)) > draws:
        print(f"{path} stays: it is of {most} draws, and this run of {draws}", flush=True)
        return
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    source = {"program": program, "commit": commit + age, "prior": digest_prior(), "draws": draws}
    columns = dict.fromkeys(name for line in table for name in line)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*columns, *source], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: round_off(v) for k, v in line.items()} | source for line in table)
    print(f"wrote {path}", flush=True)


def round_off(value: Any) -> Any:
    """Round a number to six digits: further ones differ by machine."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.exit(main())
