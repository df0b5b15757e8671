"""The formats by name, and which one a file has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import CordialError, FileError, InputError
from cordial_ppl.formats import (
    annotations,
    arrays,
    inspect_ai,
    llama_cpp,
    lm_eval,
    openai,
    samples,
    vllm,
)
from cordial_ppl.formats.evidence import Entry
from cordial_ppl.formats.rows import json_rows, looks_like_json, name_fields
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.files import read_columns

STUMBLES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a reader raises over a file of another form."""


class Format(NamedTuple):
    """A format of logs: a module, or a protocol, with `recognises` and `read`.

    Attributes:
        name: Its name, as `--from` takes it.
        module: `recognises` says whether a file has it, given the path and the first JSON object
            or row, if there is one; `read` yields what the file holds of each text, and raises an
            `InputError` that says where it is wrong.
        words: Which tool writes it.
        remedy: How to have log-probabilities logged, if the tool can.
    """

    name: str
    module: Any
    words: str
    remedy: str = ""

    def read(self, path: Path) -> Iterator[Entry]:
        """Read a file.

        Args:
            path: The file.

        Yields:
            Records, and what there is instead of some.

        Raises:
            InputError: The file cannot be read or is not of this format.
        """
        number = 0
        try:
            for entry in self.module.read(path):
                yield entry
                number += 1
        except CordialError:
            raise
        except MemoryError as error:
            raise FileError(f"{path} is too large for the memory there is.") from error
        except RecursionError as error:
            raise FileError(f"{path} is nested too deeply.") from error
        except STUMBLES as error:
            after = f" after {number} that are" if number else ""
            raise FileError(f"{path} is not as expected of {self.words}{after}.") from error


_FORMATS = (
    Format("openai", openai, "responses in OpenAI's protocols", "logprobs=True, top_logprobs=20"),
    Format("vllm", vllm, "vLLM's offline outputs", "SamplingParams(logprobs=20)"),
    Format("llama-cpp", llama_cpp, "llama.cpp's own completions", '"n_probs": 20'),
    Format("lm-eval", lm_eval, "lm-evaluation-harness, --log_samples", "a multiple-choice task"),
    Format("inspect", inspect_ai, "Inspect's logs", "--logprobs --top-logprobs 20"),
    Format("argilla", annotations.ARGILLA, "Argilla's records: labels"),
    Format("label-studio", annotations.LABEL_STUDIO, "Label Studio's JSON export: labels"),
    Format("samples", samples, "sampled scores and hard ratings, JSON Lines or a table"),
    Format("npz", arrays, "NumPy arrays"),
)
FORMATS = {form.name: form for form in _FORMATS}


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
    if path.suffix.lower() in samples.TABLES:
        first = samples.first_row(read_columns(path))
    else:
        first = next(json_rows(path)).value if looks_like_json(path) else None
    if first is not None and sum(name.startswith(PREFIXES) for name in first) > 1:
        raise FileError(f"{path} is a table of readings already: give it to `cordial calibrate`.")
    for found in FORMATS.values():
        if found.module.recognises(path, first):
            return found
    if first is not None and samples.holds_texts(first):
        raise FileError(
            f"{path} is a table of texts, which nobody has read yet: `cordial ask {path} --model "
            "NAME`. If the words are a judge's answers, say so: --from samples."
        )
    shown = f"its first object has {name_fields(first)}" if first is not None else "it is not JSON"
    raise FileError(
        f"{path} is no log that is known by its contents: {shown}. "
        f"Say what it is: --from {', '.join(FORMATS)}."
    )
