"""Every test runs under the strictest numerics: typed shapes, no silent promotion, float64."""

import os
from pathlib import Path

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

X64 = os.environ.get("CORDIAL_TEST_X64", "1") != "0"

jax.config.update("jax_enable_x64", X64)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    cache = Path(__file__).parent.parent / ".cache" / "jax"
    jax.config.update("jax_compilation_cache_dir", str(cache))

# The numeric tower: a whole number is welcome where a float is annotated, as for type checkers.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
install_import_hook("cordial_ppl", CHECKER)

settings.register_profile("cordial", deadline=None)
settings.load_profile("cordial")


def pytest_collection_modifyitems(items):
    """Skip what needs float64 in the float32 leg."""
    if not X64:
        for item in items:
            if "x64" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="needs float64"))
