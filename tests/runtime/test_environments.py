"""The world around a fit: the user's own JAX settings, threads, processes, files and sockets."""

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST, small
from review_tables import fast, write_tables

import cordial_ppl as cp
from cordial_ppl.estimators.stack_files import KIND, FitRecord
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime.cache import VARIABLE

FLAGS = (
    "enable_x64 numpy_dtype_promotion numpy_rank_promotion default_matmul_precision debug_nans "
    "check_tracer_leaks platforms compilation_cache_dir traceback_filtering"
).split()


def flags():
    return {name: getattr(jax.config, f"jax_{name}") for name in FLAGS}


@pytest.mark.x64
@pytest.mark.parametrize(("x64", "promotion"), [(False, "strict"), (True, "standard")])
def test_the_users_settings_change_nothing_and_stay(stack, x64, promotion):
    with jax.enable_x64(x64), jax.numpy_dtype_promotion(promotion):
        with jax.default_matmul_precision("bfloat16"):
            before = flags()
            found = small().fit(LOGITS, LABELS)
            np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))
            ends = stack.predict_interval(TEST)
            np.testing.assert_array_equal(found.predict_interval(TEST), ends)
            assert flags() == before


@pytest.mark.nightly
def test_nothing_is_kept_of_a_trace(stack):
    with jax.checking_leaks():
        found = small().fit(LOGITS, LABELS)
        np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))


def test_fits_at_once_are_those_one_after_another():
    texts = [reviews(60, seed=seed) for seed in range(4)]

    def fit(place):
        own = texts[place]
        judge = small(seed=place).fit(own.logits[:20], own.labels[:20])
        return judge.predict_proba(own.logits[20:]), np.stack(judge.predict_interval(TEST))

    alone = [fit(place) for place in range(4)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(fit, range(4)))
    for found, expected in zip(together, alone, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


WATCHED = """
import builtins, io, json, os, socket, sys

written, called = set(), []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch(function, writes):
    def own(path, *rest, **named):
        if writes(*rest, **named) and isinstance(path, str | bytes | os.PathLike):
            written.add(os.path.abspath(os.fsdecode(path)))
        return function(path, *rest, **named)

    return own


class Watched(socket.socket):
    def __init__(self, *rest, **named):
        called.append(str(rest))
        super().__init__(*rest, **named)


# An audit hook would see all of it, and take minutes over the rest.
builtins.open = io.open = watch(open, lambda mode="r", *_, **__: set(mode) & set("wax+"))
os.open = watch(os.open, lambda flags, *_, **__: flags & WRITING)
os.mkdir, socket.socket = watch(os.mkdir, lambda *_, **__: True), Watched
import cordial_ppl as cp
from cordial_ppl.cli import main
from cordial_ppl.estimators.stack_files import KIND, FitRecord

os.chdir(sys.argv[1])
try:
    sys.argv[1:] = json.loads(sys.argv[2])
    main()
except SystemExit as done:
    assert not done.code
texts = __import__("few_labels")
stack = texts.small().fit(texts.LOGITS, texts.LABELS)
logits = cp.LogitStack().fit(texts.LOGITS, texts.LABELS)
logits.save("stack.cordial")
FitRecord.of(stack.fit_, "Cordial").save("channels.cordial", KIND)
draws = stack.posteriors_["mixture"].draws
probs = stack.predict_proba(texts.TEST)
print(json.dumps([sorted(written), called, draws.tobytes().hex(), probs.tobytes().hex()]))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """What a process of its own wrote and called while it calibrated tables and fitted stacks."""
    folder = tmp_path_factory.mktemp("watched")
    for name in ("work", "home", "temporary"):
        (folder / name).mkdir()
    write_tables(folder / "work")
    cache = tmp_path_factory.mktemp("programs")
    searched = os.environ.get("PYTHONPATH")
    settings = ("XDG", "JAX_COMPILATION", "JAX_PERSISTENT")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(settings)
    } | {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "temporary"),
        VARIABLE: str(cache),
        "JAX_ENABLE_X64": str(jax.config.jax_enable_x64),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "12345",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [searched])]),
    }
    arguments = json.dumps(["calibrate", *fast("r.csv", "l.csv"), "-o", "out.csv"])
    command = [sys.executable, "-c", WATCHED, str(folder / "work"), arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, cache, json.loads(done.stdout)


@pytest.mark.nightly
def test_nothing_is_written_beside_output_and_cache_and_no_socket_is_opened(watched):
    folder, cache, (written, *_) = watched
    allowed = (str(cache), str(folder / "work"), os.devnull)
    assert any(path.startswith(str(folder / "work")) for path in written)
    assert [path for path in written if not path.startswith(allowed)] == []
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left == {"r.csv", "l.csv", "out.csv", "stack.cordial", "channels.cordial"}
    assert watched[2][1] == []


@pytest.mark.nightly
def test_another_process_gets_the_same_to_the_last_bit(watched, stack, tmp_path):
    folder, _, (_, _, draws, probs) = watched
    assert stack.posteriors_["mixture"].draws.tobytes().hex() == draws
    assert stack.predict_proba(TEST).tobytes().hex() == probs
    cp.LogitStack().fit(LOGITS, LABELS).save(tmp_path / "stack.cordial")
    FitRecord.of(stack.fit_, "Cordial").save(tmp_path / "channels.cordial", KIND)
    for name in ("stack.cordial", "channels.cordial"):
        assert (tmp_path / name).read_bytes() == (folder / "work" / name).read_bytes()


def test_predicting_many_texts_takes_little_more_than_what_comes_out():
    judge = cp.LogitStack().fit(LOGITS, LABELS)
    many = np.tile(TEST, (2500, 1))
    judge.predict_proba(many[:5000])  # compiled
    tracemalloc.start()
    try:
        probs = judge.predict_proba(many)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Three members, their readings and the sum, and a label, a weight and a number of each text.
    assert peak < 9 * probs.nbytes
    np.testing.assert_allclose(probs[-40:], judge.predict_proba(TEST), atol=1e-6)
