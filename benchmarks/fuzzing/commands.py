"""The command line: damaged files and odd arguments, without the fits."""

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from cordial_ppl.cli.app import app
from cordial_ppl.errors import CordialError, InputError
from fuzzing import logs, saved, sweeps, tables
from fuzzing.door import Door
from fuzzing.mutations import WORDS, damage_bytes, mostly

Case = list[str]


class Reached(CordialError):
    """The input was good enough for a fit, which is left out."""


def _fit(*_: object, **__: object) -> Any:
    raise Reached("a fit")


@contextmanager
def _without_fits() -> Iterator[None]:
    from cordial_ppl.estimators.fusion import Fusion

    with (
        mock.patch("cordial_ppl.cli.calibrate.fit_calibrator", _fit),
        mock.patch("cordial_ppl.inference.priors.learn_prior", _fit),
        mock.patch("cordial_ppl.evaluation.sweep.run.make_cell", _fit),
        mock.patch.object(Fusion, "fit", _fit),
    ):
        yield


def _word(rng: random.Random) -> str:
    # No argument of a program holds a NUL, and those that begin with a dash are options.
    return rng.choice([word for word in WORDS if len(word) < 1000 and word not in ("\0", "\ud800")])


def _tables(rng: random.Random, folder: Path) -> list[str]:
    ending = rng.choice(tables.ENDINGS)
    names = [f"r.{ending}", f"l.{ending}"]
    made = tables.readings(rng), tables.labels(rng)
    damaged = rng.choice((0, 1, 1, 2))
    for number, (name, table) in enumerate(zip(names, made, strict=True)):
        if number == damaged:
            tables.write_damaged(rng, table, folder / name)
        else:
            tables.write_whole(rng, table, folder / name)
    return names


def _options(rng: random.Random, *names: str) -> Case:
    """Some options of a command, mostly with sensible values."""
    usual = {
        "--options": ("1,2,3", "3,2,1", '"1",2,3', "1,2", '"'),
        "--reader": ("a", "b"),
        "--task": ("a", "b"),
        "--seed": ("1", "-1", "1e9", "x"),
        "--inference": ("mode", "magic"),
        "--prior": ("own", "none.cordial", "r.csv"),
        "--prior-of": ("offset=0,0.5", "offset=0", "x=1,1", "offset=nan,1", "offset=0,-1"),
        "--channel": ("none.py", "r.csv", ""),
        "--json": None,
        "--quiet": None,
    }
    case = []
    for name in names:
        if rng.random() < 0.12:
            values = usual[name]
            case.append(name)
            if values is not None:
                case.append(mostly(rng, rng.choice(values), _word(rng)))
    return case


COMMON = ("--options", "--reader", "--task", "--channel", "--json", "--quiet")
FITTING = (*COMMON, "--seed", "--inference", "--prior", "--prior-of")


def _out(rng: random.Random, usual: str) -> Case:
    return ["-o", mostly(rng, usual, "o.txt", "none/o.csv", "r.csv", ".", "", _word(rng))]


def _make_fitting(rng: random.Random, folder: Path) -> Case:
    files, command = _tables(rng, folder), rng.choice(("calibrate", "fit", "fuse", "learn-prior"))
    out = "o.csv" if command in ("calibrate", "fuse") else "o.cordial"
    names = [name for name in FITTING if command != "learn-prior" or name in COMMON]
    return [command, *files, *_out(rng, out), *_options(rng, *names)]


def _make_reading(rng: random.Random, folder: Path) -> Case:
    path = str(logs.write_log(rng, folder).relative_to(folder))
    case = ["read", path, *_out(rng, "o.csv"), *_options(rng, *COMMON[:3], "--json", "--quiet")]
    case += ["--labels", "labels.csv"] if rng.random() < 0.4 else []
    case += ["--options", "1,2,3,4,5"] if "--options" not in case else []
    case += ["--explain", mostly(rng, "2", "-1", "x")] if rng.random() < 0.3 else []
    return case + (["--spell", mostly(rng, "5=five", "x")] if rng.random() < 0.1 else [])


def _make_predicting(rng: random.Random, folder: Path) -> Case:
    readings = f"r.{rng.choice(tables.ENDINGS)}"
    table = five_stars(rng)
    path = folder / "judge.cordial"
    path.write_bytes(saved.valid(mostly(rng, "stack", "users", "prior", "sweep cell")))
    if rng.random() < 0.5:
        tables.write_damaged(rng, table, folder / readings)
    else:
        tables.write_whole(rng, table, folder / readings)
        if rng.random() < 0.8:
            path.write_bytes(damage_bytes(rng, path.read_bytes()))
    command = ["predict", "judge.cordial", readings]
    if rng.random() < 0.4:
        tables.write_damaged(rng, {**tables.labels(rng), "user": ["ann"] * 6}, folder / "l.csv")
        command = ["shift", readings, "l.csv", "--calibrator", "judge.cordial"]
    return [*command, *_out(rng, "o.jsonl"), *_options(rng, *COMMON)]


def five_stars(rng: random.Random) -> dict[str, list]:
    """Readings of five options, which the saved stack knows as 0 to 4."""
    table: dict[str, list] = {"item_id": list(tables.IDS), "user": ["ann", "bob"] * 4}
    table |= {f"logit_{k}": [rng.gauss(0, 1) for _ in tables.IDS] for k in range(5)}
    return table | ({"mean": ["x"] * 8, "p_0": [0.0] * 8} if rng.random() < 0.2 else {})


def _make_sweeping(rng: random.Random, folder: Path) -> Case:
    sweeps._make(rng, folder)
    case = ["sweep", "sweep.toml", "-o", mostly(rng, "out", "sweep.toml", "labels.csv/x")]
    case += ["--analyse", mostly(rng, "all", "none")] if rng.random() < 0.3 else []
    return [*case, *_options(rng, "--json", "--quiet")]


def _enter(case: Case, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    here = Path.cwd()
    os.chdir(folder)
    try:
        with _without_fits():
            result = CliRunner().invoke(app, case)
    finally:
        os.chdir(here)
    error = result.exception
    assert error is None or isinstance(error, SystemExit), f"{error!r}"
    new = [path for path in folder.rglob("*") if path.is_file() and path not in before]
    changed = [path for path, data in before.items() if path.read_bytes() != data]
    messages = result.stderr.splitlines()
    if result.exit_code == 0:
        assert new or changed, "nothing was written"
        if "--json" in case:
            json.loads(result.stdout)
        for path in new:
            path.unlink()
        return
    if result.exit_code == 1 and messages and messages[-1] == "error: a fit":
        # A sweep has written what it is to do.
        assert case[0] == "sweep" or not new
        for path in sorted(folder.rglob("*"), reverse=True):
            _clear(path, before)
        return
    assert result.exit_code == 2, f"status {result.exit_code}: {messages}"
    assert not new and not changed, f"files were written: {new} {changed}"
    assert not result.stdout or case[0] == "sweep"
    for path in sorted(folder.rglob("*"), reverse=True):
        _clear(path, before)
    shown = [line for line in messages if line.startswith(("error: ", "Error: "))]
    assert len(shown) == 1, f"said {messages}"
    raise InputError(shown[0])


def _clear(path: Path, before: dict[Path, bytes]) -> None:
    """Remove what is no file of the case, and folders that are empty."""
    if path.is_file() and path not in before:
        path.unlink()
    elif path.is_dir() and not any(path.iterdir()):
        path.rmdir()


DOORS = [
    Door("cordial calibrate, fit, fuse, ...", _make_fitting, _enter),
    Door("cordial read", _make_reading, _enter),
    Door("cordial predict, shift", _make_predicting, _enter),
    Door("cordial sweep", _make_sweeping, _enter),
]
"""The commands."""
