"""The map from the paper to the code: every function and test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def defined(name, folder):
    path, _, dotted = name.partition("::")
    file = (ROOT if path.startswith("benchmarks/") else ROOT / folder) / path
    text = file.read_text() if file.exists() else ""
    words = (rf"^ *(def|class) {part}\b|^[\w, ]*\b{part}\b.* = " for part in dotted.split("."))
    return all(re.search(word, text, re.MULTILINE) for word in words)


def test_what_the_table_names_is_there():
    text = (ROOT / "benchmarks/paper/README.md").read_text()
    rows = re.findall(r"^\| .+ \| (`.+::.+) \| (`.+::.+) \|$", text, re.MULTILINE)
    assert len(rows) > 40
    for folder, cells in zip(("cordial_ppl", "tests"), zip(*rows, strict=True), strict=True):
        names = re.findall(r"`([^`]+::[^`]+)`", " ".join(cells))
        assert [name for name in names if not defined(name, folder)] == []
        assert not defined("scores.py::rpss", folder)
