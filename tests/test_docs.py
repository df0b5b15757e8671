"""The pages of the documentation: their code runs, and what they name is there."""

import re
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pages
import pandas
import pytest
import typer
from msgspec import structs
from notebooks import as_markdown
from typer.core import TyperGroup

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime import platform

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
FRAGMENTS = {"checks", "fusion", "priors", "sweeps", "users"}
"""Pages whose code is of readings that the reader has."""

SLOW = "docs/tutorials/sweep.md"
"""A page that takes as long as all others together; it is run nightly."""

COMPLETE = [
    pytest.param(name, marks=pytest.mark.nightly) if name == SLOW else name
    for name, text in PAGES.items()
    if Path(name).stem not in FRAGMENTS
    and any(fence.language == "python" for fence in pages.fences(text))
    or name.startswith("docs/tutorials")
]


@pytest.mark.pinned
@pytest.mark.parametrize("name", COMPLETE)
def test_a_page_does_as_it_says(name, tmp_path, monkeypatch):
    for folder in ("tests", "models"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    pages.run(PAGES[name], tmp_path, shell=name.startswith("docs/tutorials"))


def program():
    """The commands of `cordial` by name."""
    from cordial_ppl.cli.app import app

    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group.commands


@pytest.mark.parametrize("name", DOCUMENTS)
def test_names_and_commands_are_there(name):
    known = program()
    for fence in pages.fences(DOCUMENTS[name]):
        if fence.language == "python":
            compile(fence.code, name, "exec")
        if fence.language in ("sh", "bash"):
            for command, *arguments in pages.commands(fence):
                found = known[command]
                found.make_parser(found.context_class(found)).parse_args(arguments)
    for attribute in set(re.findall(r"\bcp\.(\w+)", DOCUMENTS[name])):
        assert hasattr(cp, attribute), f"{name} names cp.{attribute}"


@pytest.mark.parametrize("name", [*DOCUMENTS, "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_lead_somewhere(name):
    text = DOCUMENTS.get(name) or (ROOT / name).read_text()
    for link in re.findall(r"\]\((?!https?:|data:|#)([^)#\s]+)", text):
        assert ((ROOT / name).parent / link).exists(), f"{name} links to {link}"


def test_every_public_name_is_in_the_reference():
    named = re.findall(r"^::: cordial_ppl\.(\w+)$", PAGES["docs/reference.md"], re.MULTILINE)
    assert sorted(named) == sorted(dir(cp))
    assert all(getattr(cp, name) is not None for name in named)


def test_every_command_and_option_is_on_its_page():
    _, *parts = re.split(r"^## ", PAGES["docs/cli.md"], flags=re.MULTILINE)
    sections = dict(part.split("\n", 1) for part in parts)
    common = options_of(sections["Options of several commands"])
    commands = program()
    assert [f"cordial {name}" for name in commands] == list(sections)[2:]
    for name, command in commands.items():
        own = options_of(sections[f"cordial {name}"])
        known = {option for parameter in command.params for option in parameter.opts}
        known = {option for option in known if option.startswith("--")}
        assert own <= known and known <= own | common, f"cordial {name}"
    assert common <= {o for c in commands.values() for p in c.params for o in p.opts}


def options_of(section):
    return set(re.findall(r"`(--[\w-]+)", section))


def test_figures_are_those_of_the_pages_that_measured_them():
    measured = PAGES["docs/accuracy.md"] + PAGES["docs/comparison.md"]
    known = set(re.findall(r"-?\d?\.\d{3}\b", measured))
    (section,) = re.findall(
        r"^## What was measured\n(.*?)^## ", PAGES["docs/which.md"], flags=re.DOTALL | re.MULTILINE
    )
    rows = [line for line in section.splitlines() if line.startswith("|")]
    figures = set(re.findall(r"-?\d?\.\d{3}\b", "".join(rows)))
    assert len(figures) > 40 and figures <= known, figures - known


@pytest.mark.pinned
def test_messages_are_those_of_the_package(tmp_path, monkeypatch, stack):
    """Each message of the page is raised here, and each that is raised here is on the page."""
    monkeypatch.chdir(tmp_path)
    quoted = [
        f.code.strip()
        for f in pages.fences(PAGES["docs/troubleshooting.md"])
        if f.language == "text"
    ]
    said = [*said_by_arrays(), *said_by_tables(tmp_path), *said_of_fits(stack)]
    said += said_by_platforms(monkeypatch)
    assert sorted(quoted) == sorted(said)


def said_by_platforms(monkeypatch):
    def fail():
        raise AssertionError

    with monkeypatch.context() as changed:
        changed.setattr(jax, "devices", fail)
        platform._start.cache_clear()
        (message,) = messages(platform.start_jax)
        # Tests run where a platform starts, whichever that is.
        yield re.sub(r"start( on [^:]*)?:", "start on the platform 'cuda':", message)
        changed.setattr(platform, "_forked", True)
        yield from messages(platform.start_jax)


def messages(*actions):
    """What each action says, as a warning or an error."""
    for action in actions:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                action()
            except cp.CordialError as error:
                yield str(error)
        yield from (str(warning.message) for warning in caught)


def said_by_arrays():
    texts = reviews(60)
    logits, labels = texts.logits, texts.labels
    nothing, unread = logits.copy(), logits.copy()
    nothing[3, 1], unread[3, 1] = np.nan, -np.inf
    judge, mixed = cp.TemperatureScaling, ["logit_1", "logit_3", "logit_2"]
    return messages(
        lambda: judge().fit(logits, labels + 1),
        lambda: judge().fit(nothing, labels),
        lambda: judge().fit(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels),
        lambda: judge().fit(unread, labels),
        lambda: judge().fit(logits, labels[:-1]),
        lambda: judge().fit(logits[0], labels[:1]),
        lambda: judge(("1", "2", "3")).fit(logits, labels),
        lambda: cp.Fusion().fit(logits, labels),
        lambda: cp.readings_from_probabilities(np.full((2, 5), 0.3)),
        lambda: cp.ChannelCalibrator("models/nothing.py").fit(logits, labels),
        lambda: judge().fit(pandas.DataFrame(logits[:, :3], columns=mixed), labels),
    )


def said_by_tables(folder):
    from typer.testing import CliRunner

    from cordial_ppl.cli.app import app

    texts = reviews(60)
    names = [f"logit_{k}" for k in range(1, 6)]
    rows = [[f"t{i}", *row.round(3)] for i, row in enumerate(texts.logits)]
    labels = [[f"t{i}", label + 1] for i, label in enumerate(texts.labels[:20])]
    probs = 100 * np.exp(texts.logits) / np.exp(texts.logits).sum(axis=1, keepdims=True)
    percent = [[f"t{i}", *row.round(9)] for i, row in enumerate(probs)]
    order = [0, 3, 1, 4, 2]
    tables = {
        "R.csv": (["item_id", *names], rows),
        "twice/R.csv": (["item_id", *names], rows + rows[:2]),
        "from0/R.csv": (["item_id", *(f"logit_{k}" for k in range(5))], rows),
        "both/R.csv": (["item_id", *names, "p_1", "p_2"], [[*row, 0.5, 0.5] for row in rows]),
        "two/R.csv": (
            ["item_id", "reader", *names],
            [[row[0], "ab"[i % 2], *row[1:]] for i, row in enumerate(rows)],
        ),
        "mixed/R.csv": (
            ["item_id", *(names[k] for k in order)],
            [[row[0], *(row[1 + k] for k in order)] for row in rows],
        ),
        "P.csv": (["item_id", *(f"p_{k}" for k in range(1, 6))], percent),
        "L.csv": (["item_id", "label"], labels),
        "lower/L.csv": (["item_id", "label"], [[item, label - 1] for item, label in labels]),
        "strange/L.csv": (["item_id", "label"], [labels[0], ["x1", 1], ["x2", 2]]),
        "several/L.csv": (
            ["item_id", "label", "rater"],
            [["t0", 4, "ann"], ["t0", 5, "bob"], ["t1", 2, "ann"]],
        ),
        "texts.csv": (["item_id", "text"], [["a", "hello"]]),
    }
    for name, (header, content) in tables.items():
        (folder / name).parent.mkdir(exist_ok=True)
        lines = (",".join(map(str, row)) for row in [header, *content])
        (folder / name).write_text("\n".join(lines))

    def say(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 2
        said = result.stderr.strip().removeprefix("error: ")
        return re.sub(r"\b(?:twice|from0|both|two|strange|mixed|lower|several)/", "", said)

    fit = ("-o", "judge.cordial")
    return [
        say("fit", "from0/R.csv", "L.csv", *fit),
        say("fit", "R.csv", "lower/L.csv", *fit),
        say("fit", "P.csv", "L.csv", *fit),
        say("fit", "mixed/R.csv", "L.csv", *fit),
        say("fit", "twice/R.csv", "L.csv", *fit),
        say("fit", "two/R.csv", "L.csv", *fit),
        say("fit", "R.csv", "strange/L.csv", *fit),
        say("fit", "R.csv", "several/L.csv", *fit),
        say("fit", "both/R.csv", "L.csv", *fit),
        say("read", "texts.csv", "-o", "out.csv"),
        say("predict", "R.csv", "R.csv", "-o", "out.csv"),
        say("fit", "R.csv", "L.csv", "-o", "j.txt"),
        say("calibrate", "R.csv", "L.csv", "-o", "R.csv"),
    ]


def said_of_fits(stack):
    from cordial_ppl.decisions.summary import describe
    from cordial_ppl.estimators.files import PosteriorRecord, find_channels
    from cordial_ppl.inference.posterior import Diagnostics, warn_if_doubtful
    from cordial_ppl.stack.weighing import ExpectedLoss

    posterior = stack.posteriors_["mixture"]
    # Figures of the fit itself differ by seed, so none of them is kept.
    poor = Diagnostics("default", khat=0.83, ess=61.0)
    apart = Diagnostics("nuts", ess=746.0, divergences=2)
    scale, nothing = stack.fit_.scale, float("nan")
    severe = structs.replace(PosteriorRecord.of(posterior), built_in=False, digest="another")
    yield from messages(lambda: find_channels({"severe": severe}, ()))
    doubtful = [replace(posterior, diagnostics=found) for found in (poor, apart)]
    yield from messages(*(partial(warn_if_doubtful, found) for found in doubtful))
    for losses in (ExpectedLoss(1.24, 1.19, 2.0, 20), ExpectedLoss(nothing, nothing, 2.0, 5)):
        yield from describe({}, {}, losses, scale).warnings
