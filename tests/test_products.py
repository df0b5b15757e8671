"""Products of sweeps: each by its name, what they ask of a sweep, and what they write."""

import builtins
import csv

import pytest
from make import OF_A_SWEEP as PRODUCTS
from planted import drawn, row, sweep, two_tasks

from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.products import PRODUCTS as PACKAGE
from cordial_ppl.products import write_product


@pytest.fixture
def results():
    return two_tasks()


def test_every_product_goes_by_its_name(results):
    for name, make in PACKAGE.items():
        product = make(results)
        assert product.name == name
        assert product.caption.endswith(".") and ". " not in product.caption
        assert all(len(line) == len(product.shown.header) for line in product.shown.rows)
        assert product.notes[-1].startswith("None of the ")


def test_the_table_has_means_and_paired_intervals(results):
    product = PACKAGE["table"](results)
    at_20 = row(product, task="film", n=20, method="logit-stack")
    assert at_20["log_loss"] == pytest.approx(0.55) and not at_20["best"]
    found = [at_20[name] for name in ("difference", "lower", "upper")]
    assert found == pytest.approx([0.05] * 3) and at_20["resolved"]
    assert row(product, task="film", n=20, method="cordial")["best"]
    shown = {line[2]: line[3:] for line in product.shown.rows if line[0] == "film"}
    assert shown["Dirichlet"] == ("1.300 ▲", "0.900 ▲", "0.600 ▲", "**0.450** ▼")
    assert shown["Logit stack (LS)"][2] == "**0.500**"


def test_curves_are_the_means_with_their_errors(results):
    product = PACKAGE["curves"](results)
    assert row(product, task="film", n=5, method="dirichlet")["log_loss"] == pytest.approx(1.3)
    figure = drawn(product)
    assert [axis.get_title() for axis in figure.axes] == ["music", "film"]
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[1].get_lines()}
    assert lines["Dirichlet"] == pytest.approx([1.3, 0.9, 0.6, 0.45])
    assert figure.axes[1].get_ylim()[1] < 2


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("scores", "logit-stack"),
        ("crossover", "dirichlet"),
    ],
)
def test_a_missing_method_is_named(results, name, method):
    cells = {
        key: {m: 1.0 for m in own.methods if m != method} for key, own in results.cells.items()
    }
    with pytest.raises(InputError, match=f"needs the method '{method}': add it to methods"):
        PRODUCTS[name](sweep(cells))


@pytest.mark.parametrize("name", [*PACKAGE, "scores", "crossover", "differences"])
def test_a_sweep_without_ours_is_refused(results, name):
    cells = {
        key: {m: 1.0 for m in own.methods if m != "cordial"} for key, own in results.cells.items()
    }
    with pytest.raises(InputError, match="none of the methods cordial, paper, paper-one-count"):
        PRODUCTS[name](sweep(cells))
    with pytest.raises(InputError, match="needs the method 'own'"):
        PRODUCTS[name](results, ours="own")


@pytest.mark.parametrize("name", ["table", "differences", "equivalents"])
def test_ours_alone_is_compared_with_nothing(name):
    results = sweep({("music", "main", 20): {"cordial": 0.5, "paper": 0.5}})
    with pytest.raises(InputError, match="the sweep has none"):
        PRODUCTS[name](results)


@pytest.mark.parametrize("name", ["reliability", "equivalents"])
def test_a_missing_budget_is_named(results, name):
    with pytest.raises(InputError, match="needs fits to 50 labels, which 'music' read by 'main'"):
        PRODUCTS[name](results, n=50)
    with pytest.raises(InputError, match="add 50 to budgets"):
        PRODUCTS["table"](results, budgets=[20, 50])


def test_files_hold_the_table_the_page_and_the_figure(results, tmp_path):
    product = PRODUCTS["differences"](results)
    written = write_product(product, tmp_path)
    assert [path.name for path in written] == [
        "differences.csv",
        "differences.md",
        "differences.png",
        "differences.pdf",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    with written[0].open(newline="", encoding="utf-8") as file:
        header, first, *rest = csv.reader(file)
    assert tuple(header) == product.table.header and len(rest) + 1 == len(product.table.rows)
    assert first[:4] == ["music", "main", "5", "raw"]
    page = written[1].read_text("utf-8")
    assert page.startswith(f"# {product.title}\n\n{product.caption}\n\n![")
    assert (
        "| music | main | Raw reading | **+1.500** | **+1.500** | **+1.500** | **+1.500** |" in page
    )
    assert written[2].read_bytes().startswith(b"\x89PNG")
    assert written[3].read_bytes().startswith(b"%PDF")
    before = written[3].read_bytes()
    write_product(product, tmp_path)
    assert written[3].read_bytes() == before


def test_nothing_is_left_behind_where_a_file_cannot_be_written(results, tmp_path):
    (tmp_path / "differences.pdf").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write_product(PRODUCTS["differences"](results), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["differences.pdf"]
    with pytest.raises(FileError, match="nowhere"):
        write_product(PRODUCTS["table"](results), tmp_path / "nowhere")


def test_without_matplotlib_tables_are_written_and_figures_left_out(results, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    product = PRODUCTS["differences"](results)
    with pytest.warns(CordialWarning, match=r'pip install "cordial-ppl\[plots\]"'):
        written = write_product(product, tmp_path)
    assert [path.name for path in written] == ["differences.csv", "differences.md"]
    assert "| Raw reading |" in written[1].read_text() and "![" not in written[1].read_text()
    assert len(write_product(PRODUCTS["table"](results), tmp_path)) == 2
    with pytest.raises(InputError, match=r'pip install "cordial-ppl\[plots\]"'):
        drawn(product)
