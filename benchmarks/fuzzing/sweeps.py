"""The file that describes a sweep."""

import json
import math
import random
from pathlib import Path
from typing import Any

from cordial_ppl.evaluation.sweep import read_config
from cordial_ppl.evaluation.sweep.plan import describe, plan
from cordial_ppl.evaluation.sweep.scoring import read_externals
from cordial_ppl.evaluation.sweep.tasks import load_tasks, subset_columns
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table
from fuzzing.door import Door
from fuzzing.mutations import damage_bytes, damage_lines, damage_tree

TEXTS = reviews(40, seed=5)
IDS = [f"t{i}" for i in range(40)]
CONFIG: dict[str, Any] = {
    "seed": 1,
    "draws": 2,
    "budgets": [4, 9],
    "methods": ["raw", "histogram", "temperature"],
    "task": {
        "stars": {
            "readings": "readings.csv",
            "labels": "labels.csv",
            "report": 20,
            "readers": ["a"],
            "options": ["1", "2", "3", "4", "5"],
            "covariates": ["length"],
        },
    },
    "method": {
        "mine": {"base": "cordial", "inference": "mode", "weight_counts": {"mixture": 1.0}},
        "one": {"base": "channel", "channel": "location", "prior": "own"},
    },
    "external": {"shots": {"probabilities": "shots.csv"}},
}


def _make(rng: random.Random, folder: Path) -> Path:
    columns: dict[str, Any] = {"item_id": IDS, "reader": ["a"] * 40, "length": [1.0] * 40}
    columns |= {f"logit_{k + 1}": TEXTS.logits[:, k] for k in range(5)}
    write_table(folder / "readings.csv", columns)
    write_table(folder / "labels.csv", {"item_id": IDS, "label": [z + 1 for z in TEXTS.labels]})
    shots = {"item_id": IDS} | {f"p_{k}": [0.2] * 40 for k in range(1, 6)}
    write_table(folder / "shots.csv", shots)
    path, how = folder / "sweep.toml", rng.randrange(4)
    tree = damage_tree(rng, CONFIG) if how < 2 else CONFIG
    text = as_toml(tree) if isinstance(tree, dict) else str(tree)
    if how == 2:
        text = damage_lines(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    path.write_bytes(damage_bytes(rng, data) if how == 3 else data)
    return path


def as_toml(tree: dict[Any, Any]) -> str:
    """Write a tree as TOML: a key a line, everything below the first two levels inline."""
    lines, tables = [], []
    for name, value in tree.items():
        if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
            for inner, table in value.items():
                tables.append(f"[{json.dumps(str(name))}.{json.dumps(str(inner))}]")
                tables += [f"{json.dumps(str(k))} = {_inline(v)}" for k, v in table.items()]
        else:
            lines.append(f"{json.dumps(str(name))} = {_inline(value)}")
    return "\n".join([*lines, *tables, ""])


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(str(k))} = {_inline(v)}" for k, v in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return "1979-05-27T07:32:00Z" if value is None else json.dumps(value, ensure_ascii=False)


def _enter(path: Path, folder: Path) -> None:
    config = read_config(path)
    readings = load_tasks(config)
    tables = read_externals(config, readings)
    jobs = plan(config, readings, folder / "out")
    json.dumps(describe(config, jobs), allow_nan=False)
    subset_columns(config, readings)
    assert all(table.path.exists() for table in tables.values())


DOORS = [Door("a sweep's file", _make, _enter)]
"""What a sweep compares."""
