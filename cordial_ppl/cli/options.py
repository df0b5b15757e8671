"""Arguments and options of the commands, each declared once."""

import csv
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

ENDING = ".cordial"
"""The ending of a calibrator's file."""

OWN_PRIOR = "own"
"""The value of --prior that chooses the prior in each channel's file."""


class Inference(StrEnum):
    """Methods of inference."""

    DEFAULT = "default"
    LAPLACE = "laplace"
    MODE = "mode"
    NUTS = "nuts"


class Rule(StrEnum):
    """Rules by which a prior follows from the fits of other tasks."""

    CAUTIOUS = "cautious"
    PAPER = "paper"


class Combination(StrEnum):
    """Rules for several labels of a text."""

    EACH = "each"
    MEAN = "mean"
    MEDIAN = "median"


class Rounding(StrEnum):
    """Rules for labels between options."""

    HALF_UP = "half-up"
    NEAREST_EVEN = "nearest-even"
    SPLIT = "split"


class Engine(StrEnum):
    """Machines on which predictions are made."""

    LOCAL = "local"
    RAY = "ray"


def argument(metavar: str, text: str) -> Any:
    """Declare an argument with its help."""
    return typer.Argument(metavar=metavar, help=text)


def option(metavar: str | None, text: str, *names: str, **rest: Any) -> Any:
    """Declare an option with its help; by default the parameter gives its name."""
    return typer.Option(*names, metavar=metavar, help=text, **rest)


def output(metavar: str, text: str) -> Any:
    """Declare the option that names the output."""
    return option(metavar, text, "--output", "-o")


ReadingsPath = Annotated[
    Path,
    argument(
        "READINGS",
        "Table of readings (.csv, .xlsx, .parquet, .jsonl): item_id and one column an option, "
        "logit_..., logprob_..., p_... or n_... (or one column `rating`).",
    ),
]
MANY = "Table of readings, as `cordial fit` reads it, or a folder of Parquet files."
ManyReadings = Annotated[Path, argument("READINGS", MANY)]
Also = Annotated[
    list[Path] | None,
    option(
        "READINGS",
        "A further table of readings, of other readers; may be repeated. A table without a "
        "column `reader` is of one reader, named after the file.",
    ),
]
LABELS = "Table of labels: item_id and label, one row for each labelled text."
LabelsPath = Annotated[Path, argument("LABELS", LABELS)]
CalibratorPath = Annotated[Path, argument("CALIBRATOR", "A fitted calibrator, from `cordial fit`.")]
CalibratorOut = Annotated[Path, output("CALIBRATOR", f"The calibrator to write ({ENDING}).")]
TABLE = "Table to write (.csv, .parquet, .jsonl): p_..., mean, its 90 % interval, label."
TableOut = Annotated[Path, output("OUT", TABLE)]
READINGS_OUT = output("OUT", "Table of readings (.csv, .parquet, .jsonl).")
ReadingsOut = Annotated[Path, READINGS_OUT]
ReadingsOrNot = Annotated[Path | None, READINGS_OUT]
SPELL = "Another way in which the model writes an option, such as 1=A; may be repeated."
Spelled = Annotated[list[str] | None, option("OPTION=TEXT", SPELL)]
AFTER = "What the answer follows, where it cannot be found without."
After = Annotated[str | None, option("REGEX", AFTER)]
EXPLAIN = "Show for N texts which tokens fed which option."
Explain = Annotated[int, option("N", EXPLAIN, min=0)]
OPTIONS = "The options in the scale's order, such as 1,2,3,4,5; by default as in READINGS."
Options = Annotated[str | None, option("A,B,...", OPTIONS)]
READER = "; with the column before, COLUMN=NAME, if it is not `reader`, or the column alone."
Reader = Annotated[str | None, option("NAME", f"The reader to take, if there are several{READER}")]
Readers = Annotated[list[str] | None, option("NAME", f"A reader to take; may be repeated{READER}")]
Task = Annotated[str | None, option("NAME", "The task to take, if there are several.")]
ID = "The column of the texts' ids, where it is not `item_id`; may be repeated for other tables."
Id = Annotated[list[str] | None, option("COLUMN", ID)]
LABEL = (
    "The column of labels, where it is not `label`; or one for each annotator, A,B,..., by default "
    "those that begin with `label_`."
)
ANNOTATOR = "The column that says whose a label is, where texts have several; else `annotator`."
COMBINE = "Several labels of a text: each is one of its labels, or their mean or median is."
ROUND = "Labels between options: 3.5 is rounded, or half a 3 and half a 4 (split)."
Channels = Annotated[
    list[Path] | None,
    option(
        "PATH",
        "A channel file to weigh in; may be repeated. The code in the file is run: use only "
        "files that you trust.",
        "--channel",
    ),
]
PriorPath = Annotated[
    Path | None,
    option(
        "FILE",
        "A prior learned from other tasks, as `cordial learn-prior` writes it, in place of the "
        "one that comes with the package; or the word `own`, for the one in each channel's file.",
        "--prior",
    ),
]
PriorOf = Annotated[
    list[str] | None,
    option(
        "NAME=LOC,SCALE",
        "The prior of one parameter: location and scale of an offset or bias itself, of the "
        "logarithm of what is positive (temperature, gain, concentration), of the log odds of a "
        "strength; may be repeated.",
        "--prior-of",
    ),
]
SEED = "Seed of all random numbers."
Seed = Annotated[int, option(None, SEED, min=0, max=2**32 - 1)]
Method = Annotated[Inference, option(None, "How posteriors are found.", "--inference")]
ENGINE = "local: this machine. ray: the cluster that RAY_ADDRESS names, or workers on this machine."
EngineName = Annotated[Engine, option(None, ENGINE, "--engine")]
Json = Annotated[bool, option(None, "Print the results as JSON, nothing else.", "--json")]
Quiet = Annotated[
    bool,
    option(None, "Print only warnings, errors, and a result that no file gets.", "--quiet", "-q"),
]


@dataclass(frozen=True)
class Chosen:
    """Choice of what is read from the tables."""

    options: Options = None
    reader: Reader = None
    task: Task = None
    id: Id = None

    @property
    def settings(self) -> dict[str, Any]:
        """Return arguments of the functions that read tables."""
        return {
            "options": split_options(self.options),
            "reader": self.reader,
            "task": self.task,
            "id": tuple(self.id or ()),
        }

    @property
    def typed(self) -> list[str]:
        """Return the options that were typed, as words of a command."""
        single = [(name, getattr(self, name)) for name in ("options", "reader", "task")]
        typed = [*single, *(("id", column) for column in self.id or ())]
        return [word for name, value in typed if value for word in (f"--{name}", value)]


@dataclass(frozen=True)
class Labelling:
    """Columns of labels, and rules by which they are taken."""

    label: Annotated[str | None, option("COLUMN", LABEL)] = None
    annotator: Annotated[str | None, option("COLUMN", ANNOTATOR)] = None
    annotators: Annotated[Combination, option(None, COMBINE)] = Combination.EACH
    round: Annotated[Rounding | None, option(None, ROUND)] = None

    @property
    def label_settings(self) -> dict[str, Any]:
        """Return arguments of the functions that read labels."""
        return {
            "label": split_names("--label", self.label) or (),
            "annotator": self.annotator,
            "annotators": self.annotators.value,
            "round": self.round and self.round.value,
        }


@dataclass(frozen=True, kw_only=True)
class LabelledTables(Labelling, Chosen):
    """Two tables, readings of all texts and labels of some, and what is read from them."""

    readings: ReadingsPath
    labels: LabelsPath

    @property
    def settings(self) -> dict[str, Any]:
        """Return arguments of `read_labelled`."""
        return super().settings | self.label_settings

    @property
    def inputs(self) -> list[Path]:
        """Return the files of the tables."""
        return [self.readings, self.labels]

    def read(self, **settings: Any) -> tuple[Any, Any, np.ndarray]:
        """Read both tables, as `read_labelled` does.

        Args:
            settings: Arguments that take the place of those of the command.

        Returns:
            The readings, the labels, and the rows of the labelled texts.

        Raises:
            InputError: A table is not as it must be, or they do not fit together.
        """
        from cordial_ppl.tables import read_labelled

        with doing("reading"):
            return read_labelled(self.readings, self.labels, **self.settings | settings)


@dataclass(frozen=True)
class Fitting:
    """Settings of a fit."""

    channel: Channels = None
    prior: PriorPath = None
    prior_of: PriorOf = None
    seed: Seed = 0
    inference: Method = Inference.DEFAULT

    @property
    def settings(self) -> dict[str, Any]:
        """Return settings of an estimator."""
        return {
            "channels": tuple(map(str, self.channel or ())),
            "prior": choose_prior(self.prior, self.prior_of),
            "seed": self.seed,
            "inference": self.inference.value,
        }

    @property
    def inputs(self) -> list[Path]:
        """Return the files that the fit reads."""
        return [self.prior] if self.prior else []


@dataclass(frozen=True)
class Shown:
    """Choice of what is printed."""

    json: Json = False
    quiet: Quiet = False


def split_options(text: str | None) -> tuple[str, ...] | None:
    """Split what --options names; see `split_names`."""
    return split_names("--options", text)


def split_names(option: str, text: str | None) -> tuple[str, ...] | None:
    """Split "1,2,3" into names; one with a comma stands in quotes.

    Args:
        option: What it was given for.
        text: What was given, or None.

    Returns:
        The names, or None.

    Raises:
        InputError: The quotes do not match.
    """
    if text is None:
        return None
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"{option} must be names with commas between; found {text!r}.") from error
    return tuple(names)


def choose_prior(path: Path | None, named: list[str] | None) -> Any:
    """Read --prior and --prior-of.

    Args:
        path: File of a learned prior.
        named: Parameters with location and scale, "offset=0,0.5".

    Returns:
        What an estimator takes as its prior.

    Raises:
        InputError: Both are given, or the text is of another form.
    """
    if not named:
        is_word = path is not None and str(path) == OWN_PRIOR and not path.exists()
        return OWN_PRIOR if is_word else path
    if path is not None:
        raise InputError("--prior and --prior-of cannot be given together: choose one.")
    priors: dict[str, tuple[float, float]] = {}
    for text in named:
        name, _, numbers = text.partition("=")
        try:
            loc, scale = map(float, numbers.split(","))
        except ValueError:
            raise InputError(
                f"--prior-of must be NAME=LOC,SCALE, such as offset=0,0.5; found {text!r}."
            ) from None
        if name.strip() in priors:
            raise InputError(f"--prior-of names {name.strip()!r} twice.")
        priors[name.strip()] = loc, scale
    return priors
