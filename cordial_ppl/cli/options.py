"""Options of the commands: their help, which is their declaration.

A parameter of a command, or a field of a record that it takes, has the line of its name below: in
the part of the command, or else in `SHARED`. The line says how it is typed, what its value is
called, and what it is for; type and default are those of the parameter.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

GROUPS = ("Files", "Columns", "Model", "Output", "Advanced")
"""Groups of options, in the order of `-h`."""

ENDING = ".cordial"
"""The ending of a calibrator's file."""

FIGURES = (".svg", ".png", ".pdf")
"""The endings of a picture's file."""

SHARED = """
Files
  READINGS           Table: item_id, and `rating`, or columns p_..., logit_..., logprob_..., n_...
  LABELS             Table of labels: item_id and label, a row for each label.
  CALIBRATOR         Calibrator, from `cordial fit`.
  -o, --output OUT   Table to write (.csv, .parquet, .jsonl): p_..., mean and interval, label.
  --also READINGS    Another table, with readings by other judges; may be repeated.
Columns
  --options A,B,...  Options of the scale in order, as 1,2,3,4,5, if not as in READINGS.
  --reader NAME      Judge to take if there are several, from column `reader` (or COLUMN=NAME).
  --task NAME        Task to take if there are several, from column `task` (or COLUMN=NAME).
  --id COLUMN        Column of the texts' ids, if not `item_id`; may be repeated.
  --rating COLUMN    Column of ratings, one per text, to take as readings; needs --options.
  --readers A,B,...  Columns of ratings, one per judge; needs --options.
  --user COLUMN      Column that names users, if not `user`.
  --label COLUMN,...
                     Column of labels, if not `label`; or a column for each annotator.
  --annotator COLUMN
                     Column that names who gave a label, if not `annotator`.
  --by COLUMN        Column of READINGS that names groups, such as `system`.
Model
  --channel PATH     Channel file to add; its code is run, so trust it. May be repeated.
  --prior FILE       Prior, from `cordial learn-prior`; or `own`, for the one of each channel.
  --seed N           Seed of all random numbers.
  --level P          Probability inside the intervals.
Output
  --json             Print the results as JSON and nothing else.
  --verbose          Print how well each posterior is known, too.
  -q, --quiet        Print only warnings, errors, and results that go into no file.
Advanced
  --annotators RULE=each|mean|median
                     Several labels of one text: keep each (the default), or use mean or median.
  --round RULE=half-up|nearest-even|split
                     Between options: half-up, nearest-even, or split into two halves.
  --inference METHOD=default|laplace|mode|nuts
                     How to find posteriors: laplace (the paper's), mode, or nuts (minutes).
  --prior-of NAME=LOC,SCALE
                     Prior of one parameter, in logs if positive, in log odds if a strength.
  --spell OPTION=TEXT
                     Another way in which the model writes an option, as 1=A; may be repeated.
  --after REGEX      What the answer follows, where it is not found without.
  --engine local|ray
                     Where to work: on this machine, or on the cluster that RAY_ADDRESS names.
"""

COMMANDS = {
    "read": """
Files
  FILE               Judgments or a log: JSON, JSON Lines, CSV, Parquet or a log's own format.
  -o, --output OUT   Table of readings to write (.csv, .parquet, .jsonl).
  --labels LABELS    Table to write of the labels that FILE holds.
  --dry-run          Show five rows as they would be read; write nothing.
Columns
  --item FIELD,...   Field that names the text; several fields make one name.
  --answer FIELD,...
                     Field of the judge's answer; several fields are tasks of their own.
  --reader FIELD     Field that names the judge; or the NAME to take; or FIELD=NAME.
  --task FIELD       Field that names the task; or the NAME to take; or FIELD=NAME.
  --label FIELD,...  Field of a person's label.
  --annotator FIELD  Field that names that person.
  --where CONDITION  Rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated.
  --options A,B,...  Options of the scale in order, as 1,2,3,4,5, if FILE does not name them.
  --reverse          The options are named from the best to the worst.
Advanced
  --from FORMAT      Format of FILE, if it is not recognised.
  --swapped FIELD,...
                     Fields whose answers are on the reversed scale, or a flag that says so.
  --round RULE=half-up|nearest-even|split
                     Between options: half-up, nearest-even, or split into two halves.
  --score NAME       Scorer of Inspect to read; of several values, NAME.KEY.
  --explain N        Show for N texts which tokens fed which option.
""",
    "ask": """
Files
  TEXTS              Table (.csv, .parquet, .jsonl): item_id, text, other columns of the prompt.
  -o, --output OUT   Table of readings to write (.csv, .parquet, .jsonl).
  --prompt FILE      The whole prompt: {text}, {options}, other columns of TEXTS.
  --demonstrations FILE
                     Table of labelled texts to show as examples.
Columns
  --options A,B,...  Options of the scale in order, as 1,2,3,4,5.
  --reader NAME      Name of the judge, for the column `reader`; by default the model's.
  --task NAME        Name of the task, for the column `task`.
Model
  --model NAME       Model to ask.
  --question TEXT    What to ask.
  --shots N          Examples to show.
  --permutations N   Orders of the options to average over.
  --server URL       Such as http://localhost:8000/v1; by default OPENAI_BASE_URL, or OpenAI.
  --local            Run a Hugging Face model on this machine; NAME is a folder or a name.
  --samples N        Sample N answers a text, for models without log-probabilities.
Advanced
  --key-variable NAME
                     Environment variable that holds the key; by default OPENAI_API_KEY, for
                     OpenAI and servers on this machine only.
  --max-tokens N     Longest answer, in tokens; by default 16.
  --concurrency N    Questions asked at a time; by default 8.
""",
    "plan": """
Files
  -o, --output OUT   Table to fill in (.csv, .parquet, .jsonl): the texts in order of labelling.
  --labelled LABELS  Table of the labels that there are already, which OUT begins with.
  --more CALIBRATOR  Calibrator, from `cordial fit`: what would more labels give it?
Columns
  --by COLUMN        Column, such as `system`, over whose values to spread labels evenly.
  --cluster COLUMN   Column of texts that are alike, to label together, such as `conversation`.
Model
  -n, --number N     How many texts to label.
  --width W          With --more: how many labels give the mean of all texts within ±W?
""",
    "fit": """
Files
  -o, --output FILE  Calibrator to write (.cordial).
""",
    "predict": """
Files
  READINGS           Table of readings, as `cordial fit` reads it, or a folder of Parquet files.
""",
    "report": """
Files
  -o, --output PAGE  Page to write (.html).
""",
    "estimate": """
Files
  -o, --output OUT   Table to write (.csv, .parquet, .jsonl): a row for all texts and each group.
  --figure FILE      Picture of the groups to write (.svg, .png, .pdf).
Columns
  --cluster COLUMN   Column of READINGS that names texts that are alike, such as `conversation`.
  --pair COLUMN      Column that names what each text answers, such as a prompt, with --by.
Model
  --of TARGET=like-these|these
                     What intervals are for: texts like-these (the default), or these alone.
  --pass A,...       Options that pass, as 4,5: rate, and the judge's TPR and TNR.
  --require TEXT     Such as "mean >= 4", "A - B > 0": exit status 0 yes, 3 no, 4 cannot say.
""",
    "decide": """
Files
  -o, --output OUT   Table to write (.csv, .parquet, .jsonl): the decision about each text.
  --figure FILE      Picture of cost and agreement to write (.svg, .png, .pdf).
Model
  --pass A,...       Options that pass, as 4,5.
  --within CLASSES   Instead, decide on options, which may be off by so many classes: 0, 1 ...
  --false-pass COST  Cost of passing what people fail.
  --false-fail COST  Cost of failing what people pass.
  --person COST      Cost of asking a person, in the same unit.
  --agree SHARE      Instead, ask as few as keep this agreement of the rest with people, as .9.
  --level P          How probable that has to be.
  --audit SHARE      Share of the rest that people see, too, drawn at random.
""",
    "monitor": """
Files
  OLD                Table of readings at first.
  NEW ...            Tables of readings of the same texts since then, in order of time.
  --labels LABELS    Table of labels of texts of the last table, to check the calibration.
Model
  --level P          Probability that no look raises an alarm if the judge is the same.
""",
    "fuse": """
Files
  --save FILE        Calibrator to write (.cordial), for other texts with `cordial predict`.
Columns
  --reader NAME      Judge to take, from column `reader` (or COLUMN=NAME); may be repeated.
""",
    "learn-prior": """
Files
  TABLES ...         Tables of readings and of labels in turn: READINGS LABELS READINGS LABELS.
  -o, --output FILE  Prior to write (.cordial).
Columns
  --reader NAME      Judge to take, from column `reader` (or COLUMN=NAME); may be repeated.
  --task NAME        Task to take, from column `task`; may be repeated.
  --leave-out TASK   Task to leave out; may be repeated.
Model
  --rule cautious|trained|paper
                     How far to trust the tasks: as far as they agree, or as in the paper.
Advanced
  --unit NAME=POWER  Power of K in the unit of a channel's parameter, as drift=1; may be repeated.
""",
    "shift": """
Files
  -o, --output OUT   Table to write (.csv, .parquet, .jsonl): item_id, user, p_..., mean, label.
  --calibrator FILE  Calibrator of the population; by default one is fitted to LABELS.
""",
    "check": """
Files
  CHANNEL            Channel file, whose code is run, or the name of a channel.
  --readings FILE    Table of readings to check it on, in place of made-up reviews.
  --labels FILE      Table of labels of some of these texts.
Model
  --simulations N    Data sets for simulation-based calibration, as 200; none by default.
""",
    "sweep": """
Files
  -o, --output OUT   Table of scores to write (.csv, .parquet, .jsonl); OUT.parts keeps each part.
Model
  --methods A,B,...  What to compare: raw, histogram, temperature, dirichlet, logit-stack, paper,
                     cordial and others, or a channel file, whose code is run.
  --budgets N,...    Numbers of labels, as 10,20,50; by default 5 to 100.
  --draws N          Random subsets of each number of labels.
  --report N         Labelled texts to score on; labels are drawn from the others.
Advanced
  --device auto|host|accelerator
                     Where to fit channels: by default on an accelerator if JAX finds one.
""",
}
COMMANDS["compare"] = COMMANDS["estimate"]


class Written(NamedTuple):
    """Marks the type of a file that a command writes, which is checked before the command runs.

    Attributes:
        endings: The endings that its name may have; by default those of a table.
    """

    endings: tuple[str, ...] = ()


TableOut = Annotated[Path, Written()]
TableOrNot = Annotated[Path | None, Written()]
CalibratorOut = Annotated[Path, Written((ENDING,))]
CalibratorOrNot = Annotated[Path | None, Written((ENDING,))]
FigureOrNot = Annotated[Path | None, Written(FIGURES)]
