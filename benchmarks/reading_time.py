"""How long `cordial read` takes for logs of many texts, and how much memory.

Logs of chat completions with 20 alternatives a token are made in a temporary folder: an answer of
one token as JSON Lines and as one JSON list; and an answer after tokens of reasoning that have
their alternatives too.  Each is read by the program in a process of its own, which reports its
peak.

    python benchmarks/reading_time.py
    python benchmarks/reading_time.py --quick

Prints a table and writes JSON.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPTIONS = "1,2,3,4,5"
ALTERNATIVES = 20
PROGRAM = "from cordial_ppl.cli import main; main()"


def main() -> None:
    """Make the logs and read them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--texts", type=int, default=100_000, help="with an answer of one token")
    parser.add_argument("--reasoned", type=int, default=20_000, help="with reasoning before it")
    parser.add_argument("--tokens", type=int, default=50, help="tokens of reasoning")
    parser.add_argument("--out", type=Path, default=Path("reading_time.json"))
    args = parser.parse_args()
    if args.quick:
        args.texts, args.reasoned = 1000, 200
    rows = []
    print(f"{'log':22s}{'texts':>9s}{'MB':>9s}{'seconds':>10s}{'texts/s':>10s}{'peak MB':>10s}")
    for name, file, texts, tokens, make in (
        ("answers", "log.jsonl", args.texts, 0, make_log),
        ("answers, a list", "log.json", args.texts, 0, make_list),
        ("reasoning, answers", "log.jsonl", args.reasoned, args.tokens, make_log),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            make(path, texts, tokens)
            size = path.stat().st_size / 1e6
            seconds, peak = timed(path)
        rows.append(
            {"log": name, "texts": texts, "megabytes": size, "seconds": seconds, "peak": peak}
        )
        rate = texts / seconds
        print(f"{name:22s}{texts:9d}{size:9.0f}{seconds:10.1f}{rate:10.0f}{peak:10.0f}")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1))


def make_log(path: Path, texts: int, tokens: int) -> None:
    """Write chat completions, JSON Lines."""
    rng = random.Random(0)
    words = [f" word{i}" for i in range(1000)]
    reasoning = [json.dumps(entry(rng, rng.sample(words, ALTERNATIVES))) for _ in range(200)]
    ending = json.dumps(entry(rng, ["\nRating:", *words[1:ALTERNATIVES]]))
    with path.open("w") as file:
        for i in range(texts):
            answer = rng.sample("12345", 5) + rng.sample(words, ALTERNATIVES - 5)
            before = [*rng.choices(reasoning, k=tokens), ending] if tokens else []
            own = [*before, json.dumps(entry(rng, answer))]
            content = f"[{', '.join(own)}]"
            head = f'"id": "chatcmpl-{i}", "object": "chat.completion", "model": "judge"'
            message = json.dumps({"role": "assistant", "content": answer[0]})
            choice = f'{{"index": 0, "message": {message}, "logprobs": {{"content": {content}}}}}'
            file.write(
                f'{{"item_id": "text {i}", "response": {{{head}, "choices": [{choice}]}}}}\n'
            )


def make_list(path: Path, texts: int, tokens: int) -> None:
    """Write the same as a list in one line, with a character of four bytes."""
    lines = path.with_suffix(".lines")
    make_log(lines, texts, tokens)
    with lines.open() as log, path.open("w") as file:
        file.write('[{"item_id": "\N{ICE CREAM}", "choices": [], "error": "made up"}')
        file.writelines(f", {line.strip()}" for line in log)
        file.write("]")
    lines.unlink()


def entry(rng: random.Random, words: list[str]) -> dict:
    """A token with its alternatives, the most likely first."""
    scores = sorted((rng.gauss(0.0, 3.0) for _ in words), reverse=True)
    total = math.log(sum(map(math.exp, scores)))
    top = [
        {"token": word, "logprob": score - total, "bytes": list(word.encode())}
        for word, score in zip(words, scores, strict=True)
    ]
    return {**top[0], "top_logprobs": top}


def timed(path: Path) -> tuple[float, float]:
    """Read a log; seconds and peak memory (MB) of the process."""
    out = path.with_name("readings.parquet")
    command = [sys.executable, "-c", PROGRAM, "read", str(path), "-o", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--options", OPTIONS, "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"cordial read ended with status {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e3


if __name__ == "__main__":
    main()
