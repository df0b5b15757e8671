"""What can go wrong, by whose fault: the exceptions and the warning category of the package.

Every exception derives from `CordialError`; where the input is at fault it is a `ValueError` too.
A message says what was expected, what came (with its row and column), and what to do.
"""


class CordialError(Exception):
    """Any error that the package raises on purpose."""


class InputError(CordialError, ValueError):
    """The data or an argument is at fault: a label, a reading, an option, a table."""


class FileError(InputError):
    """A file cannot be read or written, is not what its ending says, or was tampered with."""


class ChannelError(CordialError, ValueError):
    """A channel model breaks the contract of a channel."""


class NotFittedError(CordialError, ValueError):
    """An estimator was asked to predict before it was fitted."""


class CordialWarning(UserWarning):
    """Something was repaired or looks doubtful, and the user should know of it."""
