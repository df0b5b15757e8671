"""What must not matter does not: names, order, files and formats, for every command."""

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from program import run

import cordial_ppl as cp
from cordial_ppl.data.readings import as_logits
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.plots.report import TaskTexts, gather
from cordial_ppl.tables import write_table

pytestmark = pytest.mark.usefixtures("few_resamples", "undrawn")

OPTIONS = "poor", "fair", "good", "great", "superb"
GROUPS, USERS = ("Ada", "Bob", "Cy"), ("una", "vic")
TEXTS, LABELLED, READ_AGAIN = 48, 24, 40
UNREAD = np.arange(TEXTS) % 11 == 5
READINGS, ANSWERS = ("readings", "again", "judges"), ("labels", "fresh")


@dataclass(frozen=True)
class World:
    """Tables, how they are written, and how answers about them may differ.

    Attributes:
        tables: readings of all texts, of some again later, and by two judges; labels, those of a
            fit and fresh ones.
        ending: of the files; "folder" is one of Parquet for readings, with labels as CSV.
        more: further arguments of commands.
        back: old names by new ones.
        but: parts of an answer that may differ.
        near: by how much numbers from draws may differ.
    """

    tables: Mapping[str, pl.DataFrame]
    ending: str = "csv"
    more: tuple[str, ...] = ()
    back: Mapping[str, str] = field(default_factory=dict)
    but: tuple[str, ...] = ()
    near: float = 1e-6

    def change(self, function: Any, *names: str, **more: Any) -> "World":
        """Change tables, by default those of readings."""
        changed = {name: function(self.tables[name]) for name in names or READINGS}
        return replace(self, tables={**self.tables, **changed}, **more)

    def rename(self, new: Mapping[str, str]) -> "World":
        """Rename cells, and columns of options."""
        names = {f"logit_{old}": f"logit_{to}" for old, to in new.items()}
        cells, back = pl.col(pl.String).replace(new), {to: old for old, to in new.items()}
        turn = lambda table: table.with_columns(cells).rename(names, strict=False)  # noqa: E731
        return self.change(turn, *self.tables, back=back)


def make_world() -> World:
    """Make soft readings, too low for one system and with gaps, and labels of unlike users."""
    rng = np.random.default_rng(5)
    codes, user = rng.integers(0, 5, TEXTS), rng.integers(0, 2, TEXTS)
    system = np.arange(TEXTS) % 3
    notes = {"system": [GROUPS[k] for k in system], "user": [USERS[k] for k in user]}
    ids = {"item_id": [f"t{k:02d}" for k in range(TEXTS)]}

    def read(noise: float, reader: str) -> pl.DataFrame:
        middle = codes - 0.7 * (system == 1) + rng.normal(0, noise, TEXTS)
        logits = -((np.where(UNREAD, np.nan, middle)[:, None] - np.arange(5)) ** 2).round(6)
        columns = pl.DataFrame(logits, [f"logit_{option}" for option in OPTIONS]).fill_nan(None)
        return pl.DataFrame({**ids, **notes, "reader": [reader] * TEXTS}).hstack(columns)

    one, other, again = read(0.6, "x1"), read(0.9, "x2"), read(0.6, "x1")
    given = np.clip(codes + rng.choice([-1, 0, 0, 1], TEXTS) + user, 0, 4)
    labels = pl.DataFrame({**ids, "label": [OPTIONS[k] for k in given], "order": range(TEXTS)})
    tables = {"readings": one, "again": again[:READ_AGAIN], "judges": pl.concat([one, other])}
    return World(tables | {"labels": labels[:LABELLED], "fresh": labels[LABELLED:READ_AGAIN]})


WORLD = make_world()
CALIBRATOR, FAST, PASSING = "c.cordial", ("--inference", "mode"), OPTIONS[2:]
READ, BOTH, PASS = "readings.{0}", ("readings.{0}", "labels.{1}"), ("--pass", ",".join(PASSING))
COMMANDS: dict[str, tuple[str, ...]] = {
    "calibrate": ("calibrate", *BOTH, "-o", "o.csv", *FAST),
    "predict": ("predict", CALIBRATOR, READ, "-o", "o.csv"),
    "estimate": ("estimate", *BOTH, "--by", "system", *PASS, "-o", "o.csv"),
    "compare": ("compare", *BOTH, "--by", "system"),
    "agree": ("agree", "labels.{1}", READ),
    "decide": ("decide", *BOTH, *PASS, "--person", "0.2", "-o", "o.csv"),
    "plan": ("plan", READ, "-n", "12", "--by", "system", "-o", "o.csv"),
    "monitor": ("monitor", CALIBRATOR, READ, "again.{0}", "--labels", "fresh.{1}"),
    "fuse": ("fuse", "judges.{0}", "labels.{1}", "-o", "o.csv", *FAST),
    "shift": ("shift", *BOTH, "-o", "o.csv", *FAST),
    "report": ("report", CALIBRATOR, *BOTH, "-o", "o.html"),
}
DRAWN = "estimate", "compare", "decide"
"""Commands whose figures are sums over draws, which round by their order: other draws are dealt
where groups appear in another order, and where a label stands in two rows."""


def write(world: World) -> None:
    for name, table in world.tables.items():
        if world.ending == "xlsx":
            table.write_excel(f"{name}.xlsx")
        elif world.ending == "folder" and name in READINGS:
            Path(f"{name}.folder").mkdir()
            for part, rows in enumerate((table[:30], table[30:])):
                rows.write_parquet(f"{name}.folder/part-{part}.parquet")
        else:
            write_table(Path(f"{name}.{world.ending.replace('folder', 'csv')}"), table.lazy())


def call(world: World, *words: str) -> str:
    text = "\n".join(words).format(world.ending, world.ending.replace("folder", "csv"))
    for new, old in world.back.items():
        text = text.replace(old, new)
    result = run(*text.split("\n"), *world.more, "-q")
    assert result.status in (0, 3, 4), result.output
    return result.stdout


def answer(world: World, command: str, folder: Path) -> tuple[Any, list[dict[str, str]]]:
    """Run a command on a world: its JSON, and the rows that it writes by text, in old names."""
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(folder):
        write(world)
        if CALIBRATOR in COMMANDS[command]:
            call(world, "fit", *BOTH, "-o", CALIBRATOR, *FAST)
        content, out = json.loads(call(world, *COMMANDS[command], "--json")), Path("o.csv")
        rows = pl.read_csv(out, infer_schema=False).to_dicts() if out.exists() else []
    content.pop("output", None)
    text = json.dumps([content, rows])
    for new, old in world.back.items():
        text = text.replace(new, old)
    content, rows = json.loads(text)
    return content, sorted(rows, key=lambda row: row.get("item_id", row.get("system")))


def assert_same(found: Any, expected: Any, near: float, but: tuple[str, ...] = ()) -> None:
    one, other = (flatten(each, but) for each in (found, expected))
    assert one.keys() == other.keys()
    for place, value in other.items():
        expected = value if isinstance(value, str | None) else pytest.approx(value, near, near)
        assert one[place] == expected, place


def flatten(value: Any, but: tuple[str, ...] = (), at: str = "") -> dict[str, Any]:
    """List what an answer holds, by place; numbers in words of a table are numbers."""
    if isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        parts = (flatten(each, but, f"{at} {key}") for key, each in pairs if key not in but)
        return {place: each for part in parts for place, each in part.items()}
    with contextlib.suppress(TypeError, ValueError):
        value = value if isinstance(value, bool) else float(value)
    return {at: value}


def shuffle(table: pl.DataFrame, first: int = 3) -> pl.DataFrame:
    """Shuffle rows but the first, so that groups appear in the same order."""
    return pl.concat([table[:first], table[first:].sample(fraction=1, shuffle=True, seed=0)])


def turn(table: pl.DataFrame, options: bool) -> pl.DataFrame:
    names = [name for name in table.columns if name.startswith("logit_") == options]
    turned = dict(zip(names, reversed(names), strict=True))
    return table.select(turned.get(name, name) for name in table.columns)


def twice(**columns: Any) -> World:
    def repeat(table: pl.DataFrame) -> pl.DataFrame:
        both = [table.with_columns(annotator=pl.lit(name), **columns) for name in ("v", "w")]
        return pl.concat(both).sort("item_id", maintain_order=True)

    return WORLD.change(repeat, *ANSWERS, but=("labels", "verdict"), near=0.06)


CHANGES: dict[str, World] = {
    "rows in another order": WORLD.change(shuffle, near=1e-3),
    "columns in another order": WORLD.change(lambda table: turn(table, False), *WORLD.tables),
    "options in another order": WORLD.change(
        lambda table: turn(table, True), more=("--options", ",".join(OPTIONS))
    ),
    "other ids": WORLD.rename({f"t{k:02d}": f"id-{97 * k % 100:02d}-x" for k in range(TEXTS)}),
    "other options": WORLD.rename(
        dict(zip(OPTIONS, ("zim", "yot", "xel", "wug", "vex"), strict=True))
    ),
    "other groups": WORLD.rename({"Ada": "kim", "Bob": "leo", "Cy": "moe", "una": "zed"}),
    "files that are split": replace(WORLD, ending="folder"),
    **{ending: replace(WORLD, ending=ending) for ending in ("parquet", "xlsx", "jsonl")},
    "labels twice": twice(),
    "labels twice, half a label each": twice(weight=pl.lit(0.5)),
}
# One writes a row a label; others take two people for two users, or say how they agree.
OF_PEOPLE = ("decide", "shift", "agree", "report")
NOT_TWICE = {(change, each) for change in [*CHANGES][-2:] for each in OF_PEOPLE}
# For each change of the code every change is tried with one command, and every command with one.
DAILY = {*zip(CHANGES, [*COMMANDS, "calibrate"], strict=True), ("labels twice", "calibrate")}
CASES = [
    pytest.param(change, command, marks=() if daily else pytest.mark.nightly)
    for change in CHANGES
    for command in COMMANDS
    for daily in [(change, command) in DAILY]
    if (change, command) not in NOT_TWICE
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """What each command answers about the world as it is."""
    return cache(lambda command: answer(WORLD, command, tmp_path_factory.mktemp("world")))


@pytest.mark.parametrize(("change", "command"), CASES)
def test_what_changes_nothing(change: str, command: str, original: Any, tmp_path: Path) -> None:
    world = CHANGES[change]
    near = world.near if command in DRAWN else 1e-6
    assert_same(answer(world, command, tmp_path), original(command), near, world.but)


@pytest.mark.nightly
def test_what_changes_random_numbers_alone(original: Any, tmp_path: Path) -> None:
    """Draws are dealt to groups in their order, and folds to labels in theirs."""
    groups = WORLD.rename({"Ada": "zeb", "Bob": "yak", "Cy": "ant"})
    turned = groups.change(lambda table: shuffle(table[::-1], 0))
    for command in ("compare", "estimate"):
        found = answer(turned, command, tmp_path / command)
        assert_same(found, original(command), 0.1, ("verdict", "differences"))
    # A plan takes groups in the order of their names: as many of each.
    assert_same(answer(groups, "plan", tmp_path)[0], original("plan")[0], 0)
    labels = answer(WORLD.change(shuffle, "labels"), "calibrate", tmp_path / "labels")
    pair = labels, original("calibrate")
    means, same = ([float(row["mean"]) for row in rows] for _, rows in pair)
    np.testing.assert_allclose(means, same, atol=0.3)


IDS = WORLD.tables["readings"]["item_id"].to_list()
LOGITS, AGAIN, BY_JUDGE = (
    as_logits(WORLD.tables[name].select(pl.col("^logit_.*$")), gaps=True) for name in READINGS
)
JUDGES, ROWS = BY_JUDGE.reshape(2, TEXTS, 5).swapaxes(0, 1), np.arange(LABELLED)
LABELS, FRESH = (WORLD.tables[name]["label"].to_list() for name in ANSWERS)
SYSTEM, USER = (WORLD.tables["readings"][name].to_list() for name in ("system", "user"))


@cache
def fit(kind: str = "default") -> Any:
    if kind == "fusion":
        judges = cp.Fusion(OPTIONS, readers=("x1", "x2"), inference="mode")
        return judges.fit(JUDGES[ROWS], LABELS, texts=IDS[:LABELLED])
    stack = cp.Cordial(OPTIONS, inference=kind)
    return stack.fit(LOGITS[ROWS], LABELS, corpus=LOGITS, texts=IDS[:LABELLED])


def estimate(calibrator: Any, **asked: Any) -> Any:
    return calibrator.estimate(LOGITS, ROWS, groups=SYSTEM, **asked).to_dict(), {}


def decide(calibrator: Any) -> Any:
    made = calibrator.decide(LOGITS, ROWS, passing=PASSING, person=0.2)
    names = "ways", "agree", "kept", "gain", "curve"
    return {"decisions": made.counts} | {name: getattr(made, name) for name in names}, {}


def monitor(calibrator: Any) -> Any:
    with pytest.warns(cp.CordialWarning, match="lacks"):
        made = cp.monitor(calibrator, LOGITS, AGAIN, texts=[IDS, IDS[:READ_AGAIN]])
    check = cp.check_labels(calibrator, AGAIN[LABELLED:], FRESH, texts=IDS[LABELLED:READ_AGAIN])
    return made.to_dict() | {"labels": check.to_dict()}, {}


def name_options(probs: np.ndarray) -> dict[str, np.ndarray]:
    return {f"p_{option}": column for option, column in zip(OPTIONS, probs.T, strict=True)}


def predict(calibrator: Any) -> Any:
    logits = JUDGES if isinstance(calibrator, cp.Fusion) else LOGITS
    low, high = calibrator.predict_interval(logits)
    means = {"mean": calibrator.predict_mean(logits), "mean_low": low, "mean_high": high}
    return {}, name_options(calibrator.predict_proba(logits)) | means


def shift(calibrator: Any) -> Any:
    shifts = cp.UserShift(OPTIONS)
    rows = ROWS[~UNREAD[ROWS]]
    read = [LABELS[row] for row in rows], [USER[row] for row in rows], rows
    shifts.fit(calibrator.fit_.out_of_fold, *read)
    probs = shifts.predict_proba(calibrator.predict_proba(LOGITS), USER)
    return {"shifts": shifts.values_, "spread": shifts.sigma_}, name_options(probs)


def report(calibrator: Any) -> Any:
    codes = np.array([OPTIONS.index(label) for label in LABELS])
    columns = {"system": SYSTEM[:LABELLED], "user": USER[:LABELLED]}
    return gather(calibrator, TaskTexts(IDS, LOGITS, ROWS, codes, {}, columns)).to_dict(), {}


def plan() -> Any:
    made = cp.plan(LOGITS, 12, groups=SYSTEM, options=OPTIONS)
    return {}, {"item_id": sorted(IDS[row] for row in made.rows)}


IN_PYTHON: dict[str, Callable[[], Any]] = {
    **{"calibrate": lambda: predict(fit("mode")), "predict": lambda: predict(fit("mode"))},
    **{"estimate": lambda: estimate(fit(), passing=PASSING), "compare": lambda: estimate(fit())},
    **{"decide": lambda: decide(fit()), "plan": plan},
    **{"monitor": lambda: monitor(fit("mode")), "fuse": lambda: predict(fit("fusion"))},
    **{"shift": lambda: shift(fit("mode")), "report": lambda: report(fit("mode"))},
}


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=np.ndarray.tolist).replace("NaN", "null"))


@pytest.mark.parametrize("command", IN_PYTHON)
def test_commands_say_what_python_finds(command: str, original: Any) -> None:
    (printed, rows), (content, columns) = original(command), plain(IN_PYTHON[command]())
    assert_same({key: printed[key] for key in content}, content, 1e-9)
    assert_same({key: [row[key] for row in rows] for key in columns}, columns, 1e-9)


@pytest.mark.parametrize("kind", ["default", "mode", "fusion"])
def test_what_is_loaded_answers_as_what_was_fitted(kind: str, tmp_path: Path) -> None:
    fit(kind).save(tmp_path / "c.cordial")
    loaded = cp.load(tmp_path / "c.cordial")
    asked = {"default": (estimate, decide), "mode": (monitor, shift, report), "fusion": ()}[kind]
    for ask in (predict, *asked):
        assert_same(plain(ask(loaded)), plain(ask(fit(kind))), 1e-9)


@pytest.mark.parametrize("of", ["these", pytest.param("like-these", marks=pytest.mark.nightly)])
def test_parts_add_up_and_differences_turn_their_sign(of: str) -> None:
    """Options that pass and the rest; all groups, of one size; A - B and B - A."""
    made, rest = (
        fit().estimate(LOGITS, ROWS, groups=SYSTEM, of=of, passing=passing)
        for passing in (PASSING, OPTIONS[:2])
    )
    one, other = made.passing, rest.passing
    np.testing.assert_allclose([*one.rate], 1 - np.array(other.rate)[[0, 2, 1]], rtol=1e-6)
    assert [*one.tpr, *one.tnr] == pytest.approx([*other.tnr, *other.tpr])
    assert one.judged == pytest.approx(1 - other.judged)
    shares = [(each.passing.mean, each.mean.mean) for each in made.groups.values()]
    for name, (share, _) in zip(GROUPS, shares, strict=True):
        assert share + rest.groups[name].passing.mean == pytest.approx(1)
    # Among others like these, groups have shares that are drawn.
    whole = made.overall.passing.mean, made.overall.mean.mean
    assert np.mean(shares, axis=0) == pytest.approx(whole, abs=1e-9 if of == "these" else 0.01)
    for a, b in combinations(GROUPS, 2):
        there, back = made.difference(a, b), made.difference(b, a)
        np.testing.assert_allclose(there, -np.array(back)[[0, 2, 1]], atol=1e-12)
        for sign, turned in (("> 0", "< 0"), ("<= -0.5", ">= 0.5")):
            answers = [parse(f"{a} - {b} {sign}"), parse(f"{b} - {a} {turned}")]
            assert len({each.answer(made).answer for each in answers}) == 1
