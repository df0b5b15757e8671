"""What a finished sweep shows: tables and figures, each made by one function of the results.

A module a product; `comparison` says which methods and draws are compared, `product` what an
analysis gives and how it is written, `figure`, `panels` and `heatmaps` how it is drawn.
"""

from collections.abc import Callable, Mapping

from cordial_ppl.products.averaging import averaging_gain
from cordial_ppl.products.crossover import crossover_table
from cordial_ppl.products.curves import loss_curves
from cordial_ppl.products.equivalents import equivalent_labels
from cordial_ppl.products.known_gap import gap_table
from cordial_ppl.products.product import Product, Table, write_product
from cordial_ppl.products.readers import reader_table
from cordial_ppl.products.reliability import stated_classes
from cordial_ppl.products.reversals import reversal_shares
from cordial_ppl.products.scores import further_scores
from cordial_ppl.products.table import loss_table

PRODUCTS: Mapping[str, Callable[..., Product]] = {
    "table": loss_table,
    "curves": loss_curves,
    "reliability": stated_classes,
    "equivalents": equivalent_labels,
    "scores": further_scores,
    "reversals": reversal_shares,
    "averaging": averaging_gain,
    "readers": reader_table,
    "crossover": crossover_table,
    "known-gap": gap_table,
}
"""What each name makes of the results of a sweep."""

ALL = tuple(name for name in PRODUCTS if name != "known-gap")
"""What `all` stands for: everything that takes no fits of its own."""

__all__ = ["ALL", "PRODUCTS", "Product", "Table", "write_product"]
