"""JAX's cache of compiled programs: it is switched on, and only in a folder of one's own."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from cordial_ppl.errors import CordialWarning
from cordial_ppl.runtime import cache
from cordial_ppl.runtime.cache import VARIABLE, cache_directory, cache_programs

SETTINGS = ("jax_compilation_cache_dir", *cache.SETTINGS)


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    """A user who has chosen nothing; JAX's settings are put back."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    for name in SETTINGS:
        monkeypatch.setenv(name.upper(), "")
        monkeypatch.delenv(name.upper())
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def cache_in(monkeypatch, folder):
    """Name the folder of the cache, and switch it on."""
    monkeypatch.setenv(VARIABLE, str(folder))
    return cache_programs()


PROGRAM = """
from cordial_ppl.runtime.cache import cache_programs
cache_programs()
import jax
import numpy as np
from cordial_ppl.runtime.compilation import compiled
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
compiled(lambda x: 3 * x)(np.ones(5))
print(hits.count("/jax/compilation_cache/cache_hits"))
"""


def test_a_second_process_compiles_nothing_but_what_is_half_written(tmp_path):
    folder = tmp_path / "programs"

    def count_hits():
        command = [sys.executable, "-W", "error::UserWarning", "-c", PROGRAM]
        environment = os.environ | {VARIABLE: str(folder)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    first, second = count_hits(), count_hits()
    assert first < second and folder.stat().st_mode & 0o777 == 0o700
    # JAX writes into the file that another process may read meanwhile.
    for file in folder.glob("*-cache"):
        file.write_bytes(file.read_bytes()[:100])
    assert count_hits() == 0


def test_a_folder_below_one_like_tmp_is_used_and_jax_is_told(monkeypatch, tmp_path):
    tmp_path.chmod(0o1777)
    folder = tmp_path / "own" / "programs"
    assert cache_in(monkeypatch, folder) == folder
    assert jax.config.jax_compilation_cache_dir == str(folder)
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(folder)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")} == {0o700}


def test_a_cache_that_the_user_has_chosen_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "chosen"))
    before = jax.config.jax_compilation_cache_dir
    assert cache_in(monkeypatch, tmp_path) == tmp_path / "chosen"
    assert jax.config.jax_compilation_cache_dir == before


def of_another(path):
    os.chown(path, 65534, 65534)


SHARED = {
    "group": lambda path: path.chmod(0o770),
    "all": lambda path: path.chmod(0o777),
    "sticky": lambda path: path.chmod(0o1777),
    "parent": lambda path: path.parent.chmod(0o777),
    "grandparent": lambda path: path.parent.parent.chmod(0o770),
    "owner": of_another,
    "owner of the parent": lambda path: of_another(path.parent),
}


@pytest.fixture(params=SHARED.values(), ids=list(SHARED))
def shared(request, tmp_path):
    """A folder whose contents others could change."""
    folder = tmp_path / "one" / "two" / "programs"
    folder.mkdir(parents=True, mode=0o700)
    try:
        request.param(folder)
    except PermissionError:
        pytest.skip("only root can give a folder away")
    return folder


def test_a_folder_that_others_can_write_to_is_not_used(monkeypatch, shared):
    before = jax.config.jax_compilation_cache_dir
    match = "cannot cache .* in .*(others can write to|belongs to another).*chmod 700"
    with pytest.warns(CordialWarning, match=match):
        assert cache_in(monkeypatch, shared) is None
    assert jax.config.jax_compilation_cache_dir == before


def test_nothing_is_made_in_a_folder_that_others_can_write_to(monkeypatch, tmp_path):
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o777)
    with pytest.warns(CordialWarning, match="others can write to"):
        assert cache_in(monkeypatch, shared / "mine" / "programs") is None
    assert not list(shared.iterdir())
    (tmp_path / "file").touch()
    with pytest.warns(CordialWarning, match="cannot cache"):
        assert cache_in(monkeypatch, tmp_path / "file") is None


def test_a_folder_that_only_can_be_read_serves(monkeypatch, tmp_path):
    (tmp_path / "empty-cache").touch()
    monkeypatch.setattr(Path, "unlink", refuse_writing)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert cache_in(monkeypatch, tmp_path) == tmp_path


def refuse_writing(*_):
    raise PermissionError


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, "")
    assert cache_directory() is None and cache_programs() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "cordial"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "relative")
    assert cache_directory() is None


def test_the_oldest_and_empty_programs_make_room(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "LARGEST", 20)
    for age, name in enumerate(("new-cache", "empty-cache", "older-cache", "oldest-cache")):
        (tmp_path / name).write_bytes(b"0123456789" * (age != 1))
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache_in(monkeypatch, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new-cache", "older-cache"]
