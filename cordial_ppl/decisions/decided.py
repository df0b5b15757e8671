"""What was decided: a decision for each text, and what is expected of them, in words."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.errors import count
from cordial_ppl.runtime.text_table import align

MORE = 20
"""The labels more whose use is forecast."""


@dataclass(frozen=True)
class Decisions:
    """A decision for each text, with the expected cost and agreement.

    Attributes:
        decision: "pass" or "fail", or an option; "person" if a person must decide, [N].
        cost: expected cost of the decision, [N]; NaN if no cost of a person is set.
        p_wrong: probability that the best decision without a person is wrong, [N].
        probability: chance that people see the text: 1 if people decide or have labelled it, the
            audit share for other audited texts, NaN if the text was not chosen, [N].
        labelled: whether the text has labels; if so, these decide, [N].
        ways: for each way of deciding, the share of texts sent to people, the expected cost per
            text, and the expected agreement on the other texts; over texts with a reading but no
            label.
        curve: results if "people" see a given share of the most doubtful texts: "cost", "agreement"
            with the ends "low" and "high" of its 90 % interval, and the probability "kept".
        agree: the required agreement; None if costs decide.
        kept: probability that the agreement is reached; NaN if no share of the texts reaches it.
        checked: number of labelled texts that out-of-fold predictions would decide without a
            person, and the number of these decided as people did. With ``agree``, these are the
            texts with the surest predictions, in the same proportion as among the other texts.
            These numbers are valid only if the labelled texts were chosen at random.
        unread: number of texts with neither a reading nor a label; people see all of these.
        gain: expected reduction of the cost per text from twenty more labels; NaN without costs.
    """

    decision: np.ndarray
    cost: Float[np.ndarray, " N"]
    p_wrong: Float[np.ndarray, " N"]
    probability: Float[np.ndarray, " N"]
    labelled: Bool[np.ndarray, " N"]
    ways: dict[str, tuple[float, float, float]]
    curve: dict[str, Float[np.ndarray, " S"]]
    agree: float | None
    kept: float
    checked: Float[np.ndarray, " 2"]
    unread: int
    gain: float

    @property
    def asked(self) -> Bool[np.ndarray, " N"]:
        """Texts that people should label."""
        return ~(np.isnan(self.probability) | self.labelled)

    @property
    def counts(self) -> dict[str, int]:
        """Number of unlabelled texts, by decision."""
        names, numbers = np.unique(self.decision[~self.labelled], return_counts=True)
        return dict(zip(names.tolist(), numbers.tolist(), strict=True))

    def text(self, chosen: bool = False) -> str:
        """Return the decisions by number, the expected results, and a check against labels.

        Args:
            chosen: True if the labelled texts were not chosen at random, to omit the check.
        """
        texts, labelled = len(self.decision), int(self.labelled.sum())
        free = texts - labelled
        if labelled == texts:
            return f"all {count(texts, 'text')} already have labels, so no decision is needed."
        # Without the cost of a person there is none of a text.
        width = 4 if self.agree is None else 3
        rows = [("", "sent to people", "agreement on the rest", "cost per text")[:width]]
        for way, (share, cost, agreement) in self.ways.items():
            rest = f"{agreement:.0%}" if share < 1 else ""
            rows.append((way, f"{share:.0%}", rest, f"{cost:.3g}")[:width])
        decisions = ", ".join(f"{name!r} {number}" for name, number in self.counts.items())
        also = f"; people also see {self.unread} texts that the judge did not rate"
        lines = [
            f"{free} of {count(texts, 'text')} have no label. Decisions: {decisions}",
            f"\nExpected for the {count(free - self.unread, 'text')} without a label"
            + also * bool(self.unread),
            *align(*rows),
            "",
        ]
        if self.agree is not None and self.kept != self.kept:
            lines.append(
                f"The labels cannot guarantee {self.agree:g} agreement, so all texts go to people."
            )
        elif self.agree is not None:
            lines.append(f"The agreement reaches {self.agree:g} with probability {self.kept:.2f}.")
        of, right = self.checked
        if of and not chosen:
            lines.append(
                f"Check on held-out labels: {of:.0f} of {labelled} texts would be decided without "
                f"a person, and {right:.0f} of these decisions match the labels."
            )
        if self.gain == self.gain:
            lines.append(
                f"{MORE} more labels would lower the cost by about {self.gain:.2g} per text, "
                f"or {self.gain * (free - self.unread):.2g} in total."
            )
        return "\n".join(lines)

    __repr__ = text
