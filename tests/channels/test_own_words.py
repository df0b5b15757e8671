"""What a channel's file says of its parameters is what summaries say of them."""

import json

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, summarise

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.decisions.reported import PARAMETERS
from cordial_ppl.inference.target import build_target

FINE = cp.Diagnostics("default", 0.3, 280.0, 0.5, 1e-9, 0, True)
SAID = "classes that <each> $step$ [of K - 1] is too long"
CODE = """
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import observe, sample_log_odds

{words}

def model(readings, labels=None):
    top = readings.logits.shape[-1] - 1
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    bias = numpyro.sample("bias", dist.Normal(0.0, 1.0))
    share = sample_log_odds("share", 0.0, 1.0)
    steps = numpyro.sample("steps", dist.Normal(0.0, 0.5).expand([top]).to_event(1))
    places = jnp.cumsum(jnp.append(jnp.zeros_like(offset), 1.0 + steps)) + bias + offset
    stated = jax.nn.softmax(readings.logits, axis=1) @ places
    near = jax.nn.softmax(-((stated[:, None] - jnp.arange(top + 1.0)[None]) ** 2), axis=1)
    mine = jax.nn.sigmoid(share)
    observe(None, labels, probs=mine * near + (1 - mine) * readings.histogram[None])
"""


@pytest.fixture
def write(tmp_path):
    """Write the channel with words for its parameters; return its path."""

    def made(words, name="mine"):
        path = tmp_path / f"{name}.py"
        path.write_text(CODE.format(words=f"PARAMETERS = {words!r}\n" if words else ""))
        return path

    return made


def around(channel, size=5, spread=0.1, **centres):
    """A posterior whose unconstrained parameters lie around given values."""
    target = build_target(channel, size)
    flat = np.zeros(target.size)
    for site in target.sites:
        flat[site.slice] = centres.get(site.parameter, 0.0)
    draws = flat + spread * np.random.default_rng(0).normal(size=(400, target.size))
    texts = Labelled(np.zeros((1, size)), np.zeros(1, int))
    share = np.full(size, 1 / size)
    return cp.Posterior(channel, share, draws, np.full(400, 1 / 400), FINE, texts)


def told(*posteriors, size=5):
    found = {each.channel.name: each for each in posteriors}
    return summarise(found, dict.fromkeys(found, 1 / len(found)), size=size)


def test_words_are_the_authors_and_numbers_in_their_units(write):
    path = write({"steps": SAID, "share": "share of\n   careful people"})
    mine = around(load_channel(path), steps=[1.0, 0.5, 0.0, -1.0], share=np.log(4), spread=0.01)
    summary = told(around(CHANNELS["location"], offset=0.7), mine)
    assert [fault.name for fault in summary.parameters] == list(PARAMETERS)
    bias, share = (f for f in summary.channel_faults["mine"] if f.name in ("bias", "share"))
    steps = [fault for fault in summary.channel_faults["mine"] if "steps" in fault.name]
    assert (share.name, share.words) == ("share", "share of careful people")
    # Medians of 400 draws are off by a thousandth: the largest .0009, sd .0004 over 20 seeds.
    assert share.median == pytest.approx(0.8, abs=0.01)
    assert share.low and share.high and share.low < share.median < share.high
    assert [step.name for step in steps] == [f"steps[{k}]" for k in range(4)]
    assert [step.median for step in steps] == pytest.approx([1, 0.5, 0, -1], abs=0.02)
    assert [step.words for step in steps] == [SAID, "", "", ""]
    # Nobody says what this one is, not even the package, which knows biases of another kind.
    assert (bias.name, bias.words) == ("bias", "")
    assert [line for line in summary.text.splitlines() if str(share) in line]
    assert json.loads(json.dumps(summary.to_dict()))["channel_faults"]["mine"][3]["words"] == SAID


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        pytest.param(50, range(49), marks=pytest.mark.nightly),
        (61, (*range(5), *range(15, 60))),
    ],
)
def test_long_vectors_are_cut(write, size, shown):
    true = np.random.default_rng(3).choice([-1, 1], 60) * np.linspace(0.5, 6.4, 60)
    centres = {"steps": np.roll(true, 5)} if size == 61 else {}
    mine = around(load_channel(write({"steps": SAID})), size=size, spread=0.01, **centres)
    faults = told(mine, size=size).channel_faults["mine"]
    steps = [fault for fault in faults if fault.name.startswith("steps")]
    assert [fault.name for fault in steps] == [f"steps[{k}]" for k in shown]
    assert steps[0].words.startswith(SAID) and {fault.words for fault in steps[1:]} == {""}


def test_own_channels_stand_apart_and_names_are_checked(write):
    plain = told(around(load_channel(write({})), spread=0.01, offset=0.7))
    assert not plain.parameters and not plain.channels
    offset = plain.channel_faults["mine"][0]
    assert (offset.name, offset.words, round(offset.median, 1)) == ("offset", "", 0.7)
    both = told(
        around(CHANNELS["location"], spread=0.01, offset=0.7),
        around(load_channel(write({"offset": "half of it"}, "other")), offset=-0.2),
    )
    assert round(both.parameters[1].median, 1) == 0.7
    assert both.channel_faults["other"][0].words == "half of it"
    own = [around(CHANNELS[name]) for name in ("location-vector", "bridge")]
    assert not told(*own).channel_faults
    path = write({"share_log_odds": "log odds", "steps": SAID})
    with pytest.raises(cp.ChannelError, match="'share_log_odds'.* offset, bias, share, steps"):
        cp.ChannelCalibrator(path).fit(LOGITS, LABELS)
