"""The file that describes a sweep: tasks, methods, numbers of labels, draws and the seed.

Everything in it is checked before anything is fitted; a message names the key that is at fault.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from cordial_ppl.errors import ChannelError, FileError, InputError, as_path, naming, quote
from cordial_ppl.evaluation.sweep.methods import METHODS, NINE, External, Method
from cordial_ppl.evaluation.synthetic import TASKS
from cordial_ppl.inference.priors.sources import OWN

LARGEST_NUMBER = 2**31 - 1

WORDS = {
    "Object contains unknown field": "unknown key",
    "Object missing required field": "missing key",
    **{"Expected": "expected", "array": "list", "object": "table"},
}
"""Words of msgspec's messages, and those of TOML in their place."""

Count = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
String = Annotated[str, Meta(min_length=1, max_length=4096)]
Strings = Annotated[tuple[String, ...], Meta(min_length=1)]


class TaskSource(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the texts of a task come from: the built-in benchmark, or two tables.

    Attributes:
        benchmark: a task of the benchmark, or None.
        readings: table of readings, or None.
        labels: table of labels, or None.
        task: the task to take from tables with several; `name` in the file.
        readers: the readers to take; None for all.
        options: the options in the scale's order; None as in the readings.
        report: number of labelled texts that methods are scored on; the others are the pool.
        covariates: columns of the readings that channels use.
        id: names of the column `item_id` in either table.
        label: column of labels, or one for each annotator.
        annotator: column that names annotators.
        annotators: one label per text of those of several, "mean" or "median".
        round: how labels between options are rounded, "half-up" or "nearest-even".
    """

    benchmark: String | None = None
    readings: String | None = None
    labels: String | None = None
    task: String | None = msgspec.field(default=None, name="name")
    readers: Strings | None = None
    options: Strings | None = None
    report: Count = 1000
    covariates: Strings = ()
    id: Strings = ()
    label: Strings = ()
    annotator: String | None = None
    annotators: Literal["each", "mean", "median"] = "each"
    round: Literal["half-up", "nearest-even"] | None = None


class SweepConfig(Struct, frozen=True, kw_only=True):
    """A sweep: every method, on every task and reader, from the same subsets of labels.

    Attributes:
        tasks: where their texts come from, by name.
        methods: what is compared, in the order of tables.
        budgets: numbers of labels, ascending.
        draws: number of subsets for each of them.
        seed: seed of the subsets and fits.
    """

    tasks: dict[str, TaskSource]
    methods: tuple[Method | External, ...]
    budgets: tuple[int, ...]
    draws: int
    seed: int


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    seed: Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)] = 0
    draws: Count = 20
    budgets: Annotated[tuple[Count, ...], Meta(min_length=1)] = (
        *(5, 10, 20, 50, 100, 200, 500, 1000, 2000),
    )
    methods: Strings | None = None
    task: dict[String, Any] = {}
    method: dict[String, Any] = {}
    external: dict[String, Any] = {}


class _Variant(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    base: String | None = None
    inference: String | None = None
    channels: Strings | None = None
    channel: String | None = None
    prior: String | dict[str, Any] | None = None
    weight_counts: dict[str, Any] | None = None


class _External(Struct, frozen=True, forbid_unknown_fields=True):
    probabilities: String


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
    path = as_path(path)
    try:
        content = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise FileError(f"{path} is not TOML: {error}.") from error
    with naming(path):
        return parse_config(content, path.parent)


def parse_config(content: Mapping[str, Any], folder: Path = Path()) -> SweepConfig:
    """Check the content of a sweep's file; see `read_config`."""
    file = _convert(content, _File)
    if list(file.budgets) != sorted(set(file.budgets)):
        raise InputError(f"budgets must ascend, each once; got {list(file.budgets)}.")
    if not file.task:
        raise InputError("there is no task: add a table [task.NAME].")
    return SweepConfig(
        tasks={name: _task(f"task.{name}", table, folder) for name, table in file.task.items()},
        methods=_methods(file, folder),
        budgets=file.budgets,
        draws=file.draws,
        seed=file.seed,
    )


def _task(key: str, table: Any, folder: Path) -> TaskSource:
    source = _convert(table, TaskSource, key)
    _check_unique(f"{key}.readers", source.readers or ())
    if source.benchmark is not None:
        _check_one_of(f"{key}.benchmark", source.benchmark, TASKS)
        for part in table:
            if part not in ("benchmark", "readers"):
                raise InputError(f"{key}.{part}: a benchmark task takes no key but readers.")
        return source
    if source.readings is None or source.labels is None:
        raise InputError(f"{key} needs benchmark, or both readings and labels.")
    paths = {part: str(folder / getattr(source, part)) for part in ("readings", "labels")}
    return msgspec.structs.replace(source, **paths)


def _methods(file: _File, folder: Path) -> tuple[Method | External, ...]:
    named = file.methods
    if named is None:
        named = () if file.method or file.external else NINE
    choices = [name for name in METHODS if name != "channel"]
    hint = " A channel file is allowed too; a table [method.NAME] needs no entry here."
    listed: list[Method] = []
    for index, name in enumerate(named):
        key = f"methods[{index}]"
        if name.endswith(".py"):
            listed.append(_variant(Path(name).stem, {"channel": name}, folder, key))
        else:
            _check_one_of(key, name, choices, hint)
            listed.append(Method(name, name))
    _check_unique("methods", named)
    further: list[Method | External] = [
        *(_variant(name, t, folder, f"method.{name}") for name, t in file.method.items()),
        *(
            External(name, folder / _convert(table, _External, f"external.{name}").probabilities)
            for name, table in file.external.items()
        ),
    ]
    # Tables and figures show labels: two methods must not look alike.
    taken = {*METHODS, *(kind.label for kind in METHODS.values())}
    for method in (*(method for method in listed if method.settings), *further):
        if method.name in taken:
            table = "method" if isinstance(method, Method) else "external"
            raise InputError(f"{table}.{method.name}: the name is taken; choose another.")
        taken.add(method.name)
    return (*listed, *further)


def _variant(name: str, table: Any, folder: Path, key: str) -> Method:
    settings = msgspec.to_builtins(_convert(table, _Variant, key))
    base = settings.pop("base", "channel" if "channel" in settings else "cordial")
    _check_one_of(f"{key}.base", base, [name for name, kind in METHODS.items() if kind.settings])
    for part in settings:
        _check_one_of(f"{key}: a setting of {base}", part, METHODS[base].settings)
    if base == "channel" and "channel" not in settings:
        raise InputError(f"{key} needs the key channel: a name, or the path of a file.")

    def locate(channel: str) -> str:
        return str(folder / channel) if channel.endswith(".py") else channel

    if "channel" in settings:
        settings["channel"] = locate(settings["channel"])
    if "channels" in settings:
        settings["channels"] = tuple(map(locate, settings["channels"]))
    if isinstance(prior := settings.get("prior"), str) and prior != OWN:
        settings["prior"] = str(folder / prior)
    method = Method(name, base, settings)
    try:
        method.build(0)
    except (InputError, ChannelError) as error:
        raise InputError(f"{key}: {error}") from error
    return method


def _check_one_of(key: str, value: str, allowed: Any, hint: str = "") -> None:
    if value not in allowed:
        raise InputError(f"{key} must be one of {', '.join(allowed)}; got {quote(value)}.{hint}")


def _check_unique(key: str, values: tuple[str, ...]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"{key} names {quote(value)} more than once.")


def _convert[Kind: Struct](table: Any, kind: type[Kind], key: str = "") -> Kind:
    """Check a table against its type; a message names the key and says what came."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at ")
        path, value = path.rpartition("$")[2], table
        for part in re.findall(r"\w+", path):
            value = value[int(part) if isinstance(value, list) else part]
        location = (key + path).removeprefix(".") or "the file"
        for word, toml in WORDS.items():
            problem = problem.replace(word, toml)
        expected = problem.partition(", got ")[0].removesuffix(" | null")
        keys = f"; its keys are {', '.join(kind.__struct_encode_fields__)}"
        came = f"; got {quote(value)}" if expected.startswith("expected") else keys
        raise InputError(f"{location}: {expected}{came}.") from error
