"""The file that describes a sweep: tasks, methods, numbers of labels, draws and the seed.

Everything in it is checked before anything is fitted; a message names the key that is at fault.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from cordial_ppl.errors import ChannelError, FileError, InputError, naming, quote
from cordial_ppl.priors.sources import OWN
from cordial_ppl.sweep.methods import METHODS, NINE, External, Method
from cordial_ppl.synthetic import TASKS

LARGEST_SEED = 2**31 - 1
LONGEST = 100
"""Characters of a name: tables, figures and folders bear it."""

Count = Annotated[int, Meta(ge=1, le=LARGEST_SEED)]
Text = Annotated[str, Meta(min_length=1, max_length=4096)]
Texts = Annotated[tuple[Text, ...], Meta(min_length=1)]
Tables = dict[Annotated[str, Meta(min_length=1, max_length=LONGEST, pattern=r"\S")], Any]
"""Tables by name, such as `[task.NAME]`."""


class _Task(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a table `[task.NAME]`.

    Attributes:
        benchmark: a task of the embedded benchmark, or None.
        readings: table of readings, or None.
        labels: table of labels, or None.
        task: the task to take from tables with several; `name` in the file.
        readers: the readers to take; None for all.
        options: the options in the scale's order; None as in the readings.
        report: number of labelled texts that methods are scored on; the others are the pool.
        covariates: columns of the readings that channels use.
    """

    benchmark: Text | None = None
    readings: Text | None = None
    labels: Text | None = None
    task: Text | None = msgspec.field(default=None, name="name")
    readers: Texts | None = None
    options: Texts | None = None
    report: Count = 1000
    covariates: Texts = ()


class TaskSource(_Task, frozen=True, kw_only=True):
    """Where the texts of a task come from: the embedded benchmark, or two tables.

    Attributes:
        name: what the results call the task.
    """

    name: str = msgspec.field(name="title")  # In the file, `name` is the task of the tables.


class SweepConfig(Struct, frozen=True, kw_only=True):
    """A sweep: every method, on every task and reader, from the same subsets of labels.

    Attributes:
        tasks: where their texts come from.
        methods: what is compared, in the order of tables.
        budgets: numbers of labels, ascending.
        draws: number of subsets for each of them.
        seed: seed of the subsets and fits.
    """

    tasks: tuple[TaskSource, ...]
    methods: tuple[Method | External, ...]
    budgets: tuple[int, ...]
    draws: int
    seed: int


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] = 0
    draws: Count = 20
    budgets: Annotated[tuple[Count, ...], Meta(min_length=1)] = (
        *(5, 10, 20, 50, 100, 200, 500, 1000, 2000),
    )
    methods: Texts | None = None
    task: Tables = {}
    method: Tables = {}
    external: Tables = {}


class _Variant(Struct, frozen=True, forbid_unknown_fields=True):
    base: Text | None = None
    inference: Text | None = None
    channels: Texts | None = None
    channel: Text | None = None
    prior: Text | dict[str, Any] | None = None
    weight_counts: dict[str, Any] | None = None


class _External(Struct, frozen=True, forbid_unknown_fields=True):
    probabilities: Text


def read_config(path: str | Path) -> SweepConfig:
    """Read and check a sweep's TOML file; paths in it are relative to it.

    Args:
        path: the file.

    Returns:
        The sweep.

    Raises:
        FileError: the file cannot be read or is not TOML.
        InputError: a key is unknown or missing, or its value cannot be used; the message names the
            key and says what is allowed.
    """
    path = Path(path)
    try:
        content = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FileError(f"{path} is not TOML: {error}.") from error
    with naming(str(path)):
        return parse_config(content, path.parent)


def parse_config(content: Mapping[str, Any], folder: Path = Path()) -> SweepConfig:
    """Check the content of a sweep's file; see `read_config`."""
    file = _convert(content, _File)
    if list(file.budgets) != sorted(set(file.budgets)):
        raise InputError(f"budgets must ascend, each once; got {list(file.budgets)}.")
    if not file.task:
        raise InputError("there is no task: add a table [task.NAME].")
    return SweepConfig(
        tasks=tuple(_task(name, table, folder) for name, table in file.task.items()),
        methods=_methods(file, folder),
        budgets=file.budgets,
        draws=file.draws,
        seed=file.seed,
    )


def _task(name: str, table: Any, folder: Path) -> TaskSource:
    key = f"task.{name}"
    source = TaskSource(name=name, **msgspec.structs.asdict(_convert(table, _Task, key)))
    for part in ("readers", "options", "covariates"):
        _unique(f"{key}.{part}", getattr(source, part) or ())
    if source.benchmark is None:
        if source.readings is None or source.labels is None:
            raise InputError(f"{key} needs benchmark, or both readings and labels.")
        paths = {part: str(folder / getattr(source, part)) for part in ("readings", "labels")}
        return msgspec.structs.replace(source, **paths)
    _one_of(f"{key}.benchmark", source.benchmark, tuple(TASKS))
    rest = [part for part in table if part not in ("benchmark", "readers")]
    if rest:
        raise InputError(f"{key}.{rest[0]}: a benchmark task takes only readers beside it.")
    return source


def _methods(file: _File, folder: Path) -> tuple[Method | External, ...]:
    named = file.methods
    if named is None:
        named = () if file.method or file.external else NINE
    choices = tuple(name for name in METHODS if name != "channel")
    for place, name in enumerate(named):
        hint = f" [method.{name}] adds itself: leave it out here." if name in file.method else ""
        _one_of(f"methods[{place}]", name, choices, hint)
    _unique("methods", named)
    variants = {
        name: _variant(name, f"method.{name}", table, folder) for name, table in file.method.items()
    }
    external = {
        name: External(name, folder / _convert(table, _External, f"external.{name}").probabilities)
        for name, table in file.external.items()
    }
    # Tables and figures show labels: two methods must not look alike.
    taken = {*METHODS, *(kind.label for kind in METHODS.values())}
    for key, name in [("method", name) for name in variants] + [("external", e) for e in external]:
        if name in taken:
            raise InputError(f"{key}.{name}: the name is taken; choose another.")
        taken.add(name)
    return (*(Method(name, name) for name in named), *variants.values(), *external.values())


def _variant(name: str, key: str, table: Any, folder: Path) -> Method:
    found = _convert(table, _Variant, key)
    base = found.base or ("channel" if found.channel else "cordial")
    _one_of(f"{key}.base", base, tuple(name for name, kind in METHODS.items() if kind.settings))
    given, allowed = msgspec.structs.asdict(found), METHODS[base].settings
    settings = {k: v for k, v in given.items() if k != "base" and v is not None}
    for part in settings:
        if part not in allowed:
            raise InputError(
                f"{key}.{part} is not a setting of {base}, which has {', '.join(allowed)}."
            )
    if found.channels:
        settings["channels"] = tuple(_channel(given, folder) for given in found.channels)
    if isinstance(found.prior, str) and found.prior != OWN:
        settings["prior"] = str(folder / found.prior)
    if base == "channel":
        if not found.channel:
            raise InputError(f"{key} needs channel, its name or the path of its file.")
        settings["channel"] = _channel(found.channel, folder)
    method = Method(name, base, settings)
    try:
        method.build(0)
    except (InputError, ChannelError) as error:
        raise InputError(f"{key}: {error}") from error
    return method


def _channel(given: str, folder: Path) -> str:
    """A channel's name as it is; a path relative to the folder."""
    return str(folder / given) if given.endswith(".py") else given


def _one_of(key: str, value: str, allowed: tuple[str, ...], hint: str = "") -> None:
    if value not in allowed:
        raise InputError(f"{key} must be one of {', '.join(allowed)}; got {quote(value)}.{hint}")


def _unique(key: str, values: tuple[str, ...]) -> None:
    doubled = [value for value in values if values.count(value) > 1]
    if doubled:
        raise InputError(f"{key} names {quote(doubled[0])} more than once.")


def _convert[Kind: Struct](value: Any, kind: type[Kind], key: str = "") -> Kind:
    """Check a table against its type; a message names the key and says what came."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at ")
        place = (key + path.rpartition("$")[2]).removeprefix(".")
        if path.startswith("key in"):
            message = f"{place}: a {place} needs a name of 1 to {LONGEST} characters."
            raise InputError(message) from error
        for part in re.findall(r"\w+", path):
            value = value[int(part) if isinstance(value, list) else part]
        if problem.startswith("Object"):
            allowed = ", ".join(kind.__struct_encode_fields__)
            fault = "needs the key" if "missing" in problem else "has the unknown key"
            name = problem.rpartition(" ")[2][:LONGEST]
            raise InputError(
                f"{place or 'the file'} {fault} {name}; its keys are {allowed}."
            ) from error
        words = {"array": "list", "object": "table", "str": "text"}
        expected = problem.partition(", got ")[0].removeprefix("Expected ").removesuffix(" | null")
        for word, plain in words.items():
            expected = re.sub(rf"\b{word}\b", plain, expected)
        raise InputError(f"{place}: expected {expected}; got {quote(value)}.") from error
