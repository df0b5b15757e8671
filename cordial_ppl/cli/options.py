"""Options that several commands have: types of single ones, and records of those that go together.

A type says how an option is typed, what its value is called in the help, and its group. Fields of a
record have their line of help below them.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token, validators

import cordial_ppl as cp
from cordial_ppl.errors import InputError, SettingsClash
from cordial_ppl.runtime.outputs import check_writable
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.tables import LabelledReadings, LabelTable

FILES = Group("Files", sort_key=0)
COLUMNS = Group("Columns", sort_key=1)
MODEL = Group("Model", sort_key=2)
OUTPUT = Group("Output", sort_key=3)
ADVANCED = Group("Advanced", sort_key=4)


class Output(Path):
    """A file that a command writes, which is checked before the command runs."""


def split_pairs[T](
    option: str, texts: Iterable[str], form: str, read: Callable[[str], T]
) -> list[tuple[str, T]]:
    """Split "NAME=VALUE", once for each time that an option is given.

    Args:
        option: The option.
        texts: Its values.
        form: How each must be, for the message.
        read: Reads what stands behind the sign; it raises a ValueError if that has another form.

    Raises:
        InputError: A text has another form.
    """
    pairs = []
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        with suppress(ValueError):
            if name and value:
                pairs.append((name, read(value)))
                continue
        raise InputError(f"{option} must be {form}; found {text!r}.")
    return pairs


def _read_names(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names with commas between, listed once or several times; in quotes, a comma is part."""
    try:
        rows = csv.reader([each.value for each in tokens], skipinitialspace=True, strict=True)
        return tuple(name for row in rows for name in row)
    except csv.Error as error:
        raise ValueError(f"expected names separated by commas ({error}).") from error


def option(help: str, metavar: str | None = None, group: Group | None = None) -> Parameter:
    """Declare an option by its line of help, what its value is called, and its group."""
    more: dict[str, Any] = {"metavar": metavar, "group": group}
    return Parameter(help=help, **{name: value for name, value in more.items() if value})


def whole(least: int, most: int = 2**32 - 1) -> Parameter:
    """Declare an option that is a whole number."""
    ends = validators.Number(gte=least, lte=most)
    return Parameter(metavar="N", converter=lambda _, tokens: int(tokens[0].value), validator=ends)


def listing(metavar: str, **more: Any) -> Parameter:
    """Declare an option that lists names, such as 1,2,3 or -1,0,1."""
    return Parameter(
        metavar=metavar, converter=_read_names, n_tokens=1, allow_leading_hyphen=True, **more
    )


def ending(*endings: str) -> Parameter:
    """Declare a file to write by the endings that its name may have."""
    return Parameter(validator=lambda _, path: path and check_writable(path, endings=endings))


COLUMN = Parameter(metavar="COLUMN", group=COLUMNS)
FILE = Parameter(metavar="FILE", group=FILES)
Out = Parameter(metavar="OUT", alias="-o", group=FILES)
TABLE = "(.csv, .parquet, .jsonl)"
LAYOUT = "Table with item_id and either `rating` or columns p_..., logit_..., logprob_... or n_..."
PREDICTED = option(f"Table to write {TABLE}: probabilities, mean with interval, predicted label.")
TABLE_OUT = option(f"Table of readings to write {TABLE}.")
CHANNEL = option("Channel file to add. Its code is run, so use only trusted files.", "PATH", MODEL)
SPELLING = option("Read TEXT as OPTION, as in 1=A; may be repeated.", "OPTION=TEXT", ADVANCED)
METHOD = option("Inference: laplace (as in the paper), mode, or nuts (slow).", "METHOD", ADVANCED)

List = Annotated[tuple[str, ...], listing("A,B,...")]
Names = Annotated[tuple[str, ...] | None, listing("A,B,...")]
Some = Annotated[Sequence[str], Parameter(metavar="NAME")]
Column = Annotated[str | None, COLUMN]
Number = Annotated[int, whole(1)]
Natural = Annotated[int, whole(0)]
Given = Annotated[Path, Parameter(group=FILES)]
Readings = Annotated[Path, option(LAYOUT, group=FILES)]
Calibrator = Annotated[Path, option("Calibrator written by `cordial fit`.", group=FILES)]
File = Annotated[Path | None, FILE]
Written = Annotated[Output, ending(".csv", ".parquet", ".jsonl", ".ndjson")]
TableOut = Annotated[Written, Out]
PredictedOut = Annotated[Written, Out, PREDICTED]
CalibratorOut = Annotated[Output, ending(".cordial"), Out]
Saved = Annotated[Output | None, ending(".cordial"), FILE]
Figure = Annotated[Output | None, ending(".svg", ".png", ".pdf"), FILE]
Also = Annotated[Sequence[Path], Parameter(metavar="READINGS", group=FILES)]
Channels = Annotated[Sequence[Path], CHANNEL]
Seed = Annotated[Natural, option("Seed of the random number generator.", group=MODEL)]
Level = Annotated[float, option("Coverage of the intervals.", "P", MODEL)]
Engine = Annotated[Literal["local", "ray"], Parameter(metavar="ENGINE", group=ADVANCED)]
Spellings = Annotated[Sequence[str], SPELLING]
Inference = Annotated[Literal["default", "laplace", "mode", "nuts"], METHOD]
Rule = Parameter(metavar="RULE", group=ADVANCED)
Rounding = Annotated[Literal["half-up", "nearest-even", "split"] | None, Rule]


@dataclass(frozen=True)
class Files:
    """Two tables, readings of all texts and labels of some, or one table of both."""

    readings: Readings
    labels: Given = Path()
    "Table of labels with columns item_id and label, one row per label; by default, READINGS."

    def __post_init__(self) -> None:
        """Take the labels from READINGS if no other table is passed."""
        if self.labels == Path():
            object.__setattr__(self, "labels", self.readings)


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Choice of what is read from tables: arguments of functions that read readings."""

    options: Names = None
    "Options from worst to best, such as 1,2,3,4,5; by default, those of the table or calibrator."
    reader: Annotated[str | None, Parameter(metavar="NAME")] = None
    "Judge to use if the `reader` column has several; COLUMN=NAME uses another column instead."
    task: Annotated[str | None, Parameter(metavar="NAME")] = None
    "Task to use from the `task` column; COLUMN=NAME uses another column instead."
    id: Annotated[Sequence[str], Parameter(metavar="COLUMN")] = ()
    "Column that identifies each text, if not `item_id`; A,B joins the columns A and B into one id."
    rating: Column = None
    "Column with the judge's ratings, one per text; requires --options."
    reverse: bool = False
    "Reverse the judge's scale if it runs in the opposite direction to the labels' scale."
    rating_range: Annotated[tuple[str, ...] | None, listing("WORST,BEST")] = None
    "Judge's worst and best possible ratings, such as 0,100, if the labels use a different scale."
    keep_form: Annotated[bool, Parameter(group=OUTPUT)] = False
    "Write CSV files in the format of READINGS: same separator, decimal mark and id column."
    round: Rounding = None
    "How to round values between two options: half-up, nearest-even, or split (a share to each)."


@dataclass(frozen=True, kw_only=True)
class BothColumns(Columns):
    """Choice of what is read from readings and labels: arguments of `read_labelled`."""

    label: Annotated[tuple[str, ...], listing("COLUMN,...")] = ()
    "Column of labels, if not `label`; list several columns if there is one per annotator."
    annotator: Column = None
    "Column that names the annotator, if not `annotator`."
    annotators: Annotated[Literal["each", "mean", "median"], Rule] = "each"
    "How to use several labels for one text: each label (the default), their mean, or their median."

    def keep_each(self, name: str) -> None:
        """Refuse --annotators mean or median, where a command needs each person's labels.

        Args:
            name: The command, such as "agree".

        Raises:
            InputError: The labels of a text would be merged.
        """
        if self.annotators != "each":
            raise InputError(f"`cordial {name}` compares people. Use --annotators each.")


@dataclass(frozen=True, kw_only=True)
class Tables(BothColumns, Files):
    """Two tables and what is read from them: arguments of `read_labelled`."""

    def read(self, **settings: Any) -> "LabelledReadings":
        """Read both tables.

        Args:
            settings: Arguments that take the place of those of the command.

        Returns:
            The readings of all texts, and the labels.

        Raises:
            InputError: A table is not as it must be, or they do not fit together.
        """
        from cordial_ppl.tables import read_labelled

        chosen = {field.name: getattr(self, field.name) for field in fields(Tables)}
        with doing("reading"):
            return read_labelled(**(chosen | settings))


@dataclass(frozen=True, kw_only=True)
class Fitting(Tables):
    """Two tables, and settings of a fit to them."""

    channel: Channels = ()
    prior: Annotated[Path | None, Parameter(metavar="FILE", group=MODEL)] = None
    "Prior file from `cordial learn-prior`, or `own` for the priors in the channels' code."
    seed: Seed = 0
    inference: Inference = "default"
    prior_of: Annotated[Sequence[str], Parameter(metavar="NAME=LOC,SCALE", group=ADVANCED)] = ()
    "Normal prior for a parameter (log scale for positive parameters, log-odds scale for shares)."
    judge: Annotated[str | None, Parameter(metavar="NAME", group=MODEL)] = None
    "Judge or model of READINGS, which must not name another or, with --require, lack a name."
    prompt_file: Annotated[Path | None, Parameter(metavar="FILE", group=MODEL)] = None
    "Prompt or rubric used for READINGS. The command fails if READINGS names a different prompt."

    @property
    def settings(self) -> dict[str, Any]:
        """Return settings of an estimator.

        Raises:
            SettingsClash: The prior is given twice.
            InputError: The text of --prior-of has another form.
        """
        prior: Any = self.prior and str(self.prior)
        if self.prior_of:
            if prior:
                raise SettingsClash("prior", "prior_of")
            form = "NAME=LOC,SCALE, such as offset=0,0.5"
            prior = dict(split_pairs("--prior-of", self.prior_of, form, _read_normal))
        settings = {"inference": self.inference, "seed": self.seed, "prior": prior}
        return settings | {"channels": tuple(map(str, self.channel))}

    def identify(self, read: "LabelledReadings", required: bool = False) -> dict[str, list[str]]:
        """Collect what a calibrator is for; arguments and errors are those of `tables.identify`."""
        from cordial_ppl.tables import identify

        stated = {} if self.judge is None else {"judge": (repr(self.judge), [self.judge])}
        if (path := self.prompt_file) is not None:
            stated["prompt"] = f"from {path}", _digest_prompt(path, read.readings.scale)
        return identify(read, stated, required)

    def fit(self, read: "LabelledReadings", *, required: bool = False) -> Any:
        """Fit a calibrator on labelled texts; it keeps what later readings must be like.

        Args:
            read: The readings of all texts, and the labels.
            required: Whether READINGS have to say their judge and prompt, where these are named.

        Raises:
            InputError: The labels, the readings or the covariates do not allow this fit.
            ChannelError: A file's model breaks the contract of a channel.
        """
        from cordial_ppl.estimators.task_tables import take_labelled

        provenance = self.identify(read, required)
        calibrator = cp.Cordial(read.readings.scale, **self.settings)
        calibrator.fit(**take_labelled(read, self.channel), corpus=read.readings.logits)
        calibrator.fit_ = replace(calibrator.fit_, provenance=provenance)
        return calibrator


def _digest_prompt(path: Path, scale: Any) -> list[str]:
    """List how tables write a prompt: by a digest of its text, of its file or of `cordial ask`."""
    from cordial_ppl.logs.ask.prompt import Prompt, read_template
    from cordial_ppl.tables.provenance import digest

    text = read_template(path)
    whole = sha256(path.read_bytes()).hexdigest()
    digests = [digest(text), whole, whole[:12]]
    with suppress(InputError):  # A rubric has no fields, and few prompts have several orders.
        for orders in range(1, scale.size + 1):
            digests.append(Prompt(scale, text, orders).digest)
    return [*digests, text.strip()]


def list_groups(read: "LabelledReadings") -> dict[str, list[str]]:
    """List what may name groups of the labelled texts, by column of both tables.

    A column of three options or more is of another judge's or person's ratings; what begins with
    "label" is of labels.
    """
    from cordial_ppl.tables import list_cells

    table, labels, rows = read
    groups = list_cells(labels.columns, range(len(rows))) | list_cells(table.columns, rows.tolist())

    def are_ratings(cells: set[str]) -> bool:
        return len(cells) > 2 and all(table.scale.named(cell) is not None for cell in cells)

    return {k: v for k, v in groups.items() if k[:5] != "label" and not are_ratings({*v} - {""})}


def refuse_split(labels: "LabelTable", name: str) -> None:
    """Refuse labels that --round split has divided, where a command needs whole ones.

    Args:
        labels: The labels.
        name: The command, such as "agree".

    Raises:
        InputError: A person has two labels for a text.
    """
    items = labels.item_ids
    if len({*zip(items, labels.annotators or items, strict=True)}) < len(items):
        raise InputError(f"`cordial {name}` cannot use --round split. Use half-up or nearest-even.")


def _read_normal(text: str) -> tuple[float, float]:
    """Read location and scale."""
    loc, scale = map(float, text.split(","))
    return loc, scale
