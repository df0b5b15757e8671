"""The picture of the README: what people say where the judge says one, two, ... five stars.

Made from the embedded reviews.  Twenty labels are drawn twenty times; each draw calibrates the
other reviews.  Needs matplotlib (``pip install -e ".[docs]"``).

    python docs/picture.py
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import cordial_ppl as cp

LABELS, DRAWS = 20, 20
BARS, RAW, CALIBRATED, INK = "#d9d6cf", "#c8553d", "#1f6f8b", "#3a3a3a"


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities that the judge states."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def means(probs: np.ndarray, stated: np.ndarray) -> np.ndarray:
    """Mean distribution of the texts with each stated class."""
    return np.stack([probs[stated == k].mean(axis=0) for k in range(probs.shape[1])])


def calibrations(texts) -> np.ndarray:
    """Calibrated mean distributions by stated class, one for each draw of the labels."""
    stated, found = texts.logits.argmax(axis=1), []
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(texts.labels))
        rows, rest = order[:LABELS], order[LABELS:]
        judge = cp.Cordial(seed=draw).fit(texts.logits[rows], texts.labels[rows])
        found.append(means(judge.predict_proba(texts.logits[rest]), stated[rest]))
    return np.stack(found)


def main() -> None:
    """Fit and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "picture.svg")
    args = parser.parse_args()
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "cordial",
            "font.family": "sans-serif",
            "font.size": 10,
            "text.color": INK,
            "axes.edgecolor": "#9a978f",
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )
    texts = cp.synthetic.reviews()
    size = len(texts.options)
    stated = texts.logits.argmax(axis=1)
    people = means(np.eye(size)[texts.labels], stated)
    raw = means(softmax(texts.logits), stated)
    draws = calibrations(texts)
    stars = np.arange(1, size + 1)

    figure, panels = plt.subplots(1, size, figsize=(10, 2.9), sharey=True)
    for k, panel in enumerate(panels):
        panel.bar(stars, people[k], width=0.78, color=BARS, label="what people gave")
        panel.plot(stars, raw[k], color=RAW, lw=1.4, ls=(0, (4, 2)), marker="o", ms=3.5)
        panel.plot(stars, draws[:, k].T, color=CALIBRATED, lw=0.5, alpha=0.2)
        panel.plot(stars, draws[:, k].mean(axis=0), color=CALIBRATED, lw=2, marker="o", ms=4)
        count = int((stated == k).sum())
        panel.set_title(f"judge says {k + 1}", fontsize=10.5, color=INK, pad=16)
        panel.text(
            0.5, 1.03, f"{count:,} reviews", transform=panel.transAxes, ha="center", fontsize=8.5
        )
        panel.set_xticks(stars)
        panel.tick_params(length=0)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.set_ylim(0, 1)
        panel.grid(axis="y", color="#efede8", lw=0.8)
        panel.set_axisbelow(True)
    panels[0].set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    figure.supxlabel("stars", fontsize=10, color=INK, y=0.13)
    keys = [
        plt.Rectangle((0, 0), 1, 1, color=BARS),
        plt.Line2D([], [], color=RAW, lw=1.4, ls=(0, (4, 2)), marker="o", ms=3.5),
        plt.Line2D([], [], color=CALIBRATED, lw=2, marker="o", ms=4),
        plt.Line2D([], [], color=CALIBRATED, lw=0.8, alpha=0.4),
    ]
    names = [
        "stars that people gave",
        "what the judge states",
        f"calibrated with {LABELS} labels, mean of {DRAWS} draws",
        "each draw",
    ]
    figure.legend(keys, names, loc="lower center", ncols=4, frameon=False, fontsize=9.5)
    figure.subplots_adjust(left=0.055, right=0.995, top=0.86, bottom=0.26, wspace=0.08)
    metadata = {"Date": None} if args.out.suffix == ".svg" else None
    figure.savefig(args.out, metadata=metadata, dpi=160)


if __name__ == "__main__":
    main()
