"""`cordial ask`: readings from a model that is asked, over a server or on this machine."""

from cordial_ppl.cli.ask_options import (
    Address,
    Batch,
    CachePath,
    Concurrency,
    Device,
    KeyVariable,
    Local,
    MaxTokens,
    ModelName,
    Partial,
    Permutations,
    Priced,
    PromptPath,
    QuestionText,
    ReaderName,
    Retries,
    Samples,
    Scales,
    Shots,
    Shown,
    TaskName,
    TextsPath,
    Timeout,
    Unbalanced,
)
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
