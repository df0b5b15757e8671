"""A few small programs are compiled once, whatever the number of texts, labels and priors."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info

import cordial_ppl as cp
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime import compilation
from cordial_ppl.runtime.blas import on_one_core
from cordial_ppl.runtime.compilation import compiled, is_option

TEXTS = reviews(400, seed=1)
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
BACKEND = "/jax/core/compile/backend_compile_duration"


@contextmanager
def compilations(watched=LOWERING):
    """Names of the programs that JAX lowers meanwhile; a cache of compiled ones hides nothing."""
    names = []

    def listen(event: str, duration_secs: float, **kwargs: Any):
        if event == watched:
            names.append(kwargs.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield names
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def fit(make, count, seed=0, start=0):
    rows = slice(start, start + count)
    return make(seed).fit(TEXTS.logits[rows], TEXTS.labels[rows])


def test_the_listener_hears_and_options_that_xla_does_not_have_are_left_out():
    with compilations() as names:
        jax.jit(lambda x: x + 1.25)(jnp.ones(7))
    assert names
    unknown = {"xla_cpu_no_such_option": True, "xla_nor_this": 1}
    program = compiled(lambda x: x + 1, xla_backend_optimization_level=1, **unknown)
    assert program(np.ones(3)).sum() == 6
    assert is_option("xla_cpu_multi_thread_eigen", False) and not is_option("xla_nor_this", 1)


def literal(seed):
    prior = {"offset": (0.1 * seed, 0.5)}
    return Stack(channels=("mixture",), inference="laplace", prior=prior, seed=seed)


@pytest.mark.literal
@pytest.mark.parametrize(
    ("make", "programs"),
    [
        pytest.param(literal, 3, marks=pytest.mark.nightly),
        (lambda seed: cp.Cordial(seed=seed), 9),
    ],
)
def test_few_programs_serve_every_number_of_labels_and_texts_and_every_prior(make, programs):
    jax.clear_caches()
    with compilations() as names:
        stack = fit(make, 20)
        stack.predict_proba(TEXTS.logits[:5])
        stack.predict_interval(TEXTS.logits[:5])
    # Densities and a prediction for each channel, a search where a mode is sought; quantiles.
    assert sum(name in ("jit(run)", "jit(_bisect)") for name in names) == programs
    with compilations() as names:
        for count in (1, 7, 33, 90):
            stack = fit(make, count, seed=count, start=count)
        for count in (1, 40, 400):
            stack.predict_proba(TEXTS.logits[:count])
            stack.predict_interval(TEXTS.logits[:count])
    assert names == []


def test_threads_that_ask_at_once_compile_once():
    traces, together = [], Barrier(4)

    @compiled
    def program(x: Any) -> Any:
        traces.append(x.shape)
        for _ in range(30):
            x = jnp.cos(x) + 0.5 * x.T
        return x

    def ask(value):
        together.wait()
        return program(np.full((3, 3), value))

    with compilations(BACKEND) as names, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, [0.1, 0.2, 0.3, 0.4]))
    assert traces == [(3, 3)] and len(names) == 1
    assert len({float(each[0, 0]) for each in found}) == 4


def test_memory_that_compiling_took_is_returned(monkeypatch):
    trimmed = []
    library = SimpleNamespace(malloc_trim=trimmed.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    double = compiled(lambda x: 2 * x)
    assert double(np.ones(3)).sum() == double(np.ones(3)).sum() == 6 and trimmed == [0]


def test_programs_are_forgotten_before_memory_has_too_many_pieces(monkeypatch, tmp_path):
    pieces, allowed = tmp_path / "maps", tmp_path / "max_map_count"
    monkeypatch.setattr(compilation, "MAPPINGS", (pieces, allowed))
    cleared = []
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(True))
    allowed.write_text("10\n")
    pieces.write_text("piece\n" * 5)
    double, three, four = compiled(lambda x: 2 * x), np.ones(3), np.ones(4)
    assert double(three).sum() == double(three).sum() == 6 and not cleared
    pieces.write_text("piece\n" * 9)
    # Memory is looked at again after something was traced.
    assert double(three).sum() == 6 and not cleared
    assert double(four).sum() == double(four).sum() == 8 and cleared == [True]
    pieces.unlink()
    assert double(np.ones(5)).sum() == double(np.ones(5)).sum() == 10 and cleared == [True]


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("leaving", [(0, 1), (1, 0)])
def test_functions_that_overlap_give_the_threads_back(leaving):
    before, entered, leave = threads(), (Event(), Event()), (Event(), Event())
    one = [1] * len(before)

    @on_one_core
    def stay(place):
        entered[place].set()
        assert leave[place].wait(60)

    # A thread that set the limit before, and lives on, stands in nobody's way.
    assert on_one_core(threads)() == one
    # Nor do those of the pool, which outlive what they run.
    with ThreadPoolExecutor(2) as pool:
        running = []
        for place, event in enumerate(entered):
            running.append(pool.submit(stay, place))
            assert event.wait(60)
        seen = [threads()]
        for place in leaving:
            leave[place].set()
            running[place].result()
            seen.append(threads())
    assert seen == [one, one, before]
