"""Readings out of the files that other tools write, and of models that are asked.

`rows` are the objects of a file; `fields` finds what they hold, by keys or JMESPath expressions,
and presets are such fields with a name. `protocols` and `decision_models` read responses of
servers, `spellings` knows how options are written, `finder` where in a text the answer stands, and
`masses` makes numbers of tokens. `harvest` makes records of rows, with `evidence` of which `reader`
makes readings; `collected` holds what came of it.
"""

from cordial_ppl.logs.collected import Collected as Collected
from cordial_ppl.logs.fields import PRESETS as PRESETS
from cordial_ppl.logs.harvest import read as read
from cordial_ppl.logs.reader import collect as collect
