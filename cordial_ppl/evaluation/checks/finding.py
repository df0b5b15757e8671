"""Findings of checks: one line with a verdict, and the figures behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PASS, WARN, FAIL = "pass", "warn", "fail"


def verdict(p_value: float) -> str:
    """Return the verdict on a p-value: doubtful below .05, wrong below .005."""
    return FAIL if p_value < 0.005 else WARN if p_value < 0.05 else PASS


@dataclass(frozen=True)
class Finding:
    """One line of a report.

    Attributes:
        name: what was checked.
        status: "pass", "warn" or "fail".
        words: the result.
        figures: the numbers behind it, by name.
    """

    name: str
    status: str
    words: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Report of all findings on a channel.

    Attributes:
        channel: name of the channel.
        findings: the lines, in the order in which they were found.
    """

    channel: str
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """Return the worst of the findings."""
        return max((finding.status for finding in self.findings), key=(PASS, WARN, FAIL).index)

    @property
    def text(self) -> str:
        """Return one line a finding."""
        width = max(len(finding.name) for finding in self.findings)
        return "\n".join(f"{f.status:5} {f.name:{width}}  {f.words}" for f in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of a name.

        Raises:
            KeyError: that was not checked.
        """
        return {finding.name: finding for finding in self.findings}[name]
