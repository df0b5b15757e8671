"""What the commands are told: their arguments and options, each declared once."""

import csv
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cordial_ppl.errors import InputError

ENDING = ".cordial"
"""The ending of a calibrator's file."""


OWN_PRIOR = "own"
"""Stands for the prior in each channel's file."""


class Inference(StrEnum):
    """How posteriors are found."""

    DEFAULT = "default"
    LAPLACE = "laplace"
    MODE = "mode"
    NUTS = "nuts"


class Rule(StrEnum):
    """How a prior follows from the fits of other tasks."""

    CAUTIOUS = "cautious"
    PAPER = "paper"


class Engine(StrEnum):
    """Where predictions are made."""

    LOCAL = "local"
    RAY = "ray"


ReadingsPath = Annotated[
    Path,
    typer.Argument(
        metavar="READINGS",
        help="Table of readings (.csv, .parquet, .jsonl): item_id and one column an option, "
        "logit_..., logprob_..., p_... or n_... (or one column `rating`).",
    ),
]
ManyReadings = Annotated[
    Path,
    typer.Argument(
        metavar="READINGS",
        help="Table of readings, as `cordial fit` reads it, or a folder of Parquet files.",
    ),
]
Also = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="READINGS",
        help="A further table of readings, of other readers; may be repeated. A table without a "
        "column `reader` is of one, who goes by the file's name.",
    ),
]
LabelsPath = Annotated[
    Path,
    typer.Argument(
        metavar="LABELS",
        help="Table of labels: item_id and label, one row for each labelled text.",
    ),
]
CalibratorPath = Annotated[
    Path, typer.Argument(metavar="CALIBRATOR", help="A fitted calibrator, from `cordial fit`.")
]
CalibratorOut = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="CALIBRATOR", help=f"The calibrator to write ({ENDING})."
    ),
]
TableOut = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Table to write (.csv, .parquet, .jsonl): p_..., mean, its 90 % interval, label.",
    ),
]
READINGS_OUT = typer.Option(
    "--output", "-o", metavar="OUT", help="Table of readings (.csv, .parquet, .jsonl)."
)
ReadingsOut = Annotated[Path, READINGS_OUT]
ReadingsOrNot = Annotated[Path | None, READINGS_OUT]
Spelled = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION=TEXT",
        help="Another way in which the model writes an option, such as 1=A; may be repeated.",
    ),
]
After = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX", help="What the answer follows, where it cannot be found without."
    ),
]
Explain = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Show for N texts which tokens fed which option."),
]
Options = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="The options in the scale's order, such as 1,2,3,4,5; by default as in READINGS.",
    ),
]
Reader = Annotated[
    str | None, typer.Option(metavar="NAME", help="The reader to take, if there are several.")
]
Task = Annotated[
    str | None, typer.Option(metavar="NAME", help="The task to take, if there are several.")
]
Channels = Annotated[
    list[Path] | None,
    typer.Option(
        "--channel",
        metavar="PATH",
        help="A channel file to weigh in; may be repeated. The code in the file is run: use only "
        "files that you trust.",
    ),
]
PriorPath = Annotated[
    Path | None,
    typer.Option(
        "--prior",
        metavar="FILE",
        help="A prior learned from other tasks, as `cordial learn-prior` writes it, in place of "
        "the one that comes with the package; or the word `own`, for the one in each channel's "
        "file.",
    ),
]
PriorOf = Annotated[
    list[str] | None,
    typer.Option(
        "--prior-of",
        metavar="NAME=LOC,SCALE",
        help="The prior of one parameter: location and scale of an offset or bias itself, of the "
        "logarithm of what is positive (temperature, gain, concentration), of the log odds of a "
        "strength; may be repeated.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
Method = Annotated[Inference, typer.Option("--inference", help="How posteriors are found.")]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="This machine, or Ray, for Parquet that many machines see: OUT is then a folder.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]


@dataclass(frozen=True)
class Chosen:
    """What is read of the tables."""

    options: Options = None
    reader: Reader = None
    task: Task = None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the functions that read tables."""
        names = split_options(self.options)
        return {"options": names, "reader": self.reader, "task": self.task}


@dataclass(frozen=True)
class Fitting:
    """How a calibrator is fitted."""

    channel: Channels = None
    prior: PriorPath = None
    prior_of: PriorOf = None
    seed: Seed = 0
    inference: Method = Inference.DEFAULT

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of an estimator."""
        return {
            "channels": tuple(map(str, self.channel or ())),
            "prior": choose_prior(self.prior, self.prior_of),
            "seed": self.seed,
            "inference": self.inference.value,
        }

    @property
    def inputs(self) -> list[Path]:
        """The files that are read for it."""
        return [self.prior] if self.prior else []


@dataclass(frozen=True)
class Shown:
    """What is printed."""

    json: Json = False
    quiet: Quiet = False


def split_options(text: str | None) -> tuple[str, ...] | None:
    """Split "1,2,3" into the names of the options; a name with a comma stands in quotes.

    Args:
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
        raise InputError(f"--options must be names with commas between; found {text!r}.") from error
    return tuple(names)


def choose_prior(
    path: Path | None, named: list[str] | None
) -> Path | str | dict[str, tuple[float, float]] | None:
    """Read what --prior and --prior-of say.

    Args:
        path: File of a learned prior.
        named: Parameters with location and scale, "offset=0,0.5".

    Returns:
        What an estimator takes as its prior.

    Raises:
        InputError: Both are given, or the text is of another form.
    """
    if not named:
        own = path is not None and str(path) == OWN_PRIOR and not path.exists()
        return OWN_PRIOR if own else path
    if path is not None:
        raise InputError("--prior and --prior-of cannot be given together: choose one.")
    found: dict[str, tuple[float, float]] = {}
    for text in named:
        name, _, numbers = text.partition("=")
        try:
            loc, scale = map(float, numbers.split(","))
        except ValueError:
            raise InputError(
                f"--prior-of must be NAME=LOC,SCALE, such as offset=0,0.5; found {text!r}."
            ) from None
        if name.strip() in found:
            raise InputError(f"--prior-of names {name.strip()!r} twice.")
        found[name.strip()] = loc, scale
    return found
