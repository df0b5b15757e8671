"""Every test runs under the strictest numerics: typed shapes, no silent promotion, float64."""

import os
import warnings
from pathlib import Path

# Programs that were compiled are found by other workers, by processes that tests start and by the
# next run.  One that is met half written is compiled again, as it is for users.
PROGRAMS = Path(__file__).parent.parent / ".cache" / "programs"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(PROGRAMS)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# What a slow machine would say meanwhile is in nobody's way but that of tests.
os.environ.setdefault("CORDIAL_PROGRESS", "0")

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from seeds import pin, shift_seeds  # noqa: E402

X64 = os.environ.get("CORDIAL_TEST_X64", "1") != "0"
NIGHTLY = os.environ.get("CORDIAL_TEST_NIGHTLY", "0") != "0"

jax.config.update("jax_enable_x64", X64)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
shift_seeds()

# Wrapping a function takes milliseconds, and some that are made inside others are made thousands of
# times: such a one is checked the first time.
WRAP, WRAPPED = jaxtyping.jaxtyped, set()


def wrap_once(*, typechecker):
    def wrap(own):
        code = getattr(own, "__code__", own)
        if code in WRAPPED:
            return own
        WRAPPED.add(code)
        return WRAP(own, typechecker=typechecker)

    return wrap


jaxtyping.jaxtyped = wrap_once

# The numeric tower: a whole number is welcome where a float is annotated, as for type checkers.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("cordial_ppl", CHECKER)

# A slow machine is no fault of the tests.
settings.register_profile(
    "cordial",
    max_examples=100 if NIGHTLY else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cordial")


LITERAL = "ignore:the posteriors? of .*Use inference 'default'"
"""The one warning that tests of the paper's own method, and of modes, go without."""

QUICK = {
    f"test_{name}.py"
    for name in (
        *("answers", "channel", "importance", "permutation", "readings", "readme"),
        *("rectified", "scale", "scores", "stack"),
    )
}
"""Files that together show in less than a minute that an installation works."""


def pytest_collection_modifyitems(items):
    """Forget programs while there are none; skip what this leg is not for."""
    # Who counts programs first clears those that JAX remembers: later, the worker's other tests
    # would trace all of theirs anew.
    items.sort(key=lambda item: item.path.name != "test_compilation.py")
    for item in items:
        if item.path.name in QUICK:
            item.add_marker("quick")
        if item.get_closest_marker("literal"):
            item.add_marker(pytest.mark.filterwarnings(LITERAL))
        if "x64" in item.keywords and not X64:
            item.add_marker(pytest.mark.skip(reason="needs float64"))
        if "nightly" in item.keywords and not NIGHTLY:
            item.add_marker(pytest.mark.skip(reason="nightly: CORDIAL_TEST_NIGHTLY=1"))


def pytest_runtest_setup(item):
    pin(item.get_closest_marker("pinned") is not None)


# The package may only be imported once it is hooked, hence inside the fixtures.


@pytest.fixture
def fits_once(monkeypatch):
    """Fit the same labels once, whichever commands ask for it: what a fit is others test."""
    from fits import fit_once

    monkeypatch.setattr("cordial_ppl.stack.members.fit_cases", fit_once)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures of reports out, which take a second, where a test is of something else."""
    monkeypatch.setattr("cordial_ppl.plots.report.pictures._draw", lambda *_: "data:,")


@pytest.fixture
def few_resamples(monkeypatch):
    """Draw tables of agreement a hundred times, not a thousand, where all that is compared does."""
    monkeypatch.setattr("cordial_ppl.decisions.agreement.DRAWS", 100)


@pytest.fixture
def cordial(tmp_path, monkeypatch, fits_once):
    """Run the program in an empty folder."""
    import program

    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        result = program.run(*arguments)
        assert result.status == status, result.output
        return result

    return run


@pytest.fixture
def as_json(cordial):
    """Run the program; return the JSON that it prints."""
    import json

    def run(*arguments, status=0):
        return json.loads(cordial(*arguments, "--json", status=status).stdout)

    return run


@pytest.fixture
def refused(cordial, tmp_path):
    """Run the program on what it refuses: status 2, one line with the facts, no file changed."""

    def contents():
        return {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}

    def run(facts, *arguments):
        before = contents()
        result = cordial(*arguments, status=2)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert result.stdout == "" and len(lines) == 1, result.output
        assert lines[0].startswith(("cordial: ", f"cordial {arguments[0]}: "))
        missing = [fact for fact in facts.split("|") if fact not in lines[0]]
        assert not missing, lines[0]
        assert contents() == before

    return run


@pytest.fixture
def server():
    """A server on this machine, to be asked."""
    from loopback import serving

    with serving() as loopback:
        yield loopback


@pytest.fixture
def ask(cordial, server, monkeypatch, tmp_path):
    """Ask our server about twelve texts."""
    from asked_texts import OPTIONS, write_texts
    from loopback import KEY

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_texts(tmp_path / "texts.csv")

    def run(*arguments, status=0):
        where = {"--server": server.url, "--key-variable": "OPENAI_API_KEY"}
        where = [part for pair in where.items() if pair[0] not in arguments for part in pair]
        given = ("ask", "texts.csv", "-o", "out.csv", *OPTIONS, *where)
        return cordial(*given, *arguments, status=status)

    return run


@pytest.fixture
def log(tmp_path):
    """Write a log of objects, JSON Lines; return its path."""
    import json

    def write(*rows, name="log.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def text(tmp_path):
    """Write lines to a file of a given name; return its path."""

    def write(name, *lines):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def stack():
    from few_labels import LABELS, LOGITS, small

    return small().fit(LOGITS, LABELS)


@pytest.fixture(scope="session")
def eight():
    """The same stack with eight labels, the fewest that are weighed."""
    from few_labels import LABELS, LOGITS, small

    return small().fit(LOGITS[:8], LABELS[:8])


@pytest.fixture(scope="session")
def judge():
    """Everything that is meant to be used, fitted to labels in the user's words."""
    from few_labels import LABELS, LOGITS, STARS

    import cordial_ppl

    names = [f"text {k}" for k in range(len(LABELS))]
    with warnings.catch_warnings():
        # With some seeds a posterior is doubtful: that is for tests of diagnostics.
        warnings.simplefilter("ignore", cordial_ppl.CordialWarning)
        return cordial_ppl.Cordial(STARS).fit(LOGITS, [STARS[k] for k in LABELS], texts=names)
