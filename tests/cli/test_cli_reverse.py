"""`--reverse`: a judge whose scale runs from best to worst is read as if it ran the other way."""

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.tables import read_readings, write_table


@pytest.fixture
def turned(tmp_path):
    """Readings, the same with their scale turned round, hard ratings of both, and labels."""
    readings, labels = write_tables(tmp_path, user=["u"] * TEXTS)
    cells = read(readings)
    for k in range(1, 6):
        # Sums of these are exact in any order.
        cells[f"logit_{k}"] = (np.rint(np.array(cells[f"logit_{k}"], float) * 64) / 64).tolist()
    write_table(readings, cells)
    write_table("t.csv", cells | {f"logit_{6 - k}": cells[f"logit_{k}"] for k in range(1, 6)})
    stated = read_readings(readings).logits.argmax(axis=1) + 1
    write_table("a.csv", {"item_id": cells["item_id"], "rating": stated})
    write_table("b.csv", {"item_id": cells["item_id"], "rating": 6 - stated})
    return readings, labels


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


RATED = "--options", "1,2,3,4,5"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=() if daily else pytest.mark.nightly, id=command[0])
        for command in (
            ("calibrate", "{}", "l.csv", "-o", "o.csv"),
            ("estimate", "{}", "l.csv", "-o", "o.csv"),
            ("decide", "{}", "l.csv", "-o", "o.csv", "--pass", "4,5", "--agree", ".9"),
            ("fuse", "{}", "l.csv", "-o", "o.csv"),
            ("shift", "{}", "l.csv", "-o", "o.csv", "--annotator", "user"),
            ("plan", "{}", "-o", "o.csv"),
        )
        # A calibrator and a table of ratings are turned round below.
        for daily in [command[0] in ("estimate", "fuse", "plan")]
    ],
)
def test_every_command_reads_a_scale_turned_round(here, cordial, turned, command):
    """What comes out is that of the scale as labels have it."""
    way = "laplace" if command[0] in ("estimate", "decide") else "mode"
    more = () if command[0] == "plan" else ("--inference", way)
    write_table("l.csv", {**read("l.csv"), "user": ["u"] * LABELLED})
    outputs = []
    for readings, direction in (("r.csv", ()), ("t.csv", ("--reverse",))):
        cordial(*(part.format(readings) for part in command), *more, *direction)
        cells = read("o.csv")
        outputs.append({name: cells[name] for name in cells if not name.startswith("logit_")})
    assert outputs[0] == outputs[1]


def test_ratings_are_turned_round(here, cordial, turned):
    """Those beside the predictions stay as they were in the table."""
    outputs = []
    for name, more in (("a.csv", ()), ("b.csv", ("--reverse",))):
        cordial(*fast("calibrate", name, "l.csv", "-o", f"o-{name}", *RATED, *more))
        outputs.append(read(f"o-{name}"))
        assert outputs[-1].pop("input_rating") == read(name)["rating"]
    assert outputs[0] == outputs[1]


def test_ratings_on_another_scale(here, cordial, refused, turned):
    """Labels on a scale from 1 to 5, ratings from 0 to 100; copies of the table stay as it is."""
    cells, path = read("a.csv"), ("c.csv", "l.csv")
    stated = np.array(cells["rating"], float)
    stated += np.where(stated < 5, np.arange(TEXTS) % 3 / 4, 0)
    write_table("a.csv", cells | {"rating": stated})
    write_table("c.csv", cells | {"rating": (stated - 1) * 25})
    ranged = *RATED, "--rating-range", "0,100"
    cordial(*fast("calibrate", "a.csv", "l.csv", "-o", "o-a.csv", *RATED, "--round", "split"))
    cordial(*fast("calibrate", *path, "-o", "o-c.csv", *ranged))
    plain, made = read("o-a.csv"), read("o-c.csv")
    assert made.pop("input_rating") == read("c.csv")["rating"] != plain.pop("input_rating")
    assert made == plain
    refused("a column per option", "fit", "r.csv", "l.csv", "-o", "j.cordial", *ranged[2:])
    for options in (RATED, ()):
        refused("--rating-range WORST,BEST", *fast("fit", *path, "-o", "j.cordial", *options))
    cordial(*fast("fit", *path, "-o", "j.cordial", *ranged))
    predict = "predict", "j.cordial", "c.csv", "-o", "o.csv", "--rating-range"
    assert "direction" not in cordial(*predict, "0.0,100").stderr
    assert read("o.csv") == {**made, "input_rating": read("c.csv")["rating"]}
    # Twice turned round.
    assert "remove --reverse" in cordial(*predict, "100,0", "--reverse").stderr
    assert read("o.csv")["mean"] == made["mean"]
    said = cordial(*predict, "0,200").stderr
    assert "0 to 200" in said and "use its --rating-range" in said and "--reverse" not in said


def test_a_calibrator_knows_the_direction(here, cordial, turned):
    """A table that is read the other way than those of the fit is warned of, both ways."""
    for readings, more, other in (("r.csv", (), ("--reverse",)), ("t.csv", ("--reverse",), ())):
        cordial(*fast("fit", readings, "l.csv", "-o", "j.cordial", *more))
        predict = "predict", "j.cordial", readings, "-o", "o.csv"
        told = cordial(*predict, *more).stderr
        assert "direction" not in told and "differ" not in told
        predicted = read("o.csv")
        cordial(*fast("calibrate", readings, "l.csv", "-o", "o.csv", *more))
        assert predicted == read("o.csv")
        said = cordial(*predict, *other).stderr
        assert "direction" in said and "fit another" not in said
        assert ("add --reverse" in said) == bool(more) == ("remove --reverse" not in said)
