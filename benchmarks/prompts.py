"""What several prompts of one reader gain over one of them, on real readings.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.
Every reader with several prompts, at the texts that all of them read: one prompt (the mean over
prompts, and the best of them in hindsight), the mean of their log-probabilities as one reading, the
same with the spread over prompts as a covariate of a further channel (ideas/spread.py), and their
fusion.  The prior does not know the set.  Prints log losses, in nats, on the same held-out texts.

    CORDIAL_DATA=path python benchmarks/prompts.py --draws 4 --budgets 20 100
"""

import argparse
import json
import os
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from members import without
from real import FOLDER, NEEDED

import cordial_ppl as cp
from cordial_ppl.scores import log_loss
from cordial_ppl.tables import match_labels, read_labels, read_several

SUMMARIES = "coherence", "consistency", "fluency", "relevance"
REPLIES = "coherence", "engagingness", "naturalness"
STORIES = "coherence", "complexity", "empathy", "engagement", "relevance", "surprise"
PROMPTS = {
    ("summeval_logits", "gpt-4o"): ([f"gpt-4o_cot{k}" for k in range(1, 6)], SUMMARIES),
    ("summeval_logits", "gpt-4o-mini"): ([f"gpt-4omini_cot{k}" for k in (1, 2, 4, 5)], SUMMARIES),
    ("topical_chat_gpt35", "gpt-3.5"): (
        [f"gpt-3.5-turbo_{k}" for k in ("geval", "rate_explain", "analyze_rate_auto_cot")],
        REPLIES,
    ),
    ("hanna", "ChatGPT"): ([f"ChatGPT_EP{k}" for k in range(1, 5)], STORIES),
    ("hanna", "Mistral-7B"): ([f"Mistral-7B_EP{k}" for k in range(1, 5)], STORIES),
}
SPREAD = Path(__file__).parent / "ideas" / "spread.py"
REPORT = 1 / 3
"""Share of the texts that losses are of."""


def main() -> None:
    """Fit, compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--out", type=Path, default=Path("prompts.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", cp.CordialWarning)
    losses: dict[tuple[str, str, int], list[dict[str, float]]] = defaultdict(list)
    for (source, model), (readers, tasks) in PROMPTS.items():
        for n in args.budgets:
            for task in tasks:
                logits, labels = load(source, task, readers)
                for draw in range(args.draws):
                    losses[source, model, n].append(compare(source, logits, labels, n, draw))
            show(f"{source}, {model}, {len(readers)} prompts, {n} labels", losses[source, model, n])
    for n in args.budgets:
        show(f"all, {n} labels", [e for key, each in losses.items() if key[2] == n for e in each])
    rows = [{"set": s, "reader": m, "n": n, "losses": e} for (s, m, n), e in losses.items()]
    args.out.write_text(json.dumps(rows, indent=1))


def load(source: str, task: str, readers: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Logits of all prompts at the texts that each has read, and labels."""
    folder = Path(os.environ[FOLDER]) / source
    table = read_several([next(folder.glob("readings.*"))], readers=readers, task=task)
    labels, rows = match_labels(table, read_labels(folder / "labels.csv", table.scale, task=task))
    whole = np.isfinite(table.logits[rows]).all(axis=(1, 2))
    return table.logits[rows][whole], labels.labels[whole]


def compare(
    source: str, logits: np.ndarray, labels: np.ndarray, n: int, draw: int
) -> dict[str, float]:
    """Log loss of each way to use the prompts."""
    order = np.random.default_rng([draw, n]).permutation(len(labels))
    rows, report = order[:n], order[-int(REPORT * len(order)) :]
    prior = without(source) if source != "hanna" else cp.shipped_prior().with_rule(name="cautious")

    def score(stack: cp.Cordial, readings: np.ndarray, spread: np.ndarray | None = None) -> float:
        seen, held_out = (
            {"spread": spread[part]} if spread is not None else None for part in (rows, report)
        )
        stack.fit(readings[rows], labels[rows], covariates=seen)
        probs = stack.predict_proba(readings[report], covariates=held_out)
        return float(log_loss(probs, labels[report]))

    each = [score(cp.Cordial(prior=prior, seed=draw), logits[:, k]) for k in range(logits.shape[1])]
    mean = logits.mean(axis=1)
    probs = np.exp(logits - logits.max(axis=2, keepdims=True))
    means = probs @ np.arange(logits.shape[2]) / probs.sum(axis=2)
    fusion = cp.Fusion(prior=prior, seed=draw).fit(logits[rows], labels[rows])
    return {
        "one prompt": float(np.mean(each)),
        "best in hindsight": min(each),
        "mean": score(cp.Cordial(prior=prior, seed=draw), mean),
        "mean, spread": score(
            cp.Cordial(channels=[SPREAD], prior=prior, seed=draw), mean, means.std(axis=1)
        ),
        "fusion": float(log_loss(fusion.predict_proba(logits[report]), labels[report])),
    }


def show(title: str, losses: list[dict[str, float]]) -> None:
    """Print means, and by how much each is below that of one prompt, with standard errors."""
    base = np.array([each["one prompt"] for each in losses])
    print(f"{title}: one prompt {base.mean():.4f}; below it:")
    for name in list(losses[0])[1:]:
        gain = base - np.array([each[name] for each in losses])
        print(f"  {name:18} {gain.mean():+.4f} (se {gain.std(ddof=1) / len(gain) ** 0.5:.4f})")


if __name__ == "__main__":
    main()
