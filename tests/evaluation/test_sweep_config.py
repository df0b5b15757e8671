"""A sweep's file is refused before anything is fitted, with the key and what is allowed."""

import re

import pytest

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.evaluation.sweep import NINE, External, Method, parse_config, read_config

TASK = '\ntask.music = {benchmark = "music"}\n'
WHOLE = """
seed = 3
draws = 2
budgets = [5, 20]
methods = ["raw", "cordial"]

[task.quality]
readings = "readings.csv"
labels = "labels.csv"
readers = ["a"]
report = 50
covariates = ["length"]

[method.mode]
base = "cordial"
inference = "mode"

[method.bent]
channel = "location"

[external.shots]
probabilities = "shots.parquet"
"""


@pytest.fixture
def read(tmp_path):
    def write(text):
        path = tmp_path / "sweep.toml"
        path.write_text(text)
        return read_config(path)

    return write


def test_what_is_left_out_is_the_papers(read):
    config = read(TASK)
    assert config.budgets == (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    assert config.draws == 20 and config.seed == 0
    assert tuple(method.name for method in config.methods) == NINE and len(NINE) == 9
    assert "odds-fixed" in NINE and "raw" not in NINE
    assert config.tasks["music"].readers is None
    # Only variants means no others.
    config = parse_config({"task": {"music": {"benchmark": "music"}}, "method": {"mine": {}}})
    assert config.methods == (Method("mine", "cordial"),)


def test_a_file_and_its_paths(read, tmp_path):
    config = read(WHOLE)
    task = config.tasks["quality"]
    assert task.readings == str(tmp_path / "readings.csv") and task.report == 50
    assert task.covariates == ("length",)
    assert config.methods == (
        Method("raw", "raw"),
        Method("cordial", "cordial"),
        Method("mode", "cordial", {"inference": "mode"}),
        Method("bent", "channel", {"channel": "location"}),
        External("shots", tmp_path / "shots.parquet"),
    )
    variant = config.methods[2]
    assert isinstance(variant, Method) and vars(variant.build(7))["seed"] == 7


def test_a_channel_file_is_a_method_by_its_name(read, tmp_path):
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "mine.py"
    path.write_text("def model(readings, labels=None): ...\n")
    found = read("methods = ['own/mine.py', 'raw']\n" + TASK).methods
    assert found == (Method("mine", "channel", {"channel": str(path)}), Method("raw", "raw"))
    for text in ("methods = ['own/mine.py']\nmethod.mine = {}", "methods = ['own/temperature.py']"):
        path.with_name("temperature.py").write_text(path.read_text())
        with pytest.raises(InputError, match="the name is taken; choose another"):
            read(f"{text}\n{TASK}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methods = ['raw', 'none.py']", "methods[1]: there is no channel file at "),
        ("bugdets = [5]", "the file: unknown key bugdets; its keys are seed, draws, budgets"),
        ("draws = 0", "draws: expected int >= 1; got 0"),
        ("seed = -1", "seed: expected int >= 0; got -1"),
        ("budgets = []", "budgets: expected list of length >= 1; got []"),
        ("budgets = [5, 2.5]", "budgets[1]: expected int; got 2.5"),
        ("budgets = [20, 10]", "budgets must ascend, each once; got [20, 10]"),
        ("methods = ['raw', 'platt']", "methods[1] must be one of raw, histogram"),
        ("methods = ['raw', 'raw']", "methods names 'raw' more than once"),
        ("methods = 'raw'", "methods: expected list; got 'raw'"),
        ("task.m = {benchmark = 'opera'}", "task.m.benchmark must be one of music, beauty"),
        ("task.m = {benchmark = 'music', report = 3}", "task.m.report: a benchmark task"),
        ("task.m = {readings = 'r.csv'}", "task.m needs benchmark, or both readings and"),
        ("task.m = {raeders = []}", "task.m: unknown key raeders; its keys are benchmark"),
        ("task.'' = {benchmark = 'music'}", "task: expected str of length >= 1"),
        ("task.m = {benchmark = 'music', readers = ['a', 'a']}", "task.m.readers names 'a' more"),
        ("method.raw = {base = 'cordial'}", "method.raw: the name is taken"),
        ("method.x = {base = 'raw'}", "method.x.base must be one of logit-stack"),
        (
            "method.x = {base = 'logit-stack', inference = 'mode'}",
            "method.x: a setting of logit-stack must be one of weight_counts; got 'inference'",
        ),
        (
            "method.x = {inference = 'vb'}",
            "method.x: inference must be one of default, laplace, mode, nuts",
        ),
        ("method.x = {channel = 'afine'}", "method.x: "),
        ("method.x = {base = 'channel'}", "method.x needs the key channel"),
        ("method.x = {weight_counts = 5}", "method.x.weight_counts: expected table; got 5"),
        ("external.icl = {}", "external.icl: missing key probabilities"),
        ("external.Temperature = {probabilities = 'x.csv'}", "external.Temperature: the name is"),
    ],
)
def test_what_is_refused(read, text, message):
    with pytest.raises(InputError, match="sweep.toml: " + re.escape(message)):
        read(text + TASK)


def test_a_file_that_is_none(read, tmp_path):
    with pytest.raises(InputError, match="no task: add a table"):
        read("")
    with pytest.raises(InputError, match="task: expected table; got 3"):
        read("task = 3")
    with pytest.raises(FileError, match="cannot read .*absent.toml: No such file"):
        read_config(tmp_path / "absent.toml")
    for text, words in (("draws = \n", "line 1"), ("draws = 3\ndraws = 4\n", "line 2")):
        with pytest.raises(FileError, match=f"is not TOML: .*{words}"):
            read(text)
    (tmp_path / "sweep.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not TOML"):
        read_config(tmp_path / "sweep.toml")
