"""What each command refuses: status 2, one line that names what is wrong, and no file changed."""

import shlex
import shutil
from pathlib import Path

import numpy as np
import program
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.tables import write_table

MODELS = Path(__file__).parents[2] / "models"


CONFIG = {
    "key": "[plan]\nbogus = 1\n",
    "table": "[plam]\nseed = 1\n",
    "text": "[plan]\nseed = 'x'\n",
    "date": "seed = 2025-01-01",
    "half": "seed = [\n",
    "sweep": "[sweep]\nreport = 5\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of tables, of which most have one fault, and two calibrators."""
    folder = tmp_path_factory.mktemp("made")
    write_tables(
        folder,
        system=[f"system {row % 3}" for row in range(TEXTS)],
        constant=["x"] * TEXTS,
        reader=["logits"] * TEXTS,
        gap=["x", "x", "", *["x"] * (TEXTS - 3)],
        user=[f"user {row % 3}" for row in range(TEXTS)],
    )

    def change(name, of="r.csv", rows=TEXTS, **changes):
        cells = {**read(folder / of), **changes}
        cut = {k: list(v)[:rows] for k, v in cells.items() if v is not None}
        write_table(folder / name, cut)

    cells, ids = read(folder / "r.csv"), [f"text {row}" for row in range(TEXTS)]
    stated = np.argmax([cells[f"logit_{k}"] for k in range(1, 6)], axis=0) + 1
    write_table(folder / "hard.csv", {"item_id": ids, "rating": stated})
    write_table(folder / "other.csv", {"item_id": ids[:1], "p_a": [0.5], "p_b": [0.5]})
    write_table(folder / "apart.csv", {"item_id": ["elsewhere"], "rating": [3]})
    write_table(folder / "plan.csv", {"item_id": ["text 1"], "label": [None]})
    change("renamed.csv", item_id=[f"x{item}" for item in ids])
    change("four.csv", logit_5=None)
    change("nobody.csv", user=None)
    change("blank.csv", user=["ann"] * (TEXTS - 1) + [""])
    labels = {"of": "l.csv", "rows": LABELLED}
    change("odd.csv", **labels, probability=[2.0] + [0.5] * (LABELLED - 1))
    change("half.csv", **labels, label=["3.5"] + [3] * (LABELLED - 1))
    change("soon.csv", **labels, order=["soon"] * LABELLED)
    change("few.csv", of="l.csv", rows=7)
    write_table(folder / "both.csv", {"item_id": ids, "a": stated, "human": stated})
    (folder / "folder.csv").mkdir()
    for name, text in CONFIG.items():
        (folder / f"{name}.toml").write_text(text)
    names = [str(folder / name) for name in ("r.csv", "l.csv", "one.cordial", "several.cordial")]
    assert program.run(*fast("fit", *names[:2], "-o", names[2])).status == 0
    also = "--also", folder / "hard.csv", "--save", names[3], "-o", folder / "fused.csv"
    assert program.run(*fast("fuse", *names[:2], *also)).status == 0
    return folder


CASES = """
plan                                                       READINGS is missing
read                                                       FILE is missing
check                                                      CHANNEL is missing
fit r.csv -o o.cordial                                     'label'|a table of labels
learn-prior -o p.cordial                                   TABLES is missing
predit r.csv                                               predit|predict
compare r.csv l.csv                                        --by system
monitor one.cordial r.csv                                  NEW is missing|new.csv
estimate r.csv l.csv --labels l.csv                        set by --labels|'l.csv'
estimate r.csv l.csv --readers a,human                     --rating gpt|fuse --readers
estimate both.csv l.csv --rating a,human                   --rating a.|fuse --readers a,human
estimate r.csv l.csv --require "mean => 3"                 (>=, >, <=, <)
decide r.csv l.csv                                         --pass OPTION,... or --within 1.
fit r.csv l.csv --optoins 1,2 -o o.cordial                 --optoins|--options
fit r.csv l.csv -o o.cordial --inference magic             --inference|magic|laplace
calibrate r.csv l.csv                                      -o FILE
fit r.csv l.csv                                            -o FILE
calibrate r.csv l.csv more.csv -o o.csv                    more.csv
calibrate r.csv l.csv -o o.csv --seed                      --seed
calibrate r.csv l.csv -o o.csv --seed -1                   --seed|-1
calibrate r.csv l.csv -o o.csv --seed 1.5                  --seed|1.5
calibrate none.csv l.csv -o o.csv                          none.csv
calibrate none.csv l.csv -o none/o.csv                     none/o.csv
calibrate r.csv l.csv -o folder.csv                        folder.csv
calibrate r.csv l.csv -o o.txt                             o.txt
calibrate r.csv l.csv -o r.csv                             r.csv
calibrate r.csv l.csv -o r.csv/o.csv                       r.csv/o.csv
calibrate r.csv l.csv -o LONG.csv                          LONG.csv
plan r.csv -o p.csv --config none.toml                     none.toml
plan r.csv -o p.csv --config key.toml                      key.toml|bogus
plan r.csv -o p.csv --config table.toml                    table.toml|plam
plan r.csv -o p.csv --config text.toml                     text.toml|seed
plan r.csv -o p.csv --config date.toml                     date.toml|seed
plan r.csv -o p.csv --config half.toml                     half.toml
calibrate r.csv l.csv -o o.csv --prompt-file none.txt      cannot read none.txt: No such
fuse r.csv l.csv --also hard.csv -o o.csv --judge logits   --judge logits|Remove --judge
compare r.csv l.csv --by system --rating label             'label'|--rating COLUMN.
compare l.csv r.csv --by system --rating logit_1           l.csv|Swap the two tables
check nowhere.py                                           nowhere.py
check magic                                                'magic'
check location --readings r.csv                            --readings|--labels
check MODELS/drift.py --readings r.csv --labels l.csv      'time'
decide r.csv l.csv --pass 4,5                              --person 0.5 or --agree 0.9.
decide r.csv l.csv --pass 4-5 --person 1                   --pass 4,5.
decide r.csv l.csv --within 1 --false-pass 2 --person 1    --false-pass|--within
decide r.csv l.csv --pass 5 --agree 90%                    --agree
decide r.csv half.csv --pass 5 --false-pass 2 --person 1 --round split -o d.csv  --round split
estimate r.csv l.csv --require mean                        'mean'
estimate r.csv l.csv --require pass>0                      pass|--pass).
estimate r.csv l.csv --pass 9                              '9'
estimate r.csv l.csv --cluster user --pair system          clusters|pairs
estimate r.csv l.csv --by nothing                          r.csv|'nothing'
estimate r.csv l.csv --figure x.svg                        --figure|--by
estimate r.csv l.csv --level 2                             level|0|1
compare r.csv l.csv --by constant                          r.csv|constant|'x'
compare r.csv l.csv --by system --pair prompt              'prompt'|--pair COLUMN.
compare r.csv l.csv --by system --cluster System           --by|--cluster|'System'
compare r.csv l.csv --by system --inference mode           --inference default.
compare r.csv odd.csv --by system                          odd.csv|2|line 2
fuse r.csv l.csv -o p.csv --reader nobody                  'nobody'
fuse r.csv l.csv -o p.csv --also r.csv                     'logits'
fuse r.csv l.csv -o p.csv --also other.csv                 other.csv
fuse r.csv l.csv -o p.csv --also apart.csv                 'apart'
fuse both.csv both.csv -o p.csv --label human --readers a,human  'human'|--readers
fuse r.csv l.csv -o p.csv --save j.csv                     j.csv|.cordial
predict several.cordial r.csv -o p.csv --reader hard       Name the column of judges
predict one.cordial r.csv -o p.csv --also hard.csv         one.cordial|--also
monitor one.cordial r.csv renamed.csv                      look 1|'text 0'|'xtext 0'
monitor r.csv r.csv r.csv                                  r.csv
monitor one.cordial r.csv four.csv                         four.csv
monitor one.cordial r.csv r.csv --labels l.csv             l.csv
monitor one.cordial r.csv r.csv --level 1                  level
plan r.csv                                                 -o
plan r.csv -o p.csv --width 1                              --width
plan r.csv -o p.csv -n 61                                  60|61
plan r.csv -o p.csv -n 41 --labelled l.csv                 40|41
plan r.csv -o p.csv --by topic                             'topic'|'item_id'
plan r.csv -o p.csv --by item_id --cluster ITEM_ID         --by|--cluster
plan r.csv -o p.csv --by gap                               'gap'|line 4
plan r.csv -o p.csv --labelled plan.csv                    plan.csv|'label'
plan r.csv -o p.csv --labelled half.csv --round split      plan --labelled|--round split
plan r.csv -o p.csv --options 1,2                          '1', '2'
plan r.csv --more one.cordial --options 1,2                --options|2
shift nobody.csv l.csv -o o.csv                            nobody.csv|'user'
shift blank.csv l.csv -o o.csv                             blank.csv|line 61
shift r.csv soon.csv -o o.csv                              soon.csv|order
shift r.csv few.csv -o o.csv                               8 labels|found 7
shift r.csv half.csv -o o.csv --round split                shift|--round split
shift r.csv l.csv -o o.csv --calibrator one.cordial --prior-of offset=0,1  --calibrator
shift r.csv l.csv -o o.csv --calibrator one.cordial --inference mode  --calibrator and --inference
shift r.csv l.csv -o o.csv --calibrator one.cordial --judge other  'reader'|judge 'other'|'logits'
shift other.csv l.csv -o o.csv --calibrator one.cordial    other.csv
sweep r.csv l.csv -o s.csv --methods raw --budgets 11       has only 10 texts|other 10
sweep r.csv l.csv -o s.csv --methods raw --budgets 4,x      --budgets|'x'
sweep r.csv l.csv -o s.csv --methods raw,platt --budgets 4  'platt'
sweep r.csv l.csv -o s.csv --methods raw --budgets 16 --config sweep.toml  has only 15 texts|other 5
calibrate r.csv l.csv -o o.csv --channel MODELS/drift.py    channel 'drift'|no column 'time'
calibrate r.csv l.csv -o o.csv --prior-of offset           offset=0,0.5
calibrate r.csv l.csv -o o.csv --prior-of magic=0,1        magic
calibrate r.csv l.csv -o o.csv --prior-of gain=0,1 --prior l.csv  --prior-of
report one.cordial r.csv l.csv -o page.pdf                 page.pdf|.html
learn-prior r.csv -o p.cordial                             READINGS LABELS
learn-prior r.csv l.csv -o p.cordial --task odd            odd
learn-prior r.csv l.csv r.csv l.csv -o p.cordial           r.csv
learn-prior r.csv l.csv -o p.cordial --leave-out odd       'odd'|--leave-out r.
learn-prior r.csv l.csv -o p.cordial                       2 tasks|got r
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines(), ids=lambda case: case.split("  ")[0])
def test_what_is_refused_is_named(refused, made, tmp_path, case):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    words, facts = case.replace("MODELS", str(MODELS)).replace("LONG", "o" * 300).rsplit("  ", 1)
    refused(facts, *shlex.split(words))
