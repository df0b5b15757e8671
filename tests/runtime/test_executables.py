"""Executables of the package's programs: a second process traces nothing, and is never wrong."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime.cache import VARIABLE

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


def run(folder: Path, channel="mixture", before="", **environment):
    """Fit and predict in a new process; return traces, whether NumPyro was needed, and results."""
    command = [sys.executable, "-W", "error", "-c", before + PROGRAM, str(channel)]
    # What the tests have chosen for themselves is not the package's own folder.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment = clean | {VARIABLE: str(folder)} | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    traces, models, *results = json.loads(done.stdout)
    return traces, models, results


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that two processes have filled at once."""
    path = tmp_path_factory.mktemp("programs")
    path.chmod(0o700)
    with ThreadPoolExecutor(2) as pool:
        (traced, models, one), (_, _, other) = pool.map(run, [path] * 2)
    assert traced and models and one == other
    return path, one


def test_a_second_process_traces_nothing(folder):
    path, expected = folder
    assert run(path) == (0, False, expected)


def test_another_setting_of_jax_is_another_program(folder):
    path, expected = folder
    before = {*path.iterdir()}
    traced, _, results = run(path, JAX_DEFAULT_MATMUL_PRECISION="highest")
    assert traced and {*path.iterdir()} > before
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data])
def test_what_is_not_as_it_was_written_is_compiled_again(folder, tmp_path, damage):
    path, expected = folder
    files = [file for file in path.iterdir() if len(file.stem) == len(f"{'':64}-cache")]
    assert len(files) > 1
    # What is whole is of another program.
    for file, other in zip(files, files[1:] + files[:1], strict=True):
        (tmp_path / file.name).write_bytes(damage(other.read_bytes()))
    tmp_path.chmod(0o700)
    traced, _, results = run(tmp_path)
    assert traced and results == expected


def test_a_version_without_the_private_interface_traces(folder):
    path, expected = folder
    gone = "import sys, jax, jaxlib; del jaxlib.xla_client; sys.modules['jaxlib.xla_client'] = None"
    traced, _, results = run(path, before=gone)
    assert traced
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)


MODEL = """
import jax
import numpyro
import numpyro.distributions as dist
from cordial_ppl import observe

def model(readings, labels=None):
    temperature = numpyro.sample("temperature", dist.LogNormal({}, 0.1))
    observe(jax.nn.log_softmax(readings.logits / temperature, axis=1), labels)
"""


def test_a_channel_of_a_file_follows_the_file(tmp_path):
    channel, programs = tmp_path / "mine.py", tmp_path / "programs"
    for place in (0.0, 3.0):
        channel.write_text(MODEL.format(place))
        _, _, (probs, median) = run(programs, channel)
        assert abs(np.log(median) - place) < 1
    texts = reviews()
    with jax.numpy_dtype_promotion("standard"):
        fresh = cp.ChannelCalibrator(channel).fit(texts.logits[:20], texts.labels[:20])
    np.testing.assert_allclose(probs, fresh.predict_proba(texts.logits[20:60]), rtol=1e-4)
