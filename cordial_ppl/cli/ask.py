"""`cordial ask`: readings from a model that is asked, over a server or on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    After,
    Json,
    Quiet,
    ReadingsOut,
    Seed,
    Spelled,
    split_options,
)
from cordial_ppl.errors import InputError, ServerError
from cordial_ppl.runtime.progress import doing


def ask(
    texts: Annotated[
        Path,
        typer.Argument(
            metavar="TEXTS",
            help="Table (.csv, .parquet, .jsonl): item_id, text, other columns of the prompt.",
        ),
    ],
    out: ReadingsOut,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model to ask.")],
    options: Annotated[
        str,
        typer.Option(metavar="A,B,...", help="The options in the scale's order, as 1,2,3,4,5."),
    ],
    prompt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The whole prompt: {text}, {options}, other columns."),
    ] = None,
    question: Annotated[str | None, typer.Option(metavar="TEXT", help="What to ask.")] = None,
    demonstrations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled texts to show as examples.")
    ] = None,
    shots: Annotated[int, typer.Option(min=1, metavar="N", help="Examples to show.")] = 10,
    permutations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Orders of the options to average over.")
    ] = 1,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Such as http://localhost:8000/v1; by default OPENAI_BASE_URL, or OpenAI.",
        ),
    ] = None,
    key_variable: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The environment variable of the key; by default OPENAI_API_KEY, for OpenAI and "
            "servers on this machine only.",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Sample N answers a text; no logprobs needed.")
    ] = 0,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens of an answer, at most; 16.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Questions at once, at most; 8.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Run a Hugging Face model here, a folder or a name.")
    ] = False,
    spell: Spelled = None,
    after: After = None,
    reader: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the reader; by default MODEL.")
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the task.")] = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a model to rate texts, and make a table of readings of its answers.

    Answers are kept in OUT.cache as they come: the same command resumes an interrupted run.
    """
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.cli.reading import as_json, read_spellings, report, warn
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect
    from cordial_ppl.logs.answers import as_pattern
    from cordial_ppl.logs.ask.asking import Asking, name_failures
    from cordial_ppl.logs.ask.cache import open_cache
    from cordial_ppl.logs.ask.prompt import Prompt, read_template
    from cordial_ppl.logs.ask.questions import read_questions
    from cordial_ppl.logs.spellings import Spellings
    from cordial_ppl.tables import write_table

    scale = Scale(split_options(options) or ())
    spellings, before = read_spellings(spell), as_pattern(after)
    # A spelling that is wrong is refused before anything is asked.
    Spellings(scale, spellings)
    check_output(out, [path for path in (texts, prompt, demonstrations) if path is not None])
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
    cache = out.with_name(f"{out.name}.cache")
    with open_cache(cache) as answers:
        asking = Asking(questions, asked, answers)
        try:
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
    write_table(out, collection.readings | extras)
    if json:
        read, written = asking.tokens
        took = {"requests": asking.asked, "tokens_read": read, "tokens_written": written}
        took |= {"missing": asking.failures, "held_back": dropped}
        return show_json(as_json(collection, model) | took)
    if not quiet:
        if asking.asked:
            say(f"{asking.done:,} of {len(questions):,} answers, {asking.taken}")
        report(collection, model, out, None)
    if asking.failures:
        lost = count(len(asking.failures), "text")
        say(f"warning: {lost} without an answer left out: {name_failures(asking.failures)}")
    warn(collection)
    if samples and (collection.unread or collection.count("unread")):
        say("warning: if answers ended before they named an option, raise --max-tokens")
    if dropped:
        names = ", ".join(dropped)
        say(f"warning: columns that would be taken for readings are not passed on: {names}")
