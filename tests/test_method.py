"""The table of the method's page: every function and test that it names is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = re.findall(
    r"^\| (.+) \| (`.+::.+) \| (`.+::.+) \|$", (ROOT / "docs/method.md").read_text(), re.M
)


def defined(name, folder):
    """Whether a file of the folder, or of the repository, defines a name such as `Class.method`."""
    path, _, dotted = name.partition("::")
    file = ROOT / path if path.startswith("benchmarks/") else ROOT / folder / path
    nodes = ast.parse(file.read_text()).body if file.exists() else []
    for part in dotted.split("."):
        here = [node for node in nodes if part in names(node)]
        nodes = getattr(here[0], "body", []) if here else None
        if nodes is None:
            return False
    return True


def names(node):
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    targets = [each for t in targets for each in getattr(t, "elts", [t])]
    return [getattr(each, "id", getattr(each, "name", "")) for each in targets]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_the_table_names_is_there(row):
    for cell, folder in zip(row[1:], ("cordial_ppl", "tests"), strict=True):
        for name in re.findall(r"`([^`]+::[^`]+)`", cell):
            assert defined(name, folder), f"docs/method.md names {name}, which is not there"


def test_the_table_is_read_and_a_wrong_name_is_seen():
    assert len(ROWS) > 40
    assert defined("inference/laplace.py::DRAWS", "cordial_ppl")
    for wrong in ("scores.py::rpss", "score.py::rps", "estimators/named.py::Cordial.papers"):
        assert not defined(wrong, "cordial_ppl")
