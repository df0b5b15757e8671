"""Executables of the package's programs: a second process traces nothing, and is never wrong."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime import executables
from cordial_ppl.runtime.cache import VARIABLE
from cordial_ppl.runtime.compilation import compiled

PROGRAM = """
import json, sys
from cordial_ppl.runtime.cache import cache_programs
cache_programs()
import jax, numpy as np
import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
traced = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: traced.append(event) if "trace" in event else None
)
texts = reviews()
calibrator = cp.ChannelCalibrator(sys.argv[1]).fit(texts.logits[:20], texts.labels[:20])
probs = calibrator.predict_proba(texts.logits[20:60])
median = np.median(calibrator.posterior_.parameters()["temperature"])
print(json.dumps([len(traced), "numpyro" in sys.modules, probs.tolist(), median]))
"""


def run(folder: Path):
    """Fit and predict in a new process; return traces, whether NumPyro was needed, and results."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, "scalar"]
    # What the tests have chosen for themselves is not the package's own folder.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment = clean | {VARIABLE: str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("at_once", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_second_process_traces_nothing(tmp_path, at_once):
    """One process filled the folder or, nightly, two at once."""
    tmp_path.chmod(0o700)
    with ThreadPoolExecutor(at_once) as pool:
        (traced, models, *one), *others = pool.map(run, [tmp_path] * at_once)
    assert traced and models and all(one == other for _, _, *other in others)
    assert run(tmp_path) == [0, False, *one]


class Programs:
    """Programs of a process that has just begun, whose executables are in a folder."""

    def __init__(self, folder):
        self.folder, self.traced = folder, []

    def ask(self):
        """Run two programs; return what they compute, and how many of them were traced."""
        executables.LOADED.clear()
        self.traced.clear()
        return [self.make(name, factor)(np.arange(3.0)) for name, factor in (("a", 2), ("b", 3))]

    def make(self, name, factor):
        def multiply(x):
            self.traced.append(name)
            return (factor * x @ jnp.eye(3),)

        return compiled(multiply, name=f"{name} of tests")

    @property
    def files(self):
        return sorted(self.folder.glob(f"{'?' * 64}-cache"))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Two programs that have been written."""
    monkeypatch.setattr(executables, "LOADED", {})
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    made = Programs(tmp_path)
    assert_right(made.ask())
    assert len(made.traced) == len(made.files) == 2
    assert_right(made.ask())
    assert not made.traced
    yield made
    jax.config.update("jax_compilation_cache_dir", before)


def assert_right(results):
    np.testing.assert_allclose(np.squeeze(results), np.outer([2, 3], np.arange(3)))


def test_another_setting_of_jax_is_another_program(programs):
    jax.config.update("jax_default_matmul_precision", "highest")
    try:
        assert_right(programs.ask())
    finally:
        jax.config.update("jax_default_matmul_precision", None)
    assert len(programs.traced) == 2 and len(programs.files) == 4


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data])
def test_what_is_not_as_it_was_written_is_compiled_again(programs, damage):
    # What is whole is of another program.
    contents = [file.read_bytes() for file in reversed(programs.files)]
    for file, other in zip(programs.files, contents, strict=True):
        file.write_bytes(damage(other))
    assert_right(programs.ask())
    assert len(programs.traced) == 2
    assert_right(programs.ask())
    assert not programs.traced


def test_a_version_without_the_private_interface_traces(programs, monkeypatch):
    monkeypatch.delattr(jaxlib, "xla_client")
    monkeypatch.setitem(sys.modules, "jaxlib.xla_client", None)
    assert_right(programs.ask())
    assert len(programs.traced) == 2


MODEL = """
import jax
import numpyro
import numpyro.distributions as dist
from cordial_ppl import observe

def model(readings, labels=None):
    temperature = numpyro.sample("temperature", dist.LogNormal({}, 0.1))
    observe(jax.nn.log_softmax(readings.logits / temperature, axis=1), labels)
"""


def test_a_channel_of_a_file_follows_the_file(programs, tmp_path):
    channel, texts = tmp_path / "mine.py", reviews()
    for place in (0.0, 3.0):
        executables.LOADED.clear()
        channel.write_text(MODEL.format(place))
        fitted = cp.ChannelCalibrator(channel).fit(texts.logits[:20], texts.labels[:20])
        median = np.median(fitted.posterior_.parameters()["temperature"])
        assert abs(np.log(median) - place) < 1
    assert len(programs.files) == 2, "what follows from a file is not kept"
