"""Products of a finished sweep: a table and learning curves, each one function of the results.

`table` compares methods, `curves` draws them by number of labels, `product` writes files.
"""

from collections.abc import Callable, Mapping

from cordial_ppl.evaluation.products.curves import loss_curves
from cordial_ppl.evaluation.products.product import Product, write_product
from cordial_ppl.evaluation.products.table import loss_table

PRODUCTS: Mapping[str, Callable[..., Product]] = {"table": loss_table, "curves": loss_curves}
"""Analyses of the results of a sweep, by name."""

__all__ = ["PRODUCTS", "Product", "write_product"]
