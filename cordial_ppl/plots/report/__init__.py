"""One self-contained page: what is wrong with the reader, and what calibration changes.

`facts` measures, `pictures` draws, `page` fills the template `page.html`.
"""

from cordial_ppl.plots.report.facts import Facts, TaskTexts, gather
from cordial_ppl.plots.report.page import make_page

__all__ = ["Facts", "TaskTexts", "gather", "make_page"]
