"""One self-contained page: what is wrong with the reader, and what calibration changes.

`facts` measures, `pictures` draws, `page` fills the template `page.html`.
"""

from cordial_ppl.plots.report.facts import Facts as Facts
from cordial_ppl.plots.report.facts import TaskTexts as TaskTexts
from cordial_ppl.plots.report.facts import gather as gather
from cordial_ppl.plots.report.page import make_page as make_page
