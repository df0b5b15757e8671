"""What the command line prints of a forecast, and what it refuses."""

import json

import pytest
from review_tables import write_tables

import cordial_ppl as cp
from cordial_ppl.cli.forecast import show_forecast
from cordial_ppl.cli.options import Chosen, Shown
from cordial_ppl.errors import CordialWarning
from cordial_ppl.tables import read_labelled


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A calibrator and the table of readings that it is of."""
    folder = tmp_path_factory.mktemp("forecast")
    readings, labels = (folder / path for path in write_tables(folder))
    table, found, _ = read_labelled(readings, labels)
    rows = {item: row for row, item in enumerate(table.item_ids)}
    chosen = [rows[item] for item in found.item_ids]
    fitted = cp.Cordial(table.scale).fit(table.logits[chosen], table.scale.decode(found.labels))
    fitted.save(folder / "reader.cordial")
    return folder / "reader.cordial", readings, fitted.forecast(table.logits)


def test_a_forecast_is_printed(files, capsys):
    calibrator, readings, found = files
    show_forecast(calibrator, readings, Chosen(), 0.1, Shown())
    assert capsys.readouterr().out.strip() == f"{found.text}\n{found.say_needed(0.1)}"
    show_forecast(calibrator, readings, Chosen(), None, Shown())
    assert capsys.readouterr().out.strip() == found.text
    # No file gets it.
    show_forecast(calibrator, readings, Chosen(), None, Shown(quiet=True))
    assert capsys.readouterr().out.strip() == found.text


def test_a_forecast_as_json(files, capsys):
    calibrator, readings, found = files
    printed = show_forecast(calibrator, readings, Chosen(), 0.1, Shown(json=True))
    assert capsys.readouterr().out == ""
    assert printed["loss"]["value"] == pytest.approx(found.loss.value)
    assert printed["needed"]["value"] == found.needed(0.1).value
    assert [step["labels"] for step in printed["steps"]] == list(found.counts)


def test_a_plan_and_a_forecast_are_one_json(cordial, files):
    calibrator, readings, found = files
    given = "plan", readings, "--more", calibrator, "--json"
    alone = json.loads(cordial(*given).stdout)
    assert alone["sentence"] == found.sentence
    both = json.loads(cordial(*given, "-o", "p.csv").stdout)
    assert both["forecast"] == alone and both["planned"] == 20


def test_what_is_refused(files):
    calibrator, readings, _ = files
    with pytest.raises(cp.InputError, match="width of an interval must be positive"):
        show_forecast(calibrator, readings, Chosen(), 0.0, Shown())
    with pytest.raises(cp.InputError, match="names 2 options"):
        show_forecast(calibrator, readings, Chosen(options="1,2"), None, Shown())


def test_readings_of_another_reader_are_warned_of(files, tmp_path):
    calibrator, readings, _ = files
    lines = readings.read_text().splitlines()
    columns = lines[0].split(",")
    last = [place for place, name in enumerate(columns) if name.startswith(("logit_", "prob_"))]
    turned = columns.copy()
    for place, name in zip(last, [columns[place] for place in reversed(last)], strict=True):
        turned[place] = name
    other = tmp_path / "other.csv"
    other.write_text("\n".join([",".join(turned), *lines[1:]]))
    with pytest.warns(CordialWarning, match="the readings differ from those of the fit"):
        show_forecast(calibrator, other, Chosen(), None, Shown())
