"""How long `cordial predict` takes for a large table, and how much memory.

A judge is fitted to n labels, a table of synthetic reviews is written to a temporary folder, and
the program is run on it as a user would, in a process of its own: cold, when nothing that predicts
is compiled, and warm, when all is.  Memory is the largest resident set of that process.  Where
something else keeps the machine busy, its CPU seconds by the number of cores say what to expect.
Megabytes are those of the table and of what is written.

    python benchmarks/predict_table.py
    python benchmarks/predict_table.py --quick
    python benchmarks/predict_table.py --endings parquet csv --texts 100000 1000000

Prints a table and writes JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table

FILES = ("in", "many"), ("out", "out")
CORDIAL = [sys.executable, "-c", "from cordial_ppl.cli import main; main()"]


def main() -> None:
    """Run the program on tables of several sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--texts", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--options", type=int, default=5)
    parser.add_argument("--endings", nargs="+", default=["parquet"], help="formats of the table")
    parser.add_argument("--out", type=Path, default=Path("predict_table.json"))
    args = parser.parse_args()
    if args.quick:
        args.texts = [10_000]
    rows = []
    names = ("seconds", "CPU", "GB", "texts/s", "MB in", "MB out")
    print(f"{'':10s}{'texts':>10s}{'':>6s}{''.join(f'{name:>9s}' for name in names)}")
    for ending in args.endings:
        for count in args.texts:
            for row in measure(ending, count, args.labels, args.options):
                rows.append(row)
                line = (
                    f"{ending:10s}{count:10d}{row['run']:>6s}{row['seconds']:9.1f}{row['cpu']:9.1f}"
                )
                line += (
                    f"{row['gigabytes']:9.2f}{row['rate']:9.0f}{row['in']:9.1f}{row['out']:9.1f}"
                )
                print(line, flush=True)
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}))


def measure(ending: str, count: int, labels: int, options: int) -> list[dict]:
    """Run the program cold and warm."""
    made = reviews(labels + count, options=options)
    ids = [f"review-{i:09d}" for i in range(labels + count)]

    def write(path: Path, rows: slice) -> None:
        logits = made.logits[rows]
        cells = {f"logit_{option}": logits[:, k] for k, option in enumerate(made.options)}
        write_table(path, {"item_id": ids[rows], **cells})

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "few.csv", slice(labels))
        write(folder / f"many.{ending}", slice(labels, None))
        names = np.take(made.options, made.labels[:labels])
        write_table(folder / "labels.csv", {"item_id": ids[:labels], "label": names})
        run("fit", folder, "few.csv", "labels.csv", "-o", "judge.cordial", "--quiet")
        predict = "predict", folder, "judge.cordial", f"many.{ending}", "-o", f"out.{ending}", "-q"
        times = []
        for temperature in ("cold", "warm"):
            row = {"ending": ending, "texts": count, "run": temperature, **run(*predict)}
            sizes = {k: (folder / f"{name}.{ending}").stat().st_size / 1e6 for k, name in FILES}
            times.append({**row, "rate": count / row["seconds"], **sizes})
    return times


def run(command: str, folder: Path, *arguments: str) -> dict[str, float]:
    """Run the program in a folder, where it also keeps what it compiles."""
    environment = {name: v for name, v in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment["CORDIAL_CACHE_DIR"] = str(folder / "cache")
    start = time.perf_counter()
    process = subprocess.Popen([*CORDIAL, command, *arguments], cwd=folder, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"cordial {command} failed")
    # macOS counts bytes, Linux kilobytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu": cpu, "gigabytes": used.ru_maxrss / unit}


if __name__ == "__main__":
    main()
