"""Twenty labels turn a language model's ratings into calibrated probabilities."""

from cordial_ppl import scores as scores
from cordial_ppl.errors import ChannelError as ChannelError
from cordial_ppl.errors import CordialError as CordialError
from cordial_ppl.errors import CordialWarning as CordialWarning
from cordial_ppl.errors import FileError as FileError
from cordial_ppl.errors import InputError as InputError
from cordial_ppl.errors import NotFittedError as NotFittedError
from cordial_ppl.readings import readings_from_counts as readings_from_counts
from cordial_ppl.readings import readings_from_probabilities as readings_from_probabilities
