import subprocess
import sys

import pytest

HEAVY = ("arviz", "matplotlib", "pandas", "polars", "pyarrow", "sklearn")


@pytest.fixture(scope="module")
def loaded():
    """Return the names of the modules that a bare import of the package loads."""
    program = "import sys, cordial_ppl; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_package_is_what_was_loaded(loaded):
    assert "cordial_ppl" in loaded


@pytest.mark.parametrize("package", HEAVY)
def test_importing_the_package_leaves_heavy_ones_alone(loaded, package):
    assert package not in loaded
