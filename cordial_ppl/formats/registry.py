"""The formats by name, and which one a file has."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import CordialError, FileError, InputError
from cordial_ppl.formats import (
    argilla,
    arrays,
    inspect_ai,
    label_studio,
    llama_cpp,
    lm_eval,
    openai,
    samples,
    vllm,
)
from cordial_ppl.formats.collector import Entry
from cordial_ppl.formats.rows import json_rows, looks_like_json, name_fields
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.files import read_columns

Reader = Callable[[Path], Iterator[Entry]]


class Format(NamedTuple):
    """A format of logs.

    Attributes:
        name: Its name, as `--from` takes it.
        words: Which tool writes it.
        recognises: Whether a file has it, told by its path and first JSON object, if it has one.
        read: The records of a file.
        remedy: How to have log-probabilities logged, if the tool can.
    """

    name: str
    words: str
    recognises: Callable[[Path, Mapping[str, Any] | None], bool]
    read: Reader
    remedy: str


def _guarded(read: Reader, words: str) -> Reader:
    """Turn what a reader stumbles over in a file of another form into a message."""

    def guarded(path: Path) -> Iterator[Entry]:
        number = 0
        try:
            for entry in read(path):
                yield entry
                number += 1
        except CordialError:
            raise
        except MemoryError as error:
            raise FileError(f"{path} is too large for the memory there is.") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # What Python says of it would help nobody.
            after = f" after {number} that are" if number else ""
            raise FileError(f"{path} is not as expected of {words}{after}.") from error
        except RecursionError as error:
            raise FileError(f"{path} is nested too deeply.") from error

    return guarded


FORMATS: dict[str, Format] = {
    name: Format(name, words, module.recognises, _guarded(module.read, words), remedy)
    for name, module, words, remedy in (
        (
            "openai",
            openai,
            "responses of servers that speak OpenAI's protocols, batch results",
            "logprobs=True, top_logprobs=20",
        ),
        ("vllm", vllm, "vLLM's offline outputs as dictionaries", "SamplingParams(logprobs=20)"),
        ("llama-cpp", llama_cpp, "llama.cpp's own completions", '"n_probs": 20'),
        ("lm-eval", lm_eval, "lm-evaluation-harness, --log_samples", "a multiple-choice task"),
        ("inspect", inspect_ai, "Inspect's logs, .eval and .json", "--logprobs --top-logprobs 20"),
        ("argilla", argilla, "Argilla's records: labels", ""),
        ("label-studio", label_studio, "Label Studio's JSON export: labels", ""),
        ("samples", samples, "sampled scores and hard ratings, JSON Lines or a table", ""),
        ("npz", arrays, "NumPy arrays", ""),
    )
}


def find_format(path: Path, name: str = "auto") -> Format:
    """Find out what format a file has.

    Args:
        path: The file.
        name: The format's name; "auto" to tell by the file.

    Returns:
        The format.

    Raises:
        FileError: The file cannot be read, or no format knows it.
        InputError: There is no such format.
    """
    if name != "auto":
        if name not in FORMATS:
            raise InputError(f"a format must be auto or {', '.join(FORMATS)}; found {name!r}.")
        return FORMATS[name]
    first = _first_row(path)
    if first is not None and sum(name.startswith(PREFIXES) for name in first) > 1:
        raise FileError(
            f"{path} is a table of readings already and needs no reading: give it to `cordial "
            "calibrate`."
        )
    for found in FORMATS.values():
        if found.recognises(path, first):
            return found
    if first is not None and samples.holds_texts(first):
        raise FileError(
            f"{path} is a table of texts, which nobody has read yet: `cordial ask {path} --model "
            "NAME`. If the words are a judge's answers, say so: --from samples."
        )
    shown = "it is not JSON"
    if first is not None:
        shown = f"its first object has {name_fields(first)}"
    raise FileError(
        f"{path} is no log that is known by its contents: {shown}. "
        f"Say what it is: --from {', '.join(FORMATS)}."
    )


def _first_row(path: Path) -> Mapping[str, Any] | None:
    """The first object of a JSON file, or row of a table; None if it is neither."""
    if path.suffix.lower() in samples.TABLES:
        return samples.first_row(read_columns(path))
    return next(json_rows(path)).value if looks_like_json(path) else None
