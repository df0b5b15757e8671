"""Measured figures on pages: placeholders that tables fill, and none that is written by hand."""

import re
from pathlib import Path

import figures
import pages
import pytest
from results import digest_prior
from test_docs import DOCUMENTS, PAGES, ROOT

TABLES = sorted(figures.TABLES.glob("*.csv"))
LINES = """labels,stack,loss,loss se,gain,gain in,draws
5,ours,1.25,0.004,0.0512,music,20
5,raw,1.5,,,,20
10,ours,1.2,0.003,-0.04,mosei,20
10,raw,1.5,,,,20
100000,ours,0.994,0.0005,1.0,music,20
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    (tmp_path / "losses.csv").write_text(LINES)
    monkeypatch.setattr(figures, "TABLES", tmp_path)


@pytest.mark.parametrize(
    ("placeholder", "expected"),
    [
        ("losses loss labels=5 stack=ours", "1.250"),
        ("losses loss ± labels=5 stack=ours digits=2", "1.25 ± 0.00"),
        ("losses loss ± labels=5 stack=raw", "1.500"),
        ("losses gain labels=10 stack=ours percent", "-4 %"),
        ("losses 'gain in' labels=10 stack=ours", "mosei"),
        ("losses gain labels=5 stack=raw", ""),
        ("losses gain labels=10 stack=ours digits=1", "0.0"),
        ("losses draws labels=5 stack=raw", "20"),
    ],
)
def test_a_placeholder_becomes_its_figure(tables, placeholder, expected):
    assert figures.fill(f"It is {{{{ {placeholder} }}}} nats.") == f"It is {expected} nats."


def test_a_placeholder_becomes_a_table(tables):
    found = figures.fill(
        "{{ losses loss down=stack across=labels→n labels=5;10 stack=raw;ours→us }}"
    )
    assert found.splitlines() == [
        "|  | n = 5 | n = 10 |",
        "| --- | --- | --- |",
        "| raw | 1.500 | 1.500 |",
        "| us | 1.250 | 1.200 |",
    ]
    every = figures.fill("{{ losses loss down=stack across=labels }}").splitlines()
    assert every[-1] == "| raw | 1.500 | 1.500 |  |"
    found = figures.fill("{{ losses loss→nats gain ± down=labels→of stack=ours }}")
    assert found.splitlines() == [
        "| of | nats | gain |",
        "| --- | --- | --- |",
        "| 5 | 1.250 ± 0.004 | 0.051 |",
        "| 10 | 1.200 ± 0.003 | -0.040 |",
        "| 100000 | 0.994 ± 0.001 | 1.000 |",
    ]


@pytest.mark.parametrize(
    "placeholder",
    [
        "losses loss labels=5",
        "losses loss labels=5 stack=rw",
        "losses lost labels=5 stack=raw",
        "no loss labels=5",
    ],
)
def test_a_placeholder_that_nothing_fills_is_refused(tables, placeholder):
    with pytest.raises(ValueError, match=re.escape(placeholder)):
        figures.fill(f"{{{{ {placeholder} }}}}")


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says_was_measured(name):
    figures.fill(PAGES[name])


BY_HAND = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d*\.\d+(?![\w.])")
BESIDE = (
    figures.PLACEHOLDER,
    pages.FENCE,
    re.compile(r"`[^`]*`"),
    re.compile(r"\$[^$]*\$"),
    re.compile(r"^>.*$", re.MULTILINE),
    re.compile(r"\]\([^)]*\)( [\d.]+ \|)?"),
    re.compile(r"(Python|Section) [\d.]+"),
)
"""What may hold decimals: code and its output, formulas, links and releases."""


MADE = {"docs/paper.md", "docs/api.md", "docs/cli.md"}
"""Pages that programs write."""


@pytest.mark.parametrize("name", sorted({*DOCUMENTS, "ARCHITECTURE.md"} - MADE))
def test_no_measured_figure_is_written_by_hand(name):
    text = (ROOT / name).read_text() if name.endswith("md") else DOCUMENTS[name]
    for pattern in BESIDE:
        text = pattern.sub("", text)
    assert not BY_HAND.findall(text)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: Path(path).stem)
def test_tables_are_of_the_prior_that_ships(path):
    assert {line["prior"] for line in figures.read(path.stem)} == {digest_prior()}
