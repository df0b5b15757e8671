"""The pages of the documentation: their code runs, and what they name is there."""

import ast
import re
from pathlib import Path
from typing import Any

import pages
import pytest
from notebooks import as_markdown

import cordial_ppl as cp

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
PAGES |= {
    str(path.relative_to(ROOT)): as_markdown(path.read_text())
    for path in sorted(DOCS.rglob("*.ipynb"))
}
DOCUMENTS = PAGES | {
    name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "models/README.md")
}
FRAGMENTS = {"monitor", "priors"}
"""Pages whose code is of readings that the reader has."""

MAKING = ("docs/tutorials", "docs/decide.md", "docs/tables.md")
"""Pages that make what their commands read: these are run too."""

OTHER_PAGES = "pipeline", "judges", "decide"
"""Pages whose calls other tests make for each change: that they do as they say is for the night."""

COMPLETE = [
    name
    for name, text in PAGES.items()
    if Path(name).stem not in FRAGMENTS
    and any(fence.language == "python" for fence in pages.fences(text))
    or name.startswith("docs/tutorials")
]


@pytest.mark.pinned
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if daily else pytest.mark.nightly)
        for name in COMPLETE
        for daily in [name.endswith(".md") and Path(name).stem not in OTHER_PAGES]
    ],
)
def test_a_page_does_as_it_says(name, tmp_path, monkeypatch, fits_once):
    for folder in ("tests", "models"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    pages.run(PAGES[name], tmp_path, shell=name.startswith(MAKING))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_names_and_commands_are_there(name):
    from cordial_ppl.cli.app import app

    settings: Any = {"print_error": False, "exit_on_error": False}
    for fence in pages.fences(DOCUMENTS[name]):
        if fence.language == "python":
            compile(fence.code, name, "exec")
        if fence.language in ("sh", "bash"):
            for tokens in pages.commands(fence):
                app.parse_args(tokens, **settings)
    for attribute in set(re.findall(r"\bcp\.(\w+)", DOCUMENTS[name])):
        assert hasattr(cp, attribute), f"{name} names cp.{attribute}"


@pytest.mark.parametrize("name", [*DOCUMENTS, "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"])
def test_links_lead_somewhere(name):
    text = DOCUMENTS.get(name) or (ROOT / name).read_text()
    for link in re.findall(r"\]\((?!https?:|data:|#)([^)#\s]+)", text):
        assert ((ROOT / name).parent / link).exists(), f"{name} links to {link}"


def test_one_version_is_stated_everywhere():
    stated = {
        "pyproject.toml": 'version = "{}"',
        "CITATION.cff": "version: {}",
        "CHANGELOG.md": "## {} (",
        ".github/actions/cordial/action.yml": "default: cordial-ppl=={}\n",
    }
    (version,) = re.findall('^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    for path, text in stated.items():
        assert text.format(version) in (ROOT / path).read_text("utf-8"), path


def test_every_public_name_is_in_the_reference():
    named = re.findall(r"^::: cordial_ppl\.(\w+)$", PAGES["docs/reference.md"], re.MULTILINE)
    rooms = {"calibrators", "channels", "priors"}
    assert sorted({*named} | rooms) == sorted(dir(cp))
    assert all(getattr(cp, name) is not None for name in named)


def test_the_page_of_commands_is_made_of_them():
    import commands

    assert commands.page() == PAGES["docs/cli.md"], "python docs/commands.py writes it anew"


def test_the_reference_in_the_repository_is_made_of_docstrings():
    import signatures

    assert signatures.page() == PAGES["docs/api.md"], "python docs/signatures.py writes it anew"


def test_messages_are_those_of_the_package():
    """A piece of each message on the pages stands in the source, whatever its figures are."""
    files = (ROOT / "cordial_ppl").rglob("*.py")
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    constants = {n.value for n in nodes if isinstance(n, ast.Constant)}
    texts = [text for text in constants if isinstance(text, str) and len(text) > 20]
    documents = map(pages.fences, PAGES.values())
    quoted = [f.code for fences in documents for f in fences if f.language == "console"]
    assert len(quoted) >= 10
    for message in quoted:
        assert any(text in message for text in texts), message
