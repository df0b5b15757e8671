"""The texts that one person labels: which is next, and what they answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from cordial_ppl.data.number_table import is_unread
from cordial_ppl.data.ratings import state
from cordial_ppl.decisions.planning import expected_scores, score_strata
from cordial_ppl.errors import InputError, SettingNeeded, quote
from cordial_ppl.label.answer_log import ANOTHER, LABEL, SKIP, UNDO, AnswerLog, Row
from cordial_ppl.tables import ReadingTable
from cordial_ppl.tables.frame import as_text

MORE, AHEAD = 10, 200
"""Texts that are added at a time when all are answered, and that are planned beyond these."""


class Stale(InputError):
    """An answer is about what another window has answered meanwhile."""


@dataclass
class Assignment:
    """The texts of a plan, some of them answered.

    Attributes:
        table: The readings of all texts.
        log: The answers.
        order: The rows of the texts, in the order of the plan, [n].
        target: How many of these are to be answered.
        columns: What is shown of all texts by column, the text itself first.
        by: The column over whose groups the plan is spread, if any.

    Raises:
        InputError: The answers are about texts of another table.
        SettingNeeded: They are of a plan by another column.
    """

    table: ReadingTable
    log: AnswerLog
    order: Int64[np.ndarray, " n"]
    target: int
    columns: Mapping[str, Any]
    by: str | None = None

    def __post_init__(self) -> None:
        """Check that the answers that there are belong to this plan."""
        for row in self.log.standing:
            by, table = row.get("probability_by"), self.table.columns.path
            if row["item_id"] not in self._rows:
                item = quote(row["item_id"])
                problem = f"{self.log.path} contains {item}, but {table} has no such text."
                raise InputError(f"{problem} {ANOTHER}")
            if by not in (None, self.by):
                problem = f"{self.log.path} contains labels from a plan by {by!r}."
                raise SettingNeeded(problem, "Continue that plan", "by", by)

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each text by its id."""
        return {item: row for row, item in enumerate(self.table.item_ids)}

    @cached_property
    def _shares(self) -> Float64[np.ndarray, "N K"]:
        """What the judge states of each text, by option: all texts tell ratings from others."""
        shares, read = self.table.logits.copy(), ~is_unread(self.table.logits)
        shares[read] = state(shares[read])[0]
        return shares

    @cached_property
    def _strata(self) -> Int64[np.ndarray, " N"]:
        """The column `stratum` of each text."""
        return score_strata(expected_scores(self.table.logits, self.table.scale), self.target)

    @property
    def items(self) -> Sequence[str]:
        """The texts to answer, in their order."""
        return [self.table.item_ids[row] for row in self.order[: self.target]]

    @property
    def counts(self) -> dict[str, int]:
        """How many texts are to be answered, are answered, have labels, and are left for later."""
        events = {item: row["label_event"] for item, row in self.log.by_item.items()}
        done, kinds = sum(events.get(item, SKIP) != SKIP for item in self.items), [*events.values()]
        numbers = {"target": self.target, "answered": done, "texts": len(self.order)}
        return numbers | {"labels": kinds.count(LABEL), "skipped": kinds.count(SKIP)}

    @property
    def current(self) -> str | None:
        """The text to answer next: those left for later come last."""
        rows = self.log.by_item
        fresh = (item for item in self.items if item not in rows)
        later = {row["label_row"]: item for item, row in rows.items() if row["label_event"] == SKIP}
        return next(fresh, later[min(later)] if later else None)

    def show(self, item: str) -> dict[str, str]:
        """Return the columns of a text, as text; the first is what is rated."""
        row = self._rows[item]
        cells = {name: column[row] for name, column in self.columns.items()}
        return {name: "" if cell is None else as_text(cell) for name, cell in cells.items()}

    def answer(self, item: str, event: str, label: str | None, note: str) -> None:
        """Write an answer; one that stands already is not written twice.

        Raises:
            InputError: There is no such text or option.
            Stale: The text has another answer.
            FileError: The answer could not be written.
        """
        if item not in self._rows or (event == LABEL) != (label in self.table.scale.options):
            raise InputError("unknown text or option.")
        before = self.log.by_item.get(item)
        if before and before["label_event"] != SKIP:
            if (before["label_event"], before["label"]) == (event, label):
                return
            first = before["label"] or "cannot be rated"
            raise Stale(f"already answered in another window ({first}). Undo to change the answer.")
        plan = {"stratum": int(self._strata[self._rows[item]])}
        plan |= {} if self.by is None else {"probability_by": self.by}
        self.log.append(item, event, label, label_note=note, **plan)

    def undo(self, row: int) -> None:
        """Undo the last answer, which must be the one of this number.

        Raises:
            Stale: Another answer is the last one.
            FileError: It could not be written.
        """
        last = self.last
        if last is None or last["label_row"] != row:
            raise Stale("the answers changed in another window. Check the last answer shown.")
        self.log.append(last["item_id"], UNDO)

    @property
    def last(self) -> Row | None:
        """The last answer that stands."""
        return self.log.standing[-1] if self.log.standing else None

    def add(self) -> None:
        """Ask for some more texts of the plan."""
        self.target = min(self.target + MORE, len(self.order))

    def reveal(self, item: str) -> dict[str, Any]:
        """Say what the judge states of a text that is answered, and of no other.

        Raises:
            InputError: It is not answered.
        """
        if self.log.by_item.get(item, {}).get("label_event", SKIP) == SKIP:
            raise InputError("the judge's rating is shown only after you answer.")
        shares, scale = self._shares[self._rows[item]], self.table.scale
        if np.isnan(shares).all():
            return {"option": None}
        stated = {"share": float(shares.max()), "score": float(shares @ scale.values)}
        return {"option": scale.options[shares.argmax()], **stated}
