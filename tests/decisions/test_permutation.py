"""P values of several statistics at once."""

import numpy as np
import pytest

from cordial_ppl.decisions.permutation import adjusted_p


def test_one_statistic_has_its_own_p_value_with_ties():
    values = np.array([3.0, 1.0, 3.0 + 1e-13, 5.0, 2.0])
    for unit in (1.0, 1e9, 1e-12):
        assert adjusted_p(unit * values[:, None]) == pytest.approx([3 / 5])
    both = np.stack([values, np.zeros(5)], axis=1)
    assert adjusted_p(both) == pytest.approx([3 / 5, 1])
    statistics = np.array([[4.0, 2.0], [1.0, 5.0], [5.0, 1.0], [2.0, 3.0], [3.0, 4.0]])
    # Shares of the rows that are as large: (2, 4), (5, 1), (1, 5), (4, 3), (3, 2) of five.
    assert adjusted_p(statistics) == pytest.approx([4 / 5, 5 / 5])
