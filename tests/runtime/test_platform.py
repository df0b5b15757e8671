"""JAX starts before a file or a channel is blamed, and not in a process that was forked after."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import jax
import pytest
from few_labels import LABELS, LOGITS, TEST, small
from review_tables import write_tables

import cordial_ppl as cp
from cordial_ppl.runtime import platform
from cordial_ppl.runtime.platform import counting_memory
from cordial_ppl.runtime.storage import blaming

PROGRAM = "from cordial_ppl.cli import main; main()"
FORKED = """
import os, sys
import cordial_ppl as cp
from few_labels import LABELS, LOGITS, small
cp.Cordial, cp.load, cp.Fusion
if sys.argv[1] == "fit":
    small().fit(LOGITS, LABELS)
if sys.argv[1] == "own":
    import jax.numpy as jnp
    jnp.ones(3).sum()
child = os.fork()
if not child:
    cp.LogitStack().fit(LOGITS, LABELS).predict_proba(LOGITS)
    try:
        small().fit(LOGITS, LABELS)
    except cp.CordialError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_without_compiling_the_setting_is_named():
    with jax.disable_jit(), pytest.raises(cp.CordialError, match="JAX_DISABLE_JIT is set"):
        small().fit(LOGITS, LABELS)


@pytest.mark.parametrize("error", [AssertionError(), RuntimeError("Unable to initialize 'cuda'")])
def test_a_platform_that_does_not_start_is_named_and_no_file_is_blamed(
    monkeypatch, tmp_path, error
):
    def fail():
        raise error

    path = tmp_path / "saved.cordial"
    cp.ScalarStack(inference="mode").fit(LOGITS, LABELS).save(path)
    monkeypatch.setattr(jax, "devices", fail)
    for former, advice in (("", "Set JAX_PLATFORMS=cpu"), ("gpu", "Unset JAX_PLATFORM_NAME")):
        platform._start.cache_clear()
        monkeypatch.setenv("JAX_PLATFORM_NAME", former)
        match = f"JAX cannot start.*{former}.*: .*{advice}"
        with pytest.raises(cp.CordialError, match=match) as told:
            cp.load(path).predict_proba(TEST)
        assert type(told.value) is cp.CordialError


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: 9 GiB")])
def test_a_lack_of_memory_is_no_damage(error):
    with pytest.raises(cp.CordialError, match="out of memory") as told, blaming("saved.cordial"):
        raise error
    assert "damaged" not in str(told.value)
    with pytest.raises(ValueError, match="odd"), counting_memory():
        raise ValueError("odd")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cuda", "nonsense"])
@pytest.mark.parametrize("command", ["predict", "calibrate"])
def test_commands_name_the_platform_in_one_line(tmp_path, name, command):
    write_tables(tmp_path)
    cp.ScalarStack(inference="mode").fit(LOGITS, LABELS).save(tmp_path / "c.cordial")
    inputs = {"predict": ["c.cordial", "r.csv"], "calibrate": ["r.csv", "l.csv"]}[command]
    arguments = [sys.executable, "-c", PROGRAM, command, *inputs, "-o", "out.csv", "--quiet"]
    done = run(arguments, tmp_path, JAX_PLATFORMS=name)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f"JAX cannot start on the platform '{name}'" in done.stderr


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.parametrize("use", ["import", "fit", "own"])
def test_a_child_says_that_it_cannot_fit_after_its_parent_did(use):
    done = run([sys.executable, "-W", "ignore", "-c", FORKED, use], Path(__file__).parents[1])
    told = "Start workers with" in done.stdout
    assert done.returncode == 0 and told == (use != "import"), done.stderr


def run(command, folder, **environment):
    searched = os.pathsep.join(str(Path(__file__).parents[k]) for k in (1, 2))
    settings = os.environ | {"PYTHONPATH": searched} | environment
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, cwd=folder, env=settings, start_new_session=True, **pipes)
    try:
        said = running.communicate(timeout=120)
    finally:  # A child that hangs holds the pipes.
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, running.returncode, *said)
