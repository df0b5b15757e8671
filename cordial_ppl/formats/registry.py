"""The formats by name, and which one a file has."""

from pathlib import Path

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import annotations, arrays, inspect_ai, lm_eval, responses, samples
from cordial_ppl.formats.format import Format
from cordial_ppl.formats.rows import first_row
from cordial_ppl.tables.columns import PREFIXES

_FORMATS = (
    responses.OPENAI,
    responses.VLLM,
    responses.LLAMA_CPP,
    lm_eval.FORMAT,
    inspect_ai.FORMAT,
    annotations.ARGILLA,
    annotations.LABEL_STUDIO,
    samples.FORMAT,
    arrays.FORMAT,
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
    for form in FORMATS.values():
        if path.suffix.lower() == form.ending:
            return form
    first = first_row(path)
    fields = first.value if first else {}
    if sum(field.startswith(PREFIXES) for field in fields) > 1:
        raise FileError(f"{path} is a table of readings already: give it to `cordial calibrate`.")
    for form in FORMATS.values():
        if form.knows(fields):
            return form
    if samples.holds_texts(fields):
        raise FileError(
            f"{path} is a table of texts without readings: ask a model, `cordial ask {path} "
            "--model NAME`. If the words are a judge's answers, say so: --from samples."
        )
    shown = f"its first object has {first.fields}" if first else "it is not JSON"
    raise FileError(
        f"{path} is not a log of a known format: {shown}. "
        f"Say what it is: --from {', '.join(FORMATS)}."
    )
