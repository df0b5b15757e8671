"""Twelve texts about which our server is asked, and what it says of them."""

import numpy as np
from loopback import STARS

WORDS = [list(STARS)[k] for k in (3, 0, 4, 2, 1, 1, 3, 4, 0, 2, 3, 4)]
OPTIONS = ("--model", "tiny", "--options", "1,2,3,4,5")


def write_texts(path, words=WORDS):
    rows = [f"t{i},It is number {i} and {word}.\n" for i, word in enumerate(words)]
    path.write_text("item_id,text\n" + "".join(rows))


def expected(words=WORDS):
    weights = np.array([[0.5 ** abs(k - STARS[word]) for k in range(1, 6)] for word in words])
    return np.log(weights / weights.sum(axis=1, keepdims=True))


def logprobs(path="out.csv"):
    from cordial_ppl.tables import read_columns

    columns = read_columns(path)
    cells = (columns.cells[f"logprob_{k}"] for k in range(1, 6))
    return np.array([[float(cell or "nan") for cell in column] for column in cells]).T
