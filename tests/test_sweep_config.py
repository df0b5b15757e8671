"""A sweep's file is refused before anything is fitted, with the key and what is allowed."""

import re

import pytest

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.sweep import NINE, External, Method, parse_config, read_config

TASK = {"task": {"music": {"benchmark": "music"}}}


def test_what_is_left_out_is_the_papers():
    config = parse_config(TASK)
    assert config.budgets == (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    assert config.draws == 20 and config.seed == 0
    assert tuple(method.name for method in config.methods) == NINE and len(NINE) == 9
    assert config.tasks["music"].readers is None


def test_a_file_and_its_paths(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(
        """
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
    )
    config = read_config(path)
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


def test_only_variants_means_no_others():
    config = parse_config({**TASK, "method": {"mine": {"base": "cordial", "inference": "mode"}}})
    assert [method.name for method in config.methods] == ["mine"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no task: add a table [task.NAME]"),
        (
            {**TASK, "bugdets": [5]},
            "the file: unknown key bugdets; its keys are seed, draws, budgets",
        ),
        ({**TASK, "draws": 0}, "draws: expected int >= 1; got 0"),
        ({**TASK, "draws": True}, "draws: expected int; got True"),
        ({**TASK, "seed": -1}, "seed: expected int >= 0; got -1"),
        ({**TASK, "budgets": []}, "budgets: expected list of length >= 1; got []"),
        ({**TASK, "budgets": [5, 2.5]}, "budgets[1]: expected int; got 2.5"),
        ({**TASK, "budgets": [20, 10]}, "budgets must ascend, each once; got [20, 10]"),
        ({**TASK, "budgets": [5, 5]}, "budgets must ascend, each once"),
        ({**TASK, "methods": ["raw", "platt"]}, "methods[1] must be one of raw, histogram"),
        ({**TASK, "methods": ["raw", "raw"]}, "methods names 'raw' more than once"),
        ({**TASK, "methods": []}, "methods: expected list of length >= 1"),
        ({**TASK, "methods": ["channel"]}, "methods[0] must be one of"),
        ({**TASK, "methods": "raw"}, "methods: expected list; got 'raw'"),
        ({"task": {"m": {"benchmark": "opera"}}}, "task.m.benchmark must be one of music, beauty"),
        ({"task": {"m": {"benchmark": "music", "report": 3}}}, "task.m.report: a benchmark task"),
        ({"task": {"m": {"readings": "r.csv"}}}, "task.m needs benchmark, or both readings and"),
        (
            {"task": {"m": {"benchmark": "music", "raeders": []}}},
            "task.m: unknown key raeders; its keys are",
        ),
        ({"task": {"m": 3}}, "task.m: expected table; got 3"),
        ({"task": 3}, "task: expected table; got 3"),
        (
            {"task": {"m": {"benchmark": "music", "readers": ["a", "a"]}}},
            "task.m.readers names 'a' more than once",
        ),
        ({**TASK, "method": {"raw": {"base": "cordial"}}}, "method.raw: the name is taken"),
        ({**TASK, "method": {"x": {"base": "raw"}}}, "method.x.base must be one of logit-stack"),
        (
            {**TASK, "method": {"x": {"base": "logit-stack", "inference": "mode"}}},
            "method.x: a setting of logit-stack must be one of weight_counts; got 'inference'",
        ),
        (
            {**TASK, "method": {"x": {"base": "cordial", "inference": "vb"}}},
            "method.x: inference must be one of default, laplace, mode, nuts",
        ),
        ({**TASK, "method": {"x": {"channel": "afine"}}}, "method.x: "),
        ({**TASK, "method": {"x": {"base": "channel"}}}, "method.x needs channel"),
        (
            {**TASK, "method": {"x": {"weight_counts": 5}}},
            "method.x.weight_counts: expected table; got",
        ),
        (
            {**TASK, "method": {"x": {"base": "logit-stack", "weight_counts": ["odds"]}}},
            "method.x.weight_counts: expected table; got",
        ),
        ({"task": {"": {"benchmark": "music"}}}, "task: expected str of length >= 1"),
        ({**TASK, "external": {"icl": {}}}, "external.icl: missing key probabilities"),
        (
            {**TASK, "external": {"Temperature": {"probabilities": "x.csv"}}},
            "external.Temperature: the name is taken",
        ),
        ({**TASK, "external": {"raw": {"probabilities": "x.csv"}}}, "external.raw: the name is"),
    ],
)
def test_what_is_refused(content, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_config(content)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(FileError, match="cannot read .*absent.toml: No such file"):
        read_config(tmp_path / "absent.toml")
    path = tmp_path / "sweep.toml"
    path.write_text("draws = \n")
    with pytest.raises(FileError, match="is not TOML: .*line 1"):
        read_config(path)
    path.write_text("draws = 3\ndraws = 4\n")
    with pytest.raises(FileError, match="line 2"):
        read_config(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not TOML"):
        read_config(path)
    path.write_text("draws = 0")
    with pytest.raises(InputError, match="sweep.toml: "):
        read_config(path)
