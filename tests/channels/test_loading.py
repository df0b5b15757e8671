"""Channels by name and by path, and one clear error for everything else."""

import os

import pytest

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import ChannelError


def test_names_and_channels_are_found():
    for name, channel in CHANNELS.items():
        assert load_channel(name) is channel
        assert load_channel(channel) is channel
        assert channel.name == name and channel.source == ""
    with pytest.raises(ChannelError, match="'mixtures'.*mixture, mixture-vector, location"):
        load_channel("mixtures")


def test_a_file_is_named_after_itself_and_keeps_its_identity(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def model(readings, labels=None):\n    return 1\n")
    first = load_channel(path)
    assert isinstance(first, Channel)
    assert (first.name, first.source, first.model(None)) == ("mine", str(path), 1)
    assert load_channel(str(path)) == first
    path.write_text("def model(readings, labels=None):\n    return 2\n")
    os.utime(path, ns=(1, 1))
    assert load_channel(path).model(None) == 2
    with pytest.raises(ChannelError, match="no channel file at .*none.py"):
        load_channel(tmp_path / "none.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ChannelError, match="no channel file at .*folder.py"):
        load_channel(tmp_path / "folder.py")


def test_a_change_within_the_second_is_seen(tmp_path, monkeypatch):
    # Bytecode that Python keeps beside a file is told from it by whole seconds and its size.
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for number in (1, 2):
        path.write_text(f"def model(readings, labels=None):\n    return {number}\n")
        os.utime(path, ns=(10**18 + number, 10**18 + number))
        assert load_channel(path).model(None) == number
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\n", r"defines no function model\(readings, labels=None\)"),
        ("x = 1\ndef model(readings:\n", r"SyntaxError: .* \(line 2\)"),
        ("x = 1\nraise SystemExit(3)\n", r"failed: SystemExit: 3 \(line 2\)"),
        ("\n\nimport nothing_of_that_name\n", r"No module named .* \(line 3\)"),
        ("EXAMPLES = {'length': (5, 2)}\n", "must name covariates with a range"),
        ("LEVELS = {'user': 0}\n", "with the number of their levels"),
        ("PARAMETERS = {'skew': 3}\n", "PARAMETERS"),
        ("PARAMETERS = {'skew': ' '}\n", "PARAMETERS"),
        ("PARAMETERS = 'skew'\n", "PARAMETERS"),
    ],
)
def test_a_file_that_is_no_channel(tmp_path, code, message):
    path = tmp_path / "bad.py"
    path.write_text(code + "def model(readings, labels=None): ...\n" * ("S = " in code))
    with pytest.raises(ChannelError, match=message):
        load_channel(path)


def test_covariates_may_have_examples_and_levels_and_readers_may_be_several(tmp_path, monkeypatch):
    settings = "EXAMPLES = {'length': (20, 500)}\nLEVELS = {'user': 12}\nSEVERAL = True\n"
    (tmp_path / "mine.py").write_text(settings + "def model(readings, labels=None): ...\n")
    monkeypatch.chdir(tmp_path)
    found = load_channel("mine.py")
    assert found.source == str(tmp_path / "mine.py") and found.several
    assert found.examples == (("length", 20.0, 500.0),) and found.levels == (("user", 12),)
    for more in (9, 15):
        other = found._replace(levels=(("user", more), ("topic", 3)))
        assert count_levels(found, other) == {"user": min(more, 12), "topic": 3}
