"""Compiled programs on disk: who keeps them where, and what is never read back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from cordial_ppl import executables
from cordial_ppl.compilation import compiled

BACKEND = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder that programs are kept in, for want of a cache that the user has set."""
    monkeypatch.setenv(executables.VARIABLE, str(tmp_path / "programs"))
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    reset_cache()  # JAX goes on with the folder that it began with
    yield tmp_path / "programs"
    jax.config.update("jax_compilation_cache_dir", before)
    reset_cache()


@pytest.fixture
def heard():
    """Programs that XLA compiled since."""
    names = []

    def listen(event: str, duration_secs: float, **kwargs):
        if event == BACKEND:
            names.append(kwargs.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def double(factor=2.0, **options):
    return compiled(lambda x, more=(): factor * x + sum(more), **options)


def entries(folder):
    return sorted(path.name for path in folder.glob("*"))


def test_what_was_kept_is_not_compiled_again(folder, heard):
    x = np.arange(3.0)
    first = double()(x, more=(x,))
    assert len(heard) == len(entries(folder)) == 1
    again = double()(x, more=(x,))
    assert len(heard) == len(entries(folder)) == 1
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(again, 3 * x)


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:99], lambda data: b"no"])
def test_a_damaged_file_is_compiled_and_written_again(folder, heard, damage):
    x = np.arange(3.0)
    double()(x)
    (path,) = folder.glob("*")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    np.testing.assert_array_equal(double()(x), 2 * x)
    assert len(heard) == 2 and len(path.read_bytes()) > len(whole) / 2
    double()(x)
    assert len(heard) == 2


def test_a_program_that_cannot_run_is_compiled_again(folder, heard, monkeypatch):
    def broken(*args, **kwargs):
        raise jax.errors.JaxRuntimeError("NOT_FOUND: Function add_fusion not found.")

    x = np.arange(3.0)
    double()(x)
    monkeypatch.setattr(executables, "load", lambda *given: broken)
    again = double()
    for _ in range(2):
        np.testing.assert_array_equal(again(x), 2 * x)
    assert len(heard) == 2


def test_the_users_own_cache_is_the_one_that_is_used(folder, tmp_path):
    theirs = str(tmp_path / "theirs")
    jax.config.update("jax_compilation_cache_dir", theirs)
    double()(np.arange(3.0))
    assert not folder.exists() and jax.config.jax_compilation_cache_dir == theirs


@pytest.mark.parametrize("off", ["", "file", "readonly"])
def test_a_folder_that_cannot_be_used_is_done_without(folder, tmp_path, monkeypatch, off):
    (tmp_path / "file").touch()
    if off == "readonly":
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(PermissionError()))
    else:
        monkeypatch.setenv(executables.VARIABLE, off and str(tmp_path / off / "below"))
    assert double()(np.arange(3.0)).sum() == 6
    assert not folder.exists() or entries(folder) == []


def test_what_was_used_longest_ago_makes_room(folder, monkeypatch):
    for factor in (1.5, 2.5, 3.5):
        double(factor)(np.arange(3.0))
    size = max(path.stat().st_size for path in folder.glob("*"))
    for place, path in enumerate(sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime)):
        os.utime(path, (place, place))
    double(1.5)(np.arange(3.0))  # read, and used last
    used = max(folder.glob("*"), key=lambda path: path.stat().st_mtime)
    monkeypatch.setattr(executables, "LARGEST", int(2.5 * size))
    double(4.5)(np.arange(3.0))
    assert len(entries(folder)) == 2 and used.exists()


PROGRAM = """
import json, jax, numpy as np
names = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration_secs, **known: names.append(event)
)
from cordial_ppl.compilation import compiled
before = dict(jax.config.values)
found = compiled(lambda x: x @ x.T)(np.eye(3, 5))
assert dict(jax.config.values) == before
own = jax.jit(lambda x: x * 2)(3.0)  # of the user: neither kept nor read
print(json.dumps([names.count({event!r}), found.tolist()]))
"""


def test_the_next_process_compiles_nothing_and_settings_stay(tmp_path):
    others = "JAX_COMPILATION_CACHE_DIR", executables.VARIABLE
    environment = {name: value for name, value in os.environ.items() if name not in others}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    command = [sys.executable, "-c", PROGRAM.format(event=BACKEND)]
    found = []
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        found.append(json.loads(done.stdout))
        assert len(entries(tmp_path / "cordial")) == 1
    assert [count for count, _ in found] == [2, 1] and found[0][1] == found[1][1]


def test_where_programs_are_kept(monkeypatch):
    monkeypatch.delenv(executables.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    for system, place in [("linux", ".cache/cordial"), ("darwin", "Library/Caches/cordial")]:
        monkeypatch.setattr(sys, "platform", system)
        assert executables.cache_directory() == Path("/home/ada", place)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert executables.cache_directory() == Path("/var/cache/cordial")
    monkeypatch.setenv(executables.VARIABLE, "/mine")
    assert executables.cache_directory() == Path("/mine")
    monkeypatch.setenv(executables.VARIABLE, "")
    assert executables.cache_directory() is None
    monkeypatch.delenv(executables.VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME")

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(executables.Path, "home", home)
    assert executables.cache_directory() is None
