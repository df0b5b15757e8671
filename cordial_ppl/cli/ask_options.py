"""What `cordial ask` alone is told."""

from pathlib import Path
from typing import Annotated

import typer

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
