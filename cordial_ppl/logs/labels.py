"""Labels that a log holds, a row each."""

from collections.abc import Iterable
from typing import Any

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, quote
from cordial_ppl.logs.spellings import Spellings

FIELD = "FIELD"
"""What stands for a field in a message until one is found."""


class Labels:
    """What people said of each text.

    Args:
        spellings: How options are written; None to take labels as they are.
        listed: The options in the order in which a log counts them.

    Attributes:
        between: Number of labels between two options, such as averages, which are kept.
    """

    def __init__(self, spellings: Spellings | None, listed: tuple[str, ...]):
        self.spellings = spellings
        self.listed = Scale(listed) if listed else None
        self.between = 0
        self._labels: dict[tuple[str, str | None], dict[str | None, str]] = {}

    def add(
        self, item: str, task: str | None, text: str | InputError, user: str | None = None
    ) -> None:
        """Take in a label.

        Args:
            item: The text.
            task: What was asked.
            text: The label: a spelling of an option, or its position among those given if no
                option is a number; or an error, as nobody can tell what the label is.
            user: Who said it.

        Raises:
            InputError: It is no option, or the same person said otherwise before.
            SettingNeeded: Nobody is named, and another label was said before.
        """
        if isinstance(text, InputError):
            raise text
        label = text.strip()
        if self.spellings is not None and self.listed is not None:
            option = self.spellings.match(text)
            options = self.listed if option is None else self.spellings.scale
            try:
                positions = self.listed.encode([text]) if option is None else [option]
                label = options.decode(positions)[0]
            except InputError:
                if not self._is_between(label):
                    names = ", ".join(self.listed.options)
                    raise InputError(f"a label must be one of {names}; found {text!r}.") from None
                self.between += 1
        previous = self._labels.setdefault((item, task), {}).setdefault(user, label)
        if previous != label:
            by = "" if user is None else f" of {quote(user)}"
            problem = f"a text must have one label{by}; {quote(item)} has {quote(previous)}, "
            problem += f"{quote(label)}."
            if user is not None:
                raise InputError(problem)
            advice = "Name the field that says whose a label is"
            raise SettingNeeded(problem, advice, "annotator", FIELD)

    def columns(self, items: Iterable[str] | None = None) -> dict[str, list[Any]]:
        """Make the columns of a table.

        Args:
            items: The texts to keep; by default all.

        Returns:
            `item_id`, `task` if it is known, who said it if that is known of all (`annotator` if
            several people labelled a text, else `user`), and `label`.
        """
        wanted = None if items is None else set(items)
        labels = {
            key: by_user
            for key, by_user in self._labels.items()
            if wanted is None or key[0] in wanted
        }
        rows = [(*key, *pair) for key, by_user in labels.items() for pair in by_user.items()]
        who = "user" if len(rows) == len(labels) else "annotator"
        names, tasks, people, labels = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
        columns: dict[str, list[Any]] = {"item_id": names}
        if any(task is not None for task in tasks):
            columns["task"] = tasks
        if people and None not in people:
            columns[who] = people
        return columns | {"label": labels}

    def _is_between(self, label: str) -> bool:
        """Whether a number lies within the scale."""
        number = parse_number(label)
        points = [parse_number(option) for option in self.listed.options] if self.listed else []
        if number is None or not points or None in points:
            return False
        numbers = [point for point in points if point is not None]
        return min(numbers) <= number <= max(numbers)
