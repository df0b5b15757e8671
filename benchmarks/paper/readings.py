r"""From reviews, or transcribed segments, and a language model to the readings of the paper.

    python benchmarks/paper/readings.py reviews Digital_Music.jsonl --task music \
        --model Qwen/Qwen2.5-7B-Instruct --local -o music
    python benchmarks/paper/readings.py segments mosei.csv --task mosei \
        --model qwen2.5-7b --server http://localhost:8000/v1 --demonstrations 20 100 -o mosei

Reviews are a file of Amazon Reviews 2023 (JSON Lines: `rating`, `text`, `user_id`, `timestamp`).
Taken are 2,000 reviews to calibrate on and 4,000 to report on, by users with one review, and 400
users with at least eight, the first 16 of each in order of time.  Segments are a CSV file of
`text`, `sentiment` (-3 to 3, rounded to seven levels), `split` (train, valid or test) and, if it is
there, `video`.  The model reads the text and the options, or, with --demonstrations, as many
labelled texts first, those that a sweep would draw.  Writes to the folder texts.csv, labels.csv and
readings.parquet (log-probabilities of the options), and demonstrations-N-DRAW.parquet of the report
texts: tables for `cordial sweep`.  Answers are kept as they come; the same command resumes.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from cordial_ppl.cli.app import run
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.evaluation.tasks import Task, draw_subsets
from cordial_ppl.tables import write_table

FEWEST, MOST = 8, 16
"""Reviews of a user who comes back: those with fewer are left out, and further ones."""

OPTIONS = {"reviews": 5, "segments": 7}
PROMPTS = {
    "reviews": "Review:\n{text}\n\nHow many stars did its author give, from 1 (worst) to 5 (best)? "
    "Answer with one of {options}, and nothing else.\n",
    "segments": "Transcript:\n{text}\n\nWhich sentiment does the speaker express, from 1 (strongly "
    "negative) over 4 (neutral) to 7 (strongly positive)? Answer with one of {options}, and "
    "nothing else.\n",
}
"""What is asked; options are digits, which are one token each."""

SPLITS = {"train": "calibration", "valid": "calibration", "test": "report"}


def main(arguments: list[str] | None = None) -> int:
    """Select texts, and ask the model about them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=tuple(OPTIONS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", required=True, help="name, or a folder with --local")
    parser.add_argument("--local", action="store_true", help="run it here, by transformers")
    parser.add_argument("--server", metavar="URL", help="that speaks chat completions")
    parser.add_argument("--key-variable", metavar="NAME", help="where the server's key is")
    parser.add_argument("--task", help="by default the file's name")
    parser.add_argument("--reader", help="by default the model's name")
    parser.add_argument(
        "--counts",
        type=int,
        nargs=3,
        default=(2000, 4000, 400),
        metavar="N",
        help="reviews to calibrate and to report on, users who come back",
    )
    parser.add_argument("--demonstrations", type=int, nargs="+", default=(), metavar="N")
    parser.add_argument("--draws", type=int, default=20, help="of demonstrations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args(arguments)
    try:
        if args.kind == "reviews":
            texts = select_reviews(args.file, args.counts, args.seed)
        else:
            texts = select_segments(args.file)
        args.output.mkdir(parents=True, exist_ok=True)
        labels = texts.select("item_id", "label", "user", "order")
        write_table(args.output / "labels.csv", labels.lazy())
        for name, table, prompt in list_questions(texts, args):
            if status := ask(name, table, prompt, args):
                return status
    except (InputError, FileError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def select_reviews(path: Path, counts: Sequence[int], seed: int = 0) -> pl.DataFrame:
    """Select reviews as the paper does: so many to calibrate and to report on, and users.

    A row is a text: `item_id`, `text`, `label` (1 to 5), `split`, `user` and `order`.
    """
    kinds = {"rating": pl.Float64, "text": pl.String, "user_id": pl.String, "timestamp": pl.Int64}
    try:
        table = pl.read_ndjson(path, schema=kinds).with_row_index("row", 1)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FileError(f"cannot read {path} as JSON Lines of reviews: {error}.") from error
    for row, *_ in table.filter(pl.any_horizontal(pl.col(*kinds).is_null())).head(1).rows():
        raise InputError(f"{path}, line {row} lacks one of {', '.join(kinds)}.")
    stars, text = pl.col("rating"), pl.col("text").str.strip_chars()
    table = table.filter(stars.is_in([1.0, 2.0, 3.0, 4.0, 5.0]), text != "").sort(
        "timestamp", "row"
    )
    table = table.select(
        "text",
        item_id=pl.format("r{}", "row"),
        label=stars.cast(pl.Int64),
        user="user_id",
        order=pl.int_range(pl.len()).over("user_id"),
        reviews=pl.len().over("user_id"),
    )

    def choose(which: pl.Expr, wanted: int, often: str) -> list[str]:
        users = table.filter(which)["user"].unique().sort().to_list()
        if len(users) < wanted:
            raise InputError(
                f"{path} has {len(users)} users with {often}, and {wanted} are needed: take a "
                "larger file, or fewer with --counts."
            )
        return [*rng.permutation(users)[:wanted]]

    rng, (calibration, report, several) = np.random.default_rng(seed), counts
    single = choose(pl.col("reviews") == 1, calibration + report, "one review")
    split = dict.fromkeys(single[:calibration], "calibration")
    split |= dict.fromkeys(single[calibration:], "report")
    again = choose(pl.col("reviews") >= FEWEST, several, f"at least {FEWEST} reviews")
    split |= dict.fromkeys(again, "users")
    texts = table.with_columns(split=pl.col("user").replace_strict(split, default=None))
    texts = texts.drop_nulls("split").filter(pl.col("order") < MOST).drop("reviews")
    return texts.sort("split", "user", "order")


def select_segments(path: Path) -> pl.DataFrame:
    """Select segments as the paper does: all of them, their sentiment rounded to seven levels.

    A row is one as of `select_reviews`, with labels 1 to 7; the video stands for the user.
    """
    try:
        table = pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FileError(f"cannot read {path} as CSV: {error}.") from error
    if lacking := {"text", "sentiment", "split"} - {*table.columns}:
        raise InputError(f"{path} lacks the columns {', '.join(sorted(lacking))}.")
    video = pl.col("video") if "video" in table.columns else pl.int_range(pl.len())
    table = table.with_row_index("row").with_columns(
        user=video.cast(pl.String), sentiment=pl.col("sentiment").cast(pl.Float64, strict=False)
    )
    wrong = table.filter(
        ~pl.col("sentiment").is_between(-3, 3).fill_null(False)
        | ~pl.col("split").is_in([*SPLITS])
        | pl.col("text").fill_null("").str.strip_chars().eq("")
    )
    for row in wrong.head(1).to_dicts():
        raise InputError(
            f"{path}, row {row['row'] + 1}: expected a text, a sentiment from -3 to 3 and a split "
            f"of {', '.join(SPLITS)}; got {row['sentiment']} and {row['split']!r}."
        )
    return table.select(
        "text",
        "user",
        item_id=pl.format("s{}", pl.col("row") + 1),
        label=(pl.col("sentiment").round() + 4).cast(pl.Int64),
        split=pl.col("split").replace_strict(SPLITS),
        order=pl.int_range(pl.len()).over("user"),
    )


def list_questions(
    texts: pl.DataFrame, args: argparse.Namespace
) -> Iterator[tuple[str, pl.DataFrame, str]]:
    """List what is asked: a name, the texts, and the prompt; zero-shot, then demonstrations."""
    prompt = PROMPTS[args.kind]
    yield "readings", texts, prompt
    pool, report = (texts.filter(split=name) for name in ("calibration", "report"))
    size, count = OPTIONS[args.kind], len(pool)
    if args.demonstrations and max(args.demonstrations) > count:
        raise InputError(f"there are {count} texts to draw demonstrations from.")
    labelled = Labelled(np.zeros((count, size)), pool["label"].to_numpy() - 1, {})
    scale = Scale(tuple(map(str, range(1, size + 1))))
    task = Task(args.task or args.file.stem, "", scale, labelled, labelled, args.seed)
    kind = prompt.partition(":")[0]
    for n in args.demonstrations:
        for draw, rows in enumerate(draw_subsets(task, n, args.draws)):
            shown = "\n\n".join(
                f"{kind}:\n{text}\nAnswer: {label}"
                for text, label in pool[rows.tolist()].select("text", "label").iter_rows()
            )
            table = report.with_columns(demonstrations=pl.lit(shown))
            yield f"demonstrations-{n}-{draw}", table, "{demonstrations}\n\n" + prompt


def ask(name: str, texts: pl.DataFrame, prompt: str, args: argparse.Namespace) -> int:
    """Ask the model about texts, and write its readings; returns the status of `cordial ask`."""
    path = args.output / f"{'texts' if name == 'readings' else name}.csv"
    write_table(path, texts.drop("label").lazy())
    template = path.with_suffix(".prompt.txt")
    template.write_text(prompt, "utf-8")
    options = ",".join(map(str, range(1, OPTIONS[args.kind] + 1)))
    words = ["ask", path, "--prompt", template, "--options", options, "--model", args.model]
    words += ["--task", args.task or args.file.stem, "--reader", args.reader or args.model]
    words += ["--local"] if args.local else []
    for option in ("server", "key_variable"):
        if value := getattr(args, option):
            words += [f"--{option.replace('_', '-')}", value]
    return run([*map(str, words), "-o", str(args.output / f"{name}.parquet")])


if __name__ == "__main__":
    sys.exit(main())
