"""Bad input on the command line: status 2, one line that names the place, and no file left."""

import pytest

from cordial_ppl.errors import InputError
from cordial_ppl.tables import open_readings

IDS = [*(f"text {i}" for i in range(5)), "7"]


def parse(text):
    """Parse lines of rows with slashes between, and the facts of the message; rows get ids."""
    cases = [line.rsplit("  ", 1) for line in text.strip().splitlines()]
    tables = [content.rstrip().split(" / ") for content, _ in cases]
    tables = [rows if rows[0][0] in "iI{" else number(*rows) for rows in tables]
    return [(rows, facts) for rows, (_, facts) in zip(tables, cases, strict=True)]


def number(*rows):
    """Give the rows below a header ids."""
    return [f"{item},{row}" for item, row in zip(["item_id", *IDS], rows, strict=False)]


GOOD_READINGS = number("logit_0,logit_1,logit_2,logit_3,logit_4", *["0,0,0,1,5"] * 6)
GOOD_LABELS = number("label", *"012344")
BAD_READINGS = """
logit_1,logit_2 / 0,0 / 0,nan                                nan|line 3|'logit_2'
logit_1,logit_2 / 0,0 / -inf,                                -inf|line 3
logit_1,logit_2 / 0,0 / 0,zero                               'logit_2'|'zero'|line 3
logit_1,logit_2 / 0,"1,500"                                  'logit_2'|'1,500'|line 2
item_id,logit_1,logit_2 / a,1,2 / b,1,2 / a,3,4              'a'|lines 2 and 4|repeated rows
item_id,logit_1,logit_2 /  ,1,2                              item_id|line 2
item_id,logit_1,logit_2 / a,1,"2                             line 2
p_0,p_1 / 0.5,0.5 / 0.7,0.7                                  1.4|line 3
p_0,p_1 / 0.5,0.5 / 1.2,-0.2                                 -0.2|line 3|'p_1'
p_0,p_1,p_2 / 0.2,0.3,0.5 / 0.2,,0.5                         0.7|line 3
score / 1                                                    'item_id', 'score'
p_0,p_1,n_0,n_1 / 1,0,1,0                                    'p_0', 'p_1'|'n_0', 'n_1'
p_0,p_1,p_1 / 0.5,0.5,0.5                                    'p_1'|twice
p_0 / 1                                                      two options|'p_0'
p_1,p_3,p_2 / 1,0,0                                          'p_1', 'p_3', 'p_2'|--options
p_1,p_2,p_4 / 1,0,0                                          'p_1', 'p_2', 'p_4'|--options
logit_0,logit_1,logit_2 / 0,0,0 / 0,0                        line 3|3 cells|4
logit_1,logit_2                                              no rows
reader,p_0,p_1 / r1,0.5,0.5 / r2,0.5,0.5                     'r1', 'r2'|--reader r1.
item_id,task,p_0,p_1 / a,t1,1,0 / a,t2,1,0                   't1', 't2'|--task t1.
rating / 4 / 2                                               '2', '4'|--options 1,2,3,4.
"""
BAD_JSON = r"""
{"item_id": 1, "p_0": 0, "p_1": 1} / {"item_id": 2, "p_0": 0.5}   0.5|line 2
{"item_id": 1, "logit_1": NaN, "logit_2": 0}                 nan|line 1|'logit_1'
{"item_id": 1, "logit_1": [1], "logit_2": 0}                 [1]|line 1|'logit_1'
{"item_id": "\ud800", "p_0": 1}                              line 1|surrogates
{"custom_id": 1, "response": {"a": 1}}                       cordial read|--id custom_id.
{"story": "north", "p_0": 1, "text": "once upon a time"}     'item_id'|--id story.
{"item_id": 1, "response": {"a": 1}}                         cordial read|--rating COLUMN.
{"item_id": 1} / [1]                                         {...}|line 2
item_id,p_0,p_1                                              line 1|JSON
"""
BAD_LABELS = """
label / 0 / 7 / 1                                            0..4|'7'|line 3
label / 1 / 2 / 5                                            0..4|'5'|line 4|--options 1,2,3,4,5.
label / 0 / good                                             'good'|line 3
label / nan / nan                                            'label'|2 rows
label / 1 / 2.5                                              1 of 2|2.5|line 3|--round split.
label,weight / 1,1 / 1,-1                                    'weight'|-1|line 3
label,weight / 1,1e9                                         'weight'|10,000|1e+09|line 2
item_id,label / text 0,1 / text 1,1 / text 0,2               'text 0'|lines 2 and 4
item_id,label,annotator / text 0,1,x / text 0,2,y / text 0,3,x   'x'|'text 0'|lines 2 and 4
item_id,label,rater / text 0,1,x / text 0,2,y / text 1,3,x   lines 2 and 3|--annotator rater.
item_id,annotator,label_x,label_y / text 0,z,1,2             'label_x', 'label_y'
ItemID,label / text 0,1                                      'item_id'|--id ItemID.
verdict / 1                                                  'item_id', 'verdict'|--label verdict.
rating / 1                                                   'label'|--label rating.
item_id,reader,p_0,p_1 / text 0,gpt,.5,.5                    'label'|--label COLUMN.
"""


@pytest.fixture
def complain(refused, text):
    """Calibrate readings by labels, one of which is wrong."""

    def run(facts, *more, readings=GOOD_READINGS, labels=GOOD_LABELS, name="r.csv", out="o.csv"):
        files = text(name, *readings).name, text("l.csv", *labels).name
        refused(facts, "calibrate", *files, "-o", out, *more)

    return run


@pytest.mark.parametrize(("content", "facts"), parse(BAD_READINGS))
def test_bad_readings(complain, content, facts):
    """Where a table is read whole, and where it is read in batches."""
    complain(f"r.csv|{facts}", readings=content)
    with pytest.raises(InputError) as raised:
        open_readings("r.csv").check()
    assert all(fact in str(raised.value) for fact in facts.split("|") if fact[:2] != "--")


@pytest.mark.parametrize(("content", "facts"), parse(BAD_JSON))
def test_bad_json_lines(complain, content, facts):
    complain(f"r.jsonl|{facts}", readings=content, name="r.jsonl")


@pytest.mark.parametrize(("content", "facts"), [*parse(BAD_LABELS), ([], "no rows")])
def test_bad_labels(complain, content, facts):
    complain(f"l.csv|{facts}", labels=content)


def test_labels_of_other_texts(complain):
    others = ["item_id,label", "text 0,1", *(f"{c},2" for c in "abcdefg")]
    complain("l.csv|r.csv|7 of 8|'a' (line 3)|'e' (line 7)", labels=others)
    complain("'7.0' (line 2)|'text 0', 'text 1'", labels=["item_id,label", "7.0,1"])


def test_options_that_do_not_fit(complain):
    complain("'0'|twice", "--options", "0,0,1")
    complain("empty", "--options", "0,1,,3,4")
    complain("r.csv|empty", readings=number("logit_1,logit_", "1,2"))
    twice = ["answer_id,p_0,p_1", *["text 0,1,0"] * 2]
    complain("each answer_id must|Remove", "--id", "answer_id", "--id", "item_id", readings=twice)
    complain("commas", "--options", '"0,1')
    complain("'reader'", "--reader", "gpt")
    complain("'task'", "--task", "fluency")
    apart = number("rating", *"012"), number("label", *"123")
    for names in ("0,1,2", "1,2,3"):
        advice = (
            "r.csv has the ratings 0, 1, 2|l.csv has the labels 1, 2, 3|--rating-range WORST,BEST"
        )
        complain(advice, "--options", names, readings=apart[0], labels=apart[1])
    ratings, labels = (
        number("rating", *(10, 20, 30, 40)),
        number("label", *(0, 10, 20, 30)),
    )
    advice = (
        "r.csv has the ratings 10, 20, 30, 40|l.csv has the labels 0, 10, 20, 30|--rating-range"
    )
    complain(advice, "--options", "10,20,30,40", readings=ratings, labels=labels)
    ratings, labels = number("rating", *"012"), number("label", *"13")
    advice = "l.csv|'3'|line 3|--options 1,2,3."
    complain(advice, "--options", "0,1,2", readings=ratings, labels=labels)
    complain("r.csv|1..3|'0'", "--options", "1,2,3", readings=ratings)
