"""A format of logs: how a file of it is known and read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cordial_ppl.errors import CordialError, FileError
from cordial_ppl.logs.evidence import Record
from cordial_ppl.logs.naming import Naming
from cordial_ppl.logs.rows import STUMBLES


@dataclass(frozen=True)
class Format:
    """A format of logs.

    Attributes:
        name: Its name, as `--from` takes it.
        words: What it holds, and which tool writes it.
        records: Reads a file: yields what it holds of each text, and raises an `InputError` that
            says where it is wrong.
        knows: Whether the first rows of a file, their fields together, are of this format.
        ending: The ending of files that are of this format whatever they hold.
        remedy: How to have log-probabilities logged, if the tool can.
        round: What a score between two options counts for, if it may be an average.
        namings: Which fields hold what, where that is all that there is to it; a file has those of
            one of them, at least.
    """

    name: str
    words: str
    records: Callable[[Path], Iterator[Record]]
    knows: Callable[[Mapping[str, Any]], bool] = lambda first: False
    ending: str | None = None
    remedy: str = ""
    round: str | None = None
    namings: tuple[Naming, ...] = ()

    def read(self, path: Path) -> Iterator[Record]:
        """Read a file.

        Args:
            path: The file.

        Yields:
            What it holds of each text.

        Raises:
            InputError: The file cannot be read or is not of this format.
        """
        try:
            yield from self.records(path)
        except CordialError:
            raise
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
        except (MemoryError, *STUMBLES) as error:
            raise FileError(f"{path} does not have the form of {self.words}.") from error
