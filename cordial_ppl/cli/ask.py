"""`cordial ask`: readings from a model that is asked, over a server or on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import progressing, working
from cordial_ppl.cli.options import (
    After,
    Explain,
    Json,
    Quiet,
    ReadingsOut,
    Seed,
    Spelled,
    split_options,
)
from cordial_ppl.errors import InputError

TextsPath = Annotated[
    Path,
    typer.Argument(
        metavar="TEXTS",
        help="Table of texts (.csv, .parquet, .jsonl): item_id, text, and what else the prompt "
        "puts in.",
    ),
]
ModelName = Annotated[str, typer.Option(metavar="NAME", help="The model to ask.")]
Scales = Annotated[
    str,
    typer.Option(metavar="A,B,...", help="The options in the scale's order, such as 1,2,3,4,5."),
]
PromptPath = Annotated[
    Path | None,
    typer.Option(
        "--prompt",
        metavar="FILE",
        help="A prompt of your own: text with {text}, {options}, and other columns in braces.",
    ),
]
QuestionText = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What the prompt asks of the text.")
]
Shown = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Labelled texts to show as examples: text and label."),
]
Shots = Annotated[int, typer.Option(min=1, metavar="N", help="How many examples to show.")]
Unbalanced = Annotated[
    bool,
    typer.Option(
        "--shots-at-random", help="Choose examples whatever their label, not option by option."
    ),
]
Permutations = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="List the options in N orders, and average the readings."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The server, such as http://localhost:8000/v1; by default OPENAI_BASE_URL, or OpenAI.",
    ),
]
KeyVariable = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The environment variable that holds the key; OPENAI_API_KEY for OpenAI and for a "
        "server on this machine.",
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Sample N answers a text, from a reader without logprobs."
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Tokens of an answer at most; 16.")
]
Concurrency = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Requests at once, at most; 8.")
]
Timeout = Annotated[
    float | None,
    typer.Option(min=0.001, metavar="SECONDS", help="How long to wait for an answer; 60."),
]
Retries = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="How often to try a failed request again; 6."),
]
CachePath = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="FILE",
        help="Where answers are kept as they come, and looked for first; by default OUT.cache.",
    ),
]
Priced = Annotated[
    str | None,
    typer.Option(metavar="IN,OUT", help="Dollars for a million tokens, to show what it costs."),
]
Local = Annotated[
    bool,
    typer.Option("--local", help="MODEL is a Hugging Face model, a folder or a name: run it here."),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where --local computes: cpu, cuda, mps.")
]
Batch = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Prompts that --local takes together; 8.")
]
Partial = Annotated[
    bool, typer.Option("--partial", help="Leave out texts that get no answer, with a warning.")
]
ReaderName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What to call the reader; by default the model's name."),
]
TaskName = Annotated[
    str | None, typer.Option(metavar="NAME", help="What to call the task, if anything.")
]


def ask(
    texts: TextsPath,
    out: ReadingsOut,
    model: ModelName,
    options: Scales,
    prompt: PromptPath = None,
    question: QuestionText = None,
    demonstrations: Shown = None,
    shots: Shots = 10,
    shots_at_random: Unbalanced = False,
    permutations: Permutations = 1,
    server: Address = None,
    key_variable: KeyVariable = None,
    samples: Samples = 0,
    spell: Spelled = None,
    after: After = None,
    max_tokens: MaxTokens = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    retries: Retries = None,
    price: Priced = None,
    local: Local = False,
    device: Device = None,
    batch: Batch = None,
    partial: Partial = False,
    cache: CachePath = None,
    reader: ReaderName = None,
    task: TaskName = None,
    explain: Explain = 0,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a model to rate texts, and make a table of readings of what it answers.

    Answers are kept as they come: a run that was interrupted goes on from there.
    """
    from cordial_ppl.cli.asked import Asked
    from cordial_ppl.cli.asking import check_unused, keeping, reach_here, reach_server, read_price
    from cordial_ppl.cli.output import check_output
    from cordial_ppl.cli.reading import read_spellings
    from cordial_ppl.formats import collect
    from cordial_ppl.formats.answers import as_pattern
    from cordial_ppl.live.decoding import Decoding
    from cordial_ppl.live.prompt import Prompt, read_template
    from cordial_ppl.live.questions import read_questions
    from cordial_ppl.live.records import Records
    from cordial_ppl.live.tally import Tally
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import check_writable, write_table

    check_unused(
        local,
        of_server={
            "--server": server,
            "--key-variable": key_variable,
            "--samples": samples or None,
            "--max-tokens": max_tokens,
            "--concurrency": concurrency,
            "--timeout": timeout,
            "--retries": retries,
            "--price": price,
        },
        of_local={"--device": device, "--batch": batch},
    )
    scale = Scale(split_options(options) or ())
    spellings, before = read_spellings(spell), as_pattern(after)
    check_output(out, [path for path in (texts, prompt, demonstrations) if path is not None])
    cache = cache or out.with_name(f"{out.name}.cache")
    if cache.resolve() == out.resolve():
        raise InputError(f"--cache {cache} is where the readings go: name another file.")
    check_writable(cache, endings=None)
    questions = read_questions(
        texts,
        Prompt(scale, read_template(prompt), question),
        demonstrations=demonstrations,
        shots=shots,
        balanced=not shots_at_random,
        permutations=permutations,
        seed=seed,
    )
    tally = Tally(len(questions), price=read_price(price))
    if local:
        reach = reach_here(model, device or "cpu", batch or 8, quiet)
    else:
        reach = reach_server(
            server,
            model,
            key_variable,
            decoding=Decoding(samples, max_tokens or 16),
            concurrency=concurrency or 8,
            timeout=timeout or 60.0,
            retries=6 if retries is None else retries,
            seed=seed,
        )
    with keeping(cache, tally) as kept:
        asker = reach(questions, kept, tally)
        with progressing(quiet) as show:
            asker.run(show, partial)
        answered = Records(questions, asker.find, reader or model, task)
        with working("reading the answers", quiet):
            collected = collect(
                answered, scale=scale, spellings=spellings, before=before, explain=explain
            )
    columns = collected.readings
    write_table(out, columns | questions.texts.passed_on(columns["item_id"], columns))
    asked = Asked(
        collected,
        tally,
        missing={item: dict(asker.failures).get(item, "") for item in answered.missing},
        cut=answered.cut_short(spellings, before),
        held_back=questions.texts.held_back(columns),
    )
    asked.show(model, out, json=json, quiet=quiet)
