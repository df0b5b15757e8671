"""What a finished sweep shows: tables and figures, each made by one function of the results.

A module a product; `comparison` says what is compared and how, `product` is what is written.
"""

from collections.abc import Callable, Mapping

from cordial_ppl.evaluation.products.curves import loss_curves
from cordial_ppl.evaluation.products.equivalents import equivalent_labels
from cordial_ppl.evaluation.products.product import Product, write_product
from cordial_ppl.evaluation.products.reliability import stated_classes
from cordial_ppl.evaluation.products.table import loss_table

PRODUCTS: Mapping[str, Callable[..., Product]] = {
    "table": loss_table,
    "curves": loss_curves,
    "reliability": stated_classes,
    "equivalents": equivalent_labels,
}
"""What each name makes of the results of a sweep."""

__all__ = ["PRODUCTS", "Product", "write_product"]
