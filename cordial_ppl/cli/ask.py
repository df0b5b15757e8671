"""`cordial ask`: readings from a model that is asked, over a server or on this machine."""

from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.messages import interrupting
from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    MODEL,
    POSITIVE,
    WHOLE,
    After,
    Seed,
    Spell,
    TableOut,
    names,
    option,
)
from cordial_ppl.cli.output import Result, say
from cordial_ppl.cli.read import as_json, describe, spelled
from cordial_ppl.errors import InputError, ServerError, count
from cordial_ppl.runtime.progress import doing


def ask(
    texts: Annotated[Path, option(FILES, "Table: item_id, text, other columns of the prompt.")],
    *,
    output: TableOut,
    model: Annotated[str, option(MODEL, "Model to ask.", "NAME")],
    options: Annotated[tuple[str, ...], names(COLUMNS, "Options of the scale, as 1,2,3,4,5.")],
    prompt: Annotated[
        Path | None, option(FILES, "The whole prompt: {text}, {options}, columns of TEXTS.", "FILE")
    ] = None,
    question: Annotated[str | None, option(MODEL, "What to ask.", "TEXT")] = None,
    permutations: Annotated[
        int, option(MODEL, "Orders of the options to average over.", "N", validator=POSITIVE)
    ] = 1,
    server: Annotated[
        str | None, option(MODEL, "Such as http://localhost:8000/v1; by default OpenAI's.", "URL")
    ] = None,
    key_variable: Annotated[
        str | None, option(ADVANCED, "Environment variable that holds the key.", "NAME")
    ] = None,
    samples: Annotated[
        int,
        option(
            MODEL, "Answers a text, for models without log-probabilities.", "N", validator=WHOLE
        ),
    ] = 0,
    max_tokens: Annotated[
        int, option(ADVANCED, "Longest answer, in tokens.", "N", validator=POSITIVE)
    ] = 16,
    concurrency: Annotated[
        int, option(ADVANCED, "Questions asked at a time.", "N", validator=POSITIVE)
    ] = 8,
    local: Annotated[bool, option(MODEL, "Run a Hugging Face model on this machine.")] = False,
    spell: Spell = (),
    after: After = None,
    reader: Annotated[str | None, option(COLUMNS, "Name of the judge.", "NAME")] = None,
    task: Annotated[str | None, option(COLUMNS, "Name of the task.", "NAME")] = None,
    seed: Seed = 0,
) -> Result:
    """Ask a model to rate texts, and make a table of readings of its answers.

    Answers are kept in OUT.answers.jsonl as they come: the same command resumes.
    """
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect
    from cordial_ppl.logs.ask.asking import Asking, name_failures
    from cordial_ppl.logs.ask.prompt import make_prompt, read_texts
    from cordial_ppl.logs.finder import as_pattern
    from cordial_ppl.logs.spellings import Spellings
    from cordial_ppl.tables import write_table

    scale = Scale(options)
    # What is wrong is refused before anything is asked.
    before = as_pattern(after)
    Spellings(scale, spelled(spell))
    made = make_prompt(scale, prompt, question, permutations, seed)
    fields, extras = read_texts(texts, made)
    if local:
        from cordial_ppl.logs.ask.local import LocalModel

        if server or key_variable or samples:
            raise InputError("--server, --key-variable, --samples: not with --local.")
        with doing(f"loading {model}"):
            asked = LocalModel.load(model, scale.options)
    else:
        from cordial_ppl.logs.ask.chat import Chat

        limits = {"samples": samples, "max_tokens": max_tokens, "concurrency": concurrency}
        asked = Chat(model, server, key_variable, **limits)
    path = output.with_name(f"{output.name}.answers.jsonl")
    asking = Asking(made, fields, asked, path)
    try:
        with interrupting():
            asking.run()
    except (ServerError, KeyboardInterrupt) as error:
        progress = f"{asking.progress} answers are in {path}; the same command resumes"
        if isinstance(error, ServerError):
            raise ServerError(f"{error} {progress}.") from error
        say(f"stopped: {progress}")
        raise
    records = asking.records(reader or model, task)
    collected = collect(records, scale, spelled(spell), before=before)
    rows = [list(fields).index(item) for item in collected.readings["item_id"]]
    passed = {name: [cells[row] for row in rows] for name, cells in extras.items()}
    write_table(output, collected.readings | passed)
    warnings = list(collected.doubts)
    if asking.refused:
        lost = f"{count(len(asking.refused), 'text')} without an answer left out"
        warnings.insert(0, f"{lost}: {name_failures(asking.refused)}")
    content = as_json(collected) | {"requests": asking.asked, "missing": asking.refused}
    return Result(content, warnings=warnings, done=describe(collected, output, None, model))
