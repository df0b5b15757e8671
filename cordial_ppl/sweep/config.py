"""The file that describes a sweep: tasks, methods, numbers of labels, draws and the seed.

Everything in it is checked before anything is fitted; a message names the key that is at fault.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cordial_ppl.errors import ChannelError, FileError, InputError, quote
from cordial_ppl.priors.sources import OWN
from cordial_ppl.sweep.methods import LABELS, METHODS, NINE, SETTINGS, External, Method
from cordial_ppl.synthetic import TASKS

BUDGETS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
DRAWS = 20
LARGEST_SEED = 2**31 - 1
LONGEST = 100
"""Characters of a name: tables, figures and folders bear it."""
LONGEST_PATH = 4096

KEYS = ("seed", "draws", "budgets", "methods", "task", "method", "external")
TASK_KEYS = (
    "benchmark",
    "readings",
    "labels",
    "name",
    "readers",
    "options",
    "report",
    "covariates",
)


@dataclass(frozen=True)
class TaskSource:
    """Where the texts of a task come from: the embedded benchmark, or two tables.

    Attributes:
        name: what the results call the task.
        benchmark: a task of the embedded benchmark, or None.
        readings: table of readings, or None.
        labels: table of labels, or None.
        task: the task to take of tables with several.
        readers: the readers to take; None for all.
        options: the options in the scale's order; None as in the readings.
        report: number of labelled texts that methods are scored on; the others are the pool.
        covariates: columns of the readings that channels use.
    """

    name: str
    benchmark: str | None = None
    readings: Path | None = None
    labels: Path | None = None
    task: str | None = None
    readers: tuple[str, ...] | None = None
    options: tuple[str, ...] | None = None
    report: int = 1000
    covariates: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepConfig:
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
    budgets: tuple[int, ...] = BUDGETS
    draws: int = DRAWS
    seed: int = 0


def read_config(path: str | Path) -> SweepConfig:
    """Read and check a sweep's TOML file; paths in it are relative to it.

    Args:
        path: the file.

    Returns:
        The sweep.

    Raises:
        FileError: the file cannot be read or is no TOML.
        InputError: a key is unknown or missing, or its value cannot be used; the message names the
            key and says what is allowed.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(f"{path} is not TOML: {error}.") from error
    except ValueError as error:  # No name of a file, or a number of thousands of digits.
        raise FileError(f"cannot read {path}: {error}.") from error
    try:
        return parse_config(content, path.parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def parse_config(content: Mapping[str, Any], folder: Path = Path()) -> SweepConfig:
    """Check the content of a sweep's file; see `read_config`."""
    _known("", content, KEYS)
    budgets = _numbers(content, "budgets", BUDGETS)
    if list(budgets) != sorted(set(budgets)):
        raise InputError(f"budgets must ascend, each once; got {list(budgets)}.")
    for kind in ("task", "method", "external"):
        for name in _table(content.get(kind, {}), kind):
            if not name.strip() or len(name) > LONGEST:
                raise InputError(
                    f"{kind}: a {kind} must have a name of at most {LONGEST} characters; got "
                    f"{quote(name)}."
                )
    tasks = tuple(
        _task(name, _table(table, f"task.{name}"), folder)
        for name, table in _table(content.get("task", {}), "task").items()
    )
    if not tasks:
        raise InputError("there is no task: add a table [task.NAME].")
    return SweepConfig(
        tasks=tasks,
        methods=_methods(content, folder),
        budgets=budgets,
        draws=_number(content, "draws", DRAWS, 1),
        seed=_number(content, "seed", 0, 0),
    )


def _task(name: str, table: Mapping[str, Any], folder: Path) -> TaskSource:
    key = f"task.{name}"
    _known(key, table, TASK_KEYS)
    benchmark = _text(table, key, "benchmark")
    readings, labels = (_path(table, key, part, folder) for part in ("readings", "labels"))
    if benchmark is not None:
        if benchmark not in TASKS:
            raise InputError(
                f"{key}.benchmark must be one of {', '.join(TASKS)}; got {quote(benchmark)}."
            )
        rest = [part for part in table if part not in ("benchmark", "readers")]
        if rest:
            raise InputError(f"{key}.{rest[0]}: a benchmark task takes only readers beside it.")
    elif readings is None or labels is None:
        raise InputError(f"{key} needs benchmark, or both readings and labels.")
    return TaskSource(
        name=name,
        benchmark=benchmark,
        readings=readings,
        labels=labels,
        task=_text(table, key, "name"),
        readers=_texts(table, key, "readers"),
        options=_texts(table, key, "options"),
        report=_number(table, "report", TaskSource.report, 1, f"{key}."),
        covariates=_texts(table, key, "covariates") or (),
    )


def _methods(content: Mapping[str, Any], folder: Path) -> tuple[Method | External, ...]:
    own = _table(content.get("method", {}), "method")
    external = _table(content.get("external", {}), "external")
    named = _texts(content, "", "methods")
    if named is None:
        named = () if own or external else NINE
    choices = [name for name in METHODS if name != "channel"]
    found: dict[str, Method | External] = {}
    for place, name in enumerate(named):
        if name not in choices:
            hint = f" [method.{name}] adds itself: leave it out here." if name in own else ""
            raise InputError(
                f"methods[{place}] must be one of {', '.join(choices)}; got {quote(name)}.{hint}"
            )
        if name in found:
            raise InputError(f"methods[{place}] names {name!r} again: each may occur once.")
        found[name] = Method(name, name)
    for name, table in own.items():
        key = f"method.{name}"
        _new(key, name, found)
        found[name] = _variant(key, name, _table(table, key), folder)
    for name, table in external.items():
        key = f"external.{name}"
        _new(key, name, found)
        _known(key, _table(table, key), ("probabilities",))
        path = _path(table, key, "probabilities", folder)
        if path is None:
            raise InputError(f"{key} needs probabilities, the table that was made elsewhere.")
        found[name] = External(name, path)
    if not found:
        raise InputError("methods must name at least one method.")
    return tuple(found.values())


def _variant(key: str, name: str, table: Mapping[str, Any], folder: Path) -> Method:
    base = _text(table, key, "base") or ("channel" if "channel" in table else "cordial")
    if base not in SETTINGS:
        raise InputError(f"{key}.base must be one of {', '.join(SETTINGS)}; got {quote(base)}.")
    _known(key, table, ("base", *SETTINGS[base]))
    settings: dict[str, Any] = {part: value for part, value in table.items() if part != "base"}
    if "channels" in settings:
        given = _texts(table, key, "channels") or ()
        settings["channels"] = tuple(_channel(channel, folder) for channel in given)
    if isinstance(settings.get("prior"), str) and settings["prior"] != OWN:
        settings["prior"] = str(_path(table, key, "prior", folder))
    if "weight_counts" in settings:
        _table(settings["weight_counts"], f"{key}.weight_counts")
    if base == "channel":
        channel = _text(table, key, "channel")
        if channel is None:
            raise InputError(f"{key} needs channel, its name or the path of its file.")
        settings["channel"] = _channel(channel, folder)
    method = Method(name, base, settings)
    try:
        method.build(0)
    except (InputError, ChannelError) as error:
        raise InputError(f"{key}: {error}") from error
    return method


def _channel(given: str, folder: Path) -> str:
    """A channel's name as it is; a path relative to the folder."""
    return str(folder / given) if given.endswith(".py") else given


def _new(key: str, name: str, found: Mapping[str, Any]) -> None:
    # Tables and figures show labels: two methods must not look alike.
    if name in found or name in METHODS or name in LABELS.values():
        raise InputError(f"{key}: the name is taken; a variant needs one of its own.")


def _known(key: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for name in table:
        if name not in allowed:
            place = f"{key}.{name}" if key else name
            raise InputError(f"{place[:LONGEST]} is not a key; allowed are {', '.join(allowed)}.")


def _table(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{key} must be a table, [{key}]; got {quote(value)}.")
    return value


def _number(table: Mapping[str, Any], name: str, default: int, least: int, key: str = "") -> int:
    value = table.get(name, default)
    if type(value) is not int or not least <= value <= LARGEST_SEED:
        limits = f"{least} to {LARGEST_SEED}"
        raise InputError(f"{key}{name} must be a whole number from {limits}; got {quote(value)}.")
    return value


def _numbers(table: Mapping[str, Any], name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    values = table.get(name, list(default))
    if not isinstance(values, list) or not values:
        raise InputError(f"{name} must be a list of whole numbers; got {quote(values)}.")
    return tuple(_number({f"{name}[{i}]": v}, f"{name}[{i}]", 0, 1) for i, v in enumerate(values))


def _text(table: Mapping[str, Any], key: str, name: str) -> str | None:
    value = table.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise InputError(f"{key}.{name} must be text in quotes; got {quote(value)}.")
    return value


def _texts(table: Mapping[str, Any], key: str, name: str) -> tuple[str, ...] | None:
    values, place = table.get(name), f"{key}.{name}" if key else name
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values):
        raise InputError(f"{place} must be a list of texts in quotes; got {quote(values)}.")
    doubled = [value for value in values if values.count(value) > 1]
    if doubled and name != "methods":
        raise InputError(f"{place} names {quote(doubled[0])} more than once.")
    if not values:
        raise InputError(f"{place} must not be empty.")
    return tuple(values)


def _path(table: Mapping[str, Any], key: str, name: str, folder: Path) -> Path | None:
    given = _text(table, key, name)
    if given is not None and len(given) > LONGEST_PATH:
        raise InputError(f"{key}.{name} must be the path of a file; got {quote(given)}.")
    return None if given is None else folder / given
