"""Distributions near shares that may be negative, of cells and of their groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.decisions.tilting import tilt, tilt_cells

DRAWS = 3


def make(seed):
    """Make shares that noise has made negative here and there, and cells of one to three groups."""
    rng = np.random.default_rng(seed)
    size, count = rng.integers(2, 7), rng.integers(2, 7)
    groups = np.sort(rng.integers(0, 3, count))
    base = rng.dirichlet(np.full(size, 0.5), (DRAWS, count))
    noise = rng.normal(0, 0.2, (DRAWS, count, size))
    shares = base + noise - noise.mean(axis=2, keepdims=True)
    sizes = rng.integers(1, 200, count) * (rng.random(count) < 0.9)
    return shares, base, sizes.astype(float), np.sort(rng.normal(size=size)), groups


@given(st.integers(0, 10**6))
def test_cells_add_up_to_what_is_near_the_shares_of_their_group(seed):
    shares, base, sizes, value, groups = make(seed)
    near = tilt_cells(shares, base, sizes, value, groups)
    assert near.min() >= 0
    np.testing.assert_allclose(near.sum(axis=2), 1, atol=1e-9)
    for group in np.unique(groups[sizes > 0]):
        weights = sizes * (groups == group) / sizes[groups == group].sum()
        wanted = tilt(np.einsum("c,sck->sk", weights, shares)[:, None], value, np.zeros(1, int))
        np.testing.assert_allclose(
            np.einsum("c,sck->sk", weights, near), wanted[:, 0], rtol=0, atol=1e-7
        )


@given(st.integers(0, 10**6))
def test_results_depend_on_neither_direction_units_other_draws_groups_nor_empty_cells(seed):
    shares, base, sizes, value, groups = make(seed)
    near = tilt_cells(shares, base, sizes, value, groups)
    turned = tilt_cells(shares[..., ::-1], base[..., ::-1], sizes, 3 - 2 * value[::-1], groups)
    # A share near the least one is none in one direction, and 1e-4 in the other: .0085 at worst in
    # 6,000 cases.
    np.testing.assert_allclose(turned[..., ::-1], near, rtol=0, atol=0.03)
    alone = tilt_cells(shares[:1], base[:1], sizes, value, groups)
    np.testing.assert_allclose(alone, near[:1], rtol=0, atol=1e-6)
    some = (groups == groups[0]) & (sizes > 0)
    if some.any():
        others = tilt_cells(shares[:, some], base[:, some], sizes[some], value, groups[some])
        np.testing.assert_allclose(others, near[:, some], rtol=0, atol=1e-6)


def test_a_cell_without_an_option_leaves_the_effect_to_the_others():
    base = np.array([[[0.0, 0.0, 1.0], [0.4, 0.3, 0.3]]])
    effect = np.array([0.02, 0.0, -0.02])
    near = tilt_cells(base + effect, base, np.array([80.0, 20.0]), np.arange(3.0), np.zeros(2, int))
    assert near[0, 0] == pytest.approx([0, 0, 1], abs=2e-3)
    np.testing.assert_allclose(0.8 * near[0, 0] + 0.2 * near[0, 1], [0.1, 0.06, 0.84], atol=1e-3)
