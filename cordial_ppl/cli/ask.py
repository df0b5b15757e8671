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
    After,
    Seed,
    Spell,
    TableOut,
    names,
    option,
)
from cordial_ppl.cli.output import Result, say
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
    demonstrations: Annotated[
        Path | None, option(FILES, "Labelled texts to show as examples.", "FILE")
    ] = None,
    shots: Annotated[int, option(MODEL, "Examples to show.", "N")] = 10,
    permutations: Annotated[
        int, option(MODEL, "Orders of the options to average over.", "N", validator=POSITIVE)
    ] = 1,
    server: Annotated[
        str | None, option(MODEL, "By default OPENAI_BASE_URL, or OpenAI.", "URL")
    ] = None,
    key_variable: Annotated[
        str | None, option(ADVANCED, "Environment variable that holds the key.", "NAME")
    ] = None,
    samples: Annotated[
        int, option(MODEL, "Answers a text, for models without log-probabilities.", "N")
    ] = 0,
    max_tokens: Annotated[
        int | None, option(ADVANCED, "Longest answer, in tokens; by default 16.", "N")
    ] = None,
    concurrency: Annotated[
        int | None, option(ADVANCED, "Questions asked at a time; by default 8.", "N")
    ] = None,
    local: Annotated[bool, option(MODEL, "Run a Hugging Face model on this machine.")] = False,
    spell: Spell = (),
    after: After = None,
    reader: Annotated[str | None, option(COLUMNS, "Name of the judge.", "NAME")] = None,
    task: Annotated[str | None, option(COLUMNS, "Name of the task.", "NAME")] = None,
    seed: Seed = 0,
) -> Result:
    """Ask a model to rate texts, and make a table of readings of its answers.

    Answers are kept in OUT.cache as they come: the same command resumes an interrupted run.
    """
    from cordial_ppl.cli.reading import as_json, describe, list_doubts, read_spellings
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect
    from cordial_ppl.logs.answers import as_pattern
    from cordial_ppl.logs.ask.asking import Asking, name_failures
    from cordial_ppl.logs.ask.cache import open_cache
    from cordial_ppl.logs.ask.prompt import Prompt, read_template
    from cordial_ppl.logs.ask.questions import read_questions
    from cordial_ppl.logs.spellings import Spellings
    from cordial_ppl.tables import write_table

    scale = Scale(options)
    spellings, before = read_spellings(spell), as_pattern(after)
    # A spelling that is wrong is refused before anything is asked.
    Spellings(scale, spellings)
    questions = read_questions(
        texts,
        Prompt(scale, read_template(prompt), question),
        demonstrations=demonstrations,
        shots=shots,
        permutations=permutations,
        seed=seed,
    )
    if local:
        from cordial_ppl.logs.ask.local import LocalModel

        values = ("--server", server), ("--key-variable", key_variable), ("--samples", samples)
        values += ("--max-tokens", max_tokens), ("--concurrency", concurrency)
        if unused := [name for name, value in values if value]:
            raise InputError(f"{', '.join(unused)}: for servers only, not with --local.")
        with doing(f"loading {model}"):
            asked = LocalModel.load(model, scale.options)
    else:
        from cordial_ppl.logs.ask.chat import Chat
        from cordial_ppl.logs.ask.server import Server

        asked = Chat(
            Server(model, server, key_variable),
            samples=samples,
            max_tokens=max_tokens or 16,
            concurrency=concurrency or 8,
        )
    cache = output.with_name(f"{output.name}.cache")
    with open_cache(cache) as answers:
        asking = Asking(questions, asked, answers)
        try:
            with interrupting():
                asking.run()
        except (ServerError, KeyboardInterrupt) as error:
            progress = f"{asking.done:,} of {len(questions):,} answers are in {cache}"
            if isinstance(error, ServerError):
                raise ServerError(f"{error} {progress}: the same command resumes.") from error
            say(f"stopped: {progress}; the same command resumes")
            raise
        records = asking.records(reader or model, task)
        with doing("reading the answers"):
            collection = collect(records, scale=scale, spellings=spellings, before=before)
    extras, dropped = questions.pass_on(collection.readings)
    write_table(output, collection.readings | extras)
    read, written = asking.tokens
    content = as_json(collection, model)
    content |= {"requests": asking.asked, "tokens_read": read, "tokens_written": written}
    content |= {"missing": asking.failures, "held_back": dropped}
    done = [*describe(collection, model, f"in {output}")]
    if asking.asked:
        done.insert(0, f"{asking.done:,} of {len(questions):,} answers, {asking.taken}")
    doubts = [*list_doubts(collection)]
    if asking.failures:
        lost = f"{count(len(asking.failures), 'text')} without an answer left out"
        doubts.insert(0, f"{lost}: {name_failures(asking.failures)}")
    if samples and (collection.unread or collection.count("unread")):
        doubts.append("if answers ended before they named an option, raise --max-tokens")
    if dropped:
        names = ", ".join(dropped)
        doubts.append(f"columns that would be taken for readings are not passed on: {names}")
    return Result(content, warnings=doubts, done=done)
