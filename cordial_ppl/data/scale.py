"""The rating scale: K ordered options; labels become positions 0..K-1, and positions labels."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set, Sized
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from cordial_ppl.data.containers import ordered_categories, unmasked
from cordial_ppl.data.numerals import (
    PLAIN,
    has_thousands,
    is_counting,
    is_exact,
    is_missing,
    parse_number,
)
from cordial_ppl.errors import InputError, SettingNeeded, Where, list_names, name_rows, quote, warn

SHOWN = 3
"""Wrong labels that a message quotes."""

OTHER_SCALE = (
    "If people label on a different scale from the judge, list the label options and pass the "
    "judge's range: --rating-range WORST,BEST, or rating_range=(WORST, BEST) in Python."
)

MOST = 201
"""Options of a scale, at most, as 0..200."""


@dataclass(frozen=True)
class Scale:
    """The K ordered options of a rating, worst (or least) first.

    If the name of every option is a number ('1'..'5'), the labels 3, 3.0, '3' and '3.0' all mean
    the option of that name. Otherwise a label is the name of an option, or its position 0..K-1 if
    no name is the number of another option. Capitals and blanks do not count where names differ in
    more than these.

    Args:
        options: the K names, at least two, distinct and not empty.
        aliases: how tables write the options, if otherwise: '1'..'5' for 'poor'..'excellent'.
        numbered: whether predictions are numbers or Booleans, because the options were given so.

    Raises:
        InputError: there are fewer than two options, or a name is empty or occurs twice.
    """

    options: tuple[str, ...]
    aliases: tuple[str, ...] = field(default=(), compare=False)
    numbered: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        """Check the names."""
        names = tuple(name.strip() for name in self.options)
        vars(self).update(options=names, aliases=tuple(name.strip() for name in self.aliases))
        if len(names) > MOST:
            raise InputError(
                f"a scale can have at most {MOST} options; found {len(names):,}. Merge "
                "neighbouring options first: for example, turn 0 to 1000 into 0 to 100."
            )
        if len(names) < 2:
            raise InputError(f"name two or more options, such as 1,2,3; got {list_names(names)}.")
        if "" in names:
            raise InputError(f"option names must not be empty; found an empty name in {names}.")
        numbers = [parse_number(name) for name in names]
        if any(map(has_thousands, names)) and None not in numbers:
            raise InputError(f"options must be plain numbers; found {list_names(names)}.{PLAIN}")
        if not all(map(is_exact, names)):
            raise InputError(
                f"whole-number options must be below 2^53; found {list_names(names)}. Floats "
                "cannot hold larger numbers exactly. Use words as option names."
            )
        alike: list[Any] = [_composed(name) for name in names] if None in numbers else numbers
        twice = [name for name, same in zip(names, alike, strict=True) if alike.count(same) > 1]
        if twice:
            raise InputError(f"options must be distinct; {twice[0]!r} occurs twice in {names}.")
        if abs(np.sign(np.diff(self.values)).sum()) < len(names) - 1:
            warn(f"the numbers {list_names(names)} are not in order. Sort the options.")

    @classmethod
    def default(cls, size: int) -> "Scale":
        """Number `size` options 0..K-1."""
        return cls(tuple(map(str, range(size))), numbered=True)

    @classmethod
    def of(cls, options: Any, size: int | None = None) -> "Scale":
        """Make the scale of readings with `size` columns.

        Args:
            options: the names in the scale's order (numbers are taken as names), a scale, an
                ordered categorical of pandas, an Enum of polars or Python, or None for 0..K-1.
            size: number of columns K of the readings, if they are known.

        Raises:
            InputError: the number of names is not `size`, or the names are no scale.
        """
        if options is None and size is not None:
            return cls.default(size)
        if not isinstance(scale := options, Scale):
            names = _names(options)
            numbered = all(isinstance(name, Real | np.bool_) for name in names)
            scale = cls(tuple(map(str, names)), numbered=numbered)
        if size not in (None, scale.size):
            raise InputError(
                f"the readings have {size} columns but {scale.size} options are listed: "
                f"{list_names(scale.options)}. Name one option per column."
            )
        return scale

    @property
    def classes(self) -> np.ndarray:
        """Return the options as they were passed: names, numbers or Booleans."""
        if not self.numbered:
            return np.asarray(self.options)
        if "True" in self.options:
            return np.array([name == "True" for name in self.options])
        whole = (self.values % 1 == 0).all() and (abs(self.values) < 2**53).all()
        return self.values.astype(np.int64) if whole else self.values

    @property
    def size(self) -> int:
        """Return the number of options, K."""
        return len(self.options)

    @property
    def values(self) -> Float64[np.ndarray, " K"]:
        """Return the options' numbers if all of their names are numbers, or their positions."""
        return np.array(list(_numbers(self.options) or range(self.size)), np.float64)

    @property
    def rising(self) -> bool:
        """Return whether the last option, the best, has a higher number than the first."""
        return bool(self.values[-1] > self.values[0])

    @cached_property
    def numbers(self) -> dict[float, int] | None:
        """Map the numbers of the options' names or aliases to positions; None for words."""
        return _numbers(self.options) or _numbers(self.aliases)

    @property
    def numerals(self) -> Float64[np.ndarray, " K"]:
        """Return the numbers that labels count options with: names, aliases or else positions."""
        return np.array(list(self.numbers or range(self.size)), np.float64)

    def encode(
        self, labels: Any, *, where: Where | None = None, noun: str = "labels"
    ) -> Int64[np.ndarray, " n"]:
        """Turn labels into positions on the scale.

        Args:
            labels: one label per text: names or numbers, in a list, NumPy or JAX array or a series.
            where: names the place of a label in messages; by default its row, counted from 0.
            noun: what messages call the labels.

        Returns:
            Positions 0..K-1, shape [n].

        Raises:
            InputError: a label is missing, fractional, out of range or an unknown word, or there
                are no labels.
            SettingNeeded: the labels fit options that start at 1.
        """
        return self._read(labels, self._position, where, noun).astype(np.int64)

    def locate(
        self, labels: Any, *, where: Where | None = None, noun: str = "labels"
    ) -> Float64[np.ndarray, " n"]:
        """Turn labels into positions, of which some may lie between options: 3.5 of 1..5 is 2.5.

        Raises:
            InputError: as `encode` raises, but for a number between two options.
            SettingNeeded: the labels fit options that start at another number.
        """
        return np.round(self._read(labels, self._between, where, noun), 9)

    def at(self, positions: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Return the numbers at positions that may lie between options, as labels count them."""
        return np.interp(positions, np.arange(self.size), self.numerals)

    def named(self, label: Any) -> int | None:
        """Return the position of an option by its name or alias; None for another label."""
        if isinstance(label, bool | np.bool_):
            # True is no position, and 1 only beside 0.
            label = str(int(label) if {*(self.numbers or ())} == {0, 1} else label)
        if not isinstance(label, str):
            return None
        return self._positions.get(_composed(label.strip()), self._folded.get(fold(label)))

    def counted(self, labels: Iterable[Any], noun: str = "labels") -> "Scale":
        """Find out how numbers count options that are words, from 0 or from 1.

        Args:
            labels: all labels.
            noun: what messages call them.

        Returns:
            The scale, with the numbers as aliases if they are 1..K, which is warned of.

        Raises:
            SettingNeeded: the numbers lie between 1 and K - 1, and may count from either.
        """
        numbers = {_count(label) for label in labels if self.named(label) is None}
        finite = [n for n in numbers if n is not None and n not in self._by_number]
        # Names that are numbers tell where all of them start.
        starts = {number - position for number, position in self._by_number.items()}
        apart = min(finite, default=0) < 1 or max(finite) > self.size
        if self.numbers is not None or starts - {1} or apart:
            return self
        names, (first, *_, last) = tuple(str(i + 1) for i in range(self.size)), self.options
        if max(finite) < self.size and not starts:
            listed = ", ".join(f"{number:g}" for number in sorted(finite))
            raise SettingNeeded(
                f"{noun} {listed} are ambiguous: {quote(first)} could be numbered 0 or 1. Write "
                "option names instead.",
                "If all ratings are numbers, use numbers as option names, for example from 1",
                "options",
                names,
            )
        warn(
            f"{noun} are read as numbers from 1 ({quote(first)}) to {self.size} ({quote(last)}), "
            f"but means count from 0 to {self.size - 1} unless options are named 1 to {self.size}."
        )
        return replace(self, aliases=names)

    def _read(
        self, labels: Any, position: Callable[[Any], float | None], where: Where | None, noun: str
    ) -> Float64[np.ndarray, " n"]:
        """Turn labels into positions; refuse those that have none."""
        try:
            table = np.asarray(unmasked(labels))
            cells = table.tolist()
            cells = [*map(_plain, cells)] if table.dtype == object and table.ndim else cells
        except Exception:  # Rows differ in length, or a container raises anything.
            cells = labels
        if not isinstance(cells, list | tuple):
            raise InputError(f"{noun} must have the shape [n]; found {quote(labels)}.")
        if not cells:
            raise InputError(f"{noun} must have at least one entry; found none.")
        # A million ratings are looked at one by one only if some are of other types.
        for row, cell in enumerate(cells if {*map(type, cells)} - {int, float, str} else ()):
            if isinstance(cell, Sized) and not isinstance(cell, str | bytes):
                raise InputError(
                    f"{noun} must have the shape [n], one name or number per entry; found "
                    f"{quote(cell)} in {name_rows([row], where)}."
                )
        positions = {cell: position(cell) for cell in set(cells)}
        codes = [*map(positions.__getitem__, cells)]
        if None in codes:
            raise self._complaint(cells, codes, where, noun)
        return np.array(codes, np.float64)

    def decode(self, indices: Any) -> list[str]:
        """Turn positions 0..K-1, shape [n], into option names; raise an `InputError` for others."""
        positions = np.asarray(indices)
        if positions.size and not (0 <= positions.min() and positions.max() < self.size):
            raise InputError(f"positions must be 0..{self.size - 1}; found {positions.tolist()}.")
        return [self.options[i] for i in positions.tolist()]

    @cached_property
    def _positions(self) -> dict[str, int]:
        # A number is an option's own, and not how a table writes another.
        other = () if _numbers(self.options) and _numbers(self.aliases) else self.aliases
        return {_composed(name): i % self.size for i, name in enumerate((*other, *self.options))}

    @cached_property
    def _by_number(self) -> dict[float, int]:
        """Map the names and aliases that are numbers (True is 1) to positions."""
        names = self._positions.items()
        if self.numbered:
            names = zip(self.classes.tolist(), range(self.size), strict=True)
        return {n: i for name, i in names if (n := parse_number(name)) is not None}

    @cached_property
    def _takes_positions(self) -> bool:
        """Return whether a number may be a position: no name is the number of another option."""
        return all(number == position for number, position in self._by_number.items())

    @cached_property
    def _folded(self) -> dict[str, int]:
        """Map names without capitals and blanks to positions, where these tell options apart."""
        places = {(fold(name), position) for name, position in self._positions.items()}
        counts = Counter(name for name, _ in places)
        return {name: position for name, position in places if counts[name] == 1}

    @property
    def _counting(self) -> bool:
        """Return whether the options are numbers in steps of one."""
        return is_counting(list(self.numbers or ()))

    def _position(self, label: Any) -> int | None:
        if (position := self.named(label)) is not None:
            return position
        number = _count(label)
        if number is None or not is_exact(label) or self._may_be_thousands(label):
            return None
        index = int(number) if self._takes_positions and number in range(self.size) else None
        return self._by_number.get(number, index)

    def _between(self, label: Any) -> float | None:
        """Return the position of an option, or of a number between two, if they are in order."""
        position, number = self._position(label), _count(label)
        order = np.argsort(self.numerals)
        ordered = {*np.diff(order).tolist()} in ({1}, {-1})
        low, *_, high = self.numerals[order]
        free = ordered and position is None and not self._may_be_thousands(label)
        free = free and bool(self.numbers or self._takes_positions)
        if number is None or not free or not low < number < high:
            return position
        return float(np.interp(number, self.numerals[order], order))

    def _may_be_thousands(self, label: Any) -> bool:
        """Tell "1,000" on a scale that reaches so far from a number with decimals."""
        return has_thousands(label) and bool(np.abs(self.numerals).max() >= 1000)

    def _complaint(self, cells: Any, codes: list, where: Where | None, noun: str) -> InputError:
        bad = [i for i, code in enumerate(codes) if code is None]
        if empty := [i for i in bad if is_missing(cells[i])]:
            rows = name_rows(empty, where)
            return InputError(f"{noun} are missing in {rows}. Remove rows without a value.")
        rows_of: dict[str, list[int]] = {}
        for i in bad:
            rows_of.setdefault(quote(cells[i]), []).append(i)
        cited = [f"{value} in {name_rows(rows, where)}" for value, rows in rows_of.items()]
        others = f", and {n} other{'s' * (n > 1)}" if (n := len(cited) - SHOWN) > 0 else ""
        message = f"{noun} must be {self._expected()}; found {', '.join(cited[:SHOWN])}{others}."
        numbers = {_count(cells[i]) for i in bad}
        words = {fold(cell): cell.strip() for cell in cells if isinstance(cell, str)}
        spelt = numbers == {None} and len(bad) == len(cells) and 1 < len(words) <= self.size
        if self._counting and spelt:
            # Their order is not known: a command that names them so would fit a wrong scale.
            named = list_names(words.values())
            if any(map(str.isdecimal, "".join(words))):
                return InputError(f"{message} Use `cordial read` to extract numbers from text.")
            advice = f"If the options are words (here {named}), name all {self.size}, worst first"
            return SettingNeeded(message, advice, "options", ("WORST", "...", "BEST"))
        if noun == "ratings" and None not in numbers:
            message += f" {OTHER_SCALE}"
        first = self.numerals[0]
        up = first == 0 and numbers == {self.size} and 0 not in codes
        down = numbers == {first - 1} and self.size - 1 not in codes
        if self._counting and (up or down):
            first = int(first) + up - down
            names = tuple(str(first + i) for i in range(self.size))
            advice = f"If your scale starts at {first}, name the options"
            return SettingNeeded(message, advice, "options", names)
        if all(self._between(cells[i]) is not None for i in bad):
            message += " Use round_labels to round labels that lie between options."
        return InputError(message + PLAIN * any(has_thousands(cells[i]) for i in bad))

    def _expected(self) -> str:
        if self._counting:
            return f"whole numbers {self.numerals[0]:g}..{self.numerals[-1]:g}"
        free = self._takes_positions and not self.numbers
        positions = f" (or their positions 0..{self.size - 1})" if free else ""
        return f"among the options {list_names(self.options)}{positions}"


def _names(options: Any) -> tuple[Any, ...]:
    cited = quote(options)
    try:
        if isinstance(options, str | bytes | Set):
            raise TypeError("options must not be a string or a set")
        categories = ordered_categories(options)
        names = tuple(map(_plain, unmasked(options) if categories is None else categories))
        _ = tuple(map(str, names))
        truths = [isinstance(name, bool | np.bool_) for name in names]
        for position, name in enumerate(names):
            infinite = isinstance(name, Real) and parse_number(name) is None
            missing = not isinstance(name, str) and is_missing(name)
            mixed = truths[position] and not all(truths)
            if infinite or missing or mixed or isinstance(name, complex | np.complexfloating):
                cited = f"{quote(name)} at position {position}"
                raise ValueError("an option has no name")
        return names
    except Exception as error:  # What looks like a sequence may raise anything.
        raise InputError(
            f"options must be a sequence of names or finite numbers; found {cited}. "
            "Write options=('1', '2', '3') for three options."
        ) from error


def _plain(label: Any) -> Any:
    """Return the value of a member of a Python Enum; anything else as it is."""
    return label.value if isinstance(label, Enum) else label


def _count(label: Any) -> float | None:
    """Return the number that a label is, or None; True is no number of an option."""
    return None if isinstance(label, bool | np.bool_) else parse_number(label)


def _composed(name: str) -> str:
    """Compose the accents of a name: an e with an acute accent may be one character or two."""
    return unicodedata.normalize("NFC", name)


def fold(name: str) -> str:
    """Return the name without capitals, and with single blanks."""
    return " ".join(_composed(name).casefold().split())


def _numbers(names: Sequence[str]) -> dict[float, int] | None:
    """Number the positions by the names' numbers; None if one is no number."""
    positions = {n: i for i, name in enumerate(names) if (n := parse_number(name)) is not None}
    return positions if positions and len(positions) == len(names) else None
