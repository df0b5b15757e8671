"""`cordial ask`: readings from a model that is asked, over a server or on this machine."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import say, working
from cordial_ppl.cli.options import Quiet, Seed, split_options
from cordial_ppl.errors import InputError

TextsPath = Annotated[
    Path,
    typer.Argument(
        metavar="TEXTS",
        help="Table of texts (.csv, .parquet, .jsonl): item_id, text, and what else the prompt "
        "puts in.",
    ),
]
ReadingsOut = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Table of readings (.csv, .parquet, .jsonl)."
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
Asked = Annotated[
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
    str, typer.Option(metavar="NAME", help="The environment variable that holds the key.")
]
Samples = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Sample N answers a text, from a reader without logprobs."
    ),
]
Spelled = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION=TEXT",
        help="Another way in which the model writes an option, such as 1=A; may be repeated.",
    ),
]
After = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX", help="What the answer follows, where it cannot be found without."
    ),
]
MaxTokens = Annotated[int, typer.Option(min=1, metavar="N", help="Tokens of an answer at most.")]
Concurrency = Annotated[int, typer.Option(min=1, metavar="N", help="Requests at once, at most.")]
Timeout = Annotated[
    float, typer.Option(min=0.001, metavar="SECONDS", help="How long to wait for an answer.")
]
Retries = Annotated[
    int, typer.Option(min=0, metavar="N", help="How often to try a failed request again.")
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
    str, typer.Option(metavar="NAME", help="Where --local computes: cpu, cuda, mps.")
]
Batch = Annotated[
    int, typer.Option(min=1, metavar="N", help="Prompts that --local takes together.")
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
    question: Asked = None,
    demonstrations: Shown = None,
    shots: Shots = 10,
    shots_at_random: Unbalanced = False,
    permutations: Permutations = 1,
    server: Address = None,
    key_variable: KeyVariable = "OPENAI_API_KEY",
    samples: Samples = 0,
    spell: Spelled = None,
    after: After = None,
    max_tokens: MaxTokens = 16,
    concurrency: Concurrency = 8,
    timeout: Timeout = 60.0,
    retries: Retries = 6,
    price: Priced = None,
    local: Local = False,
    device: Device = "cpu",
    batch: Batch = 8,
    cache: CachePath = None,
    reader: ReaderName = None,
    task: TaskName = None,
    explain: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Show for N texts which tokens fed which option."),
    ] = 0,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Ask a model to rate texts, and make a table of readings of what it answers.

    Answers are kept as they come: a run that was interrupted goes on from there.
    """
    from cordial_ppl.cli.asking import ask_here, ask_server, open_server, read_price
    from cordial_ppl.cli.output import check_output
    from cordial_ppl.cli.reading import explain_text, read_spellings, report, warn
    from cordial_ppl.formats import collect
    from cordial_ppl.formats.answers import as_pattern
    from cordial_ppl.live.cache import open_cache
    from cordial_ppl.live.decoding import Decoding
    from cordial_ppl.live.demonstrations import read_demonstrations
    from cordial_ppl.live.orders import option_orders
    from cordial_ppl.live.prompt import Prompt, read_template
    from cordial_ppl.live.questions import Questions
    from cordial_ppl.live.records import records
    from cordial_ppl.live.tally import Tally
    from cordial_ppl.live.texts import read_texts
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import check_writable, write_table

    if local and (samples or server):
        raise InputError("--local needs no server and no samples: leave the other option out.")
    scale = Scale(split_options(options) or ())
    spellings, before = read_spellings(spell), as_pattern(after)
    cache = cache or out.with_name(f"{out.name}.cache")
    inputs = [path for path in (texts, prompt, demonstrations) if path is not None]
    check_output(out, inputs)
    if cache.resolve() == out.resolve():
        raise InputError(f"--cache {cache} is where the readings go: name another file.")
    check_writable(cache, endings=None)
    bare = Prompt(scale, read_template(prompt), question)
    examples = demonstrations and read_demonstrations(
        demonstrations, scale, bare.columns, shots, balanced=not shots_at_random, seed=seed
    )
    table = read_texts(texts, bare.columns)
    questions = Questions(
        table,
        replace(bare, demonstrations=examples or ()),
        option_orders(scale.size, permutations, seed),
    )
    decoding = Decoding(samples, max_tokens)
    asked = None
    if not local:
        asked = open_server(server, model, key_variable, timeout, retries, seed)
    tally = Tally(len(questions), price=read_price(price))
    with open_cache(cache) as kept:
        if asked is None:
            find = ask_here(questions, kept, tally, model, device, batch, quiet)
        else:
            find = ask_server(questions, kept, tally, asked, decoding, concurrency, cache, quiet)
        answered = records(questions, find, reader or model, task)
        with working("reading the answers", quiet):
            collected = collect(
                answered, scale=scale, spellings=spellings, before=before, explain=explain
            )
    columns = collected.readings
    write_table(out, columns | table.passed_on(columns["item_id"], columns))
    for text in collected.explained:
        typer.echo(explain_text(text, collected))
    if not quiet:
        if tally.requests:
            say(tally.words)
        report(collected, model, out, None)
    warn(collected)
