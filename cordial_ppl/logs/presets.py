"""Namings with a name: which fields hold what in the rows that a tool writes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.named import read_named
from cordial_ppl.logs.naming import OTHERWISE, Condition, Naming
from cordial_ppl.logs.records import Record
from cordial_ppl.logs.resolving import has, resolve_any

SCORES = ("score", "sample", "rating")
WORDS = ("response", "answer", "output", "text")
"""Fields of one sample: a score, an answer in words; with an s, of several."""

NUMBERED = OTHERWISE.join(name + s for s in ("s", "") for name in SCORES)
WORDED = OTHERWISE.join(name + s for s in ("s", "") for name in WORDS)
SAID = OTHERWISE.join(("judgment", "judgement", "verdict", "score", "rating"))
LISTED = OTHERWISE.join(f"{name}{s}.0" for s in ("s", "") for name in WORDS)


@dataclass(frozen=True)
class Preset:
    """A naming with a name.

    Attributes:
        name: Its name, as `--from` takes it.
        words: What the files hold, and which tool writes them.
        namings: Which fields hold what; several where rows differ, those of answers first.
        marks: Fields that tell the tool's rows from others', each with those that may stand for
            it; none if rows of others look alike.
        round: What scores between two options count for, if they may be averages.
    """

    name: str
    words: str
    namings: tuple[Naming, ...]
    marks: tuple[str, ...] = ()
    round: str | None = None

    def form(self, **changes: Any) -> Format:
        """Make a format of it.

        Args:
            changes: Attributes of a naming, which take the place of its own.
        """
        namings = self.namings
        if changes:
            namings = tuple(replace(naming, **changes) for naming in namings if naming.answer)

        def records(path: Path) -> Iterator[Record]:
            empty = True
            for naming in (resolved := resolve_any(path, namings)):
                for record in read_named(path, naming):
                    empty = False
                    yield record
            unmet = [
                " and ".join(one.text for one in naming.where)
                for naming in resolved
                if naming.where
            ]
            if empty and unmet:
                raise InputError(f"no row meets the condition {', or '.join(unmet)}.")

        return Format(self.name, self.words, records, self.knows, round=self.round, namings=namings)

    def knows(self, first: Mapping[str, Any]) -> bool:
        """Whether a file whose first row is this one is of the tool."""
        marks = [mark.split(OTHERWISE) for mark in self.marks]
        return bool(marks) and all(any(has(first, one) for one in mark) for mark in marks)


def _where(*conditions: str) -> tuple[Condition, ...]:
    return tuple(map(Condition.of, conditions))


def _promptfoo(rows: str) -> Naming:
    part = f"{rows}gradingResult.componentResults.*"
    return Naming(
        item=(f"{rows}testIdx | {rows}id", f"{rows}provider.id | {rows}provider ?",
              f"{rows}promptIdx ?"),
        answer=(f"{part}.score",),
        task=f"{part}.assertion.metric | {part}.assertion.type ?",
    )  # fmt: skip


def _helm(score: str, reader: str | None = None) -> Naming:
    part = "request_states.*.annotations.*"
    return Naming(
        item=("adapter_spec.model ?", "request_states.*.instance.id"),
        answer=(f"{part}.{score}",),
        reader=reader and f"{part}.{reader}",
        task=part,
    )


def _deepeval(cases: str, metrics: str, model: str) -> Naming:
    part = f"{cases}.*.{metrics}.*"
    return Naming(
        item=(f"{cases}.*.name | {cases}.*.input",),
        answer=(f"{part}.score",),
        reader=f"{part}.{model} ?",
        task=f"{part}.name",
    )


def _langfuse(rows: str, trace: str, text: str, user: str) -> tuple[Naming, Naming]:
    value, source = f"{rows}value | {rows}{text}", f"{rows}source"
    shared = Naming(item=(f"{rows}{trace}",), task=f"{rows}name")
    return (
        replace(shared, answer=(value,), where=_where(f"{source}!=ANNOTATION")),
        replace(
            shared,
            label=(value,),
            annotator=f"{rows}{user} ?",
            where=_where(f"{source}=ANNOTATION"),
        ),
    )


PRESETS = (
    Preset(
        "mt-bench", "judgments of MT-Bench (FastChat), or of other judges",
        (Naming(
            item=("question_id | item_id", "model", "turn ?"),
            answer=(SAID,),
            reader="judge.0 | judge",
        ),),
        ("question_id | item_id", "model", "judge", SAID),
    ),
    Preset(
        "arena-hard", "judgments of Arena-Hard, in both orders of the answers",
        (Naming(
            item=("question_id | uid", "model"),
            answer=("games.*.score",),
            reader="judge",
            swapped=("games.1.score",),
        ),),
        ("question_id | uid", "model", "judge", "games.0.score"),
    ),
    Preset(
        "alpaca-eval", "annotations of AlpacaEval",
        (Naming(
            item=("instruction", "generator_1 ?", "generator_2"),
            answer=("preference",),
            reader="annotator ?",
        ),),
        ("instruction", "output_1", "output_2", "generator_2", "preference | annotator"),
        round="split",
    ),
    Preset(
        "promptfoo", "results of promptfoo",
        tuple(map(_promptfoo, ("results.results.*.", "results.*.", ""))),
        ("results.results.*.gradingResult | results.*.gradingResult | gradingResult",),
        round="split",
    ),
    Preset(
        "g-eval", "samples of G-Eval",
        (Naming(item=("doc_id", "system_id ?"), answer=("all_responses",)),),
        ("doc_id", "all_responses.0"),
    ),
    Preset(
        "prometheus", "feedback of Prometheus",
        (Naming(
            item=("id | idx | uid | question_id | orig_instruction | instruction",),
            answer=("prometheus_output | prometheus_score | output | feedback",),
            label=("human_score ?",),
        ),),
        ("prometheus_output | prometheus_score",),
    ),
    Preset(
        "biggen-bench", "evaluations of BiGGen-Bench",
        (
            Naming(item=("id", "response_model_name"), answer=("score",), reader="eval_model_name"),
            Naming(
                item=("id", "model_name"),
                answer=("*_score",),
                reader="*_score",
                label=("human_score ?",),
                where=_where("*_score!=human"),
            ),
        ),
        ("capability | *.capability", "score_rubric | *.score_rubric"),
    ),
    Preset(
        "helm", "annotations of HELM, scenario_state.json",
        (_helm("score"), _helm("*_score", "*_score"), _helm("*.score", "*"),
         _helm("*.*.score", "*")),
        ("request_states.*.annotations",),
    ),
    Preset(
        "deepeval", "test runs of DeepEval",
        (
            _deepeval("testCases", "metricsData", "evaluationModel"),
            _deepeval("test_results", "metrics_data", "evaluation_model"),
        ),
        ("testCases.*.metricsData | test_results.*.metrics_data",),
        round="split",
    ),
    Preset(
        "ragas", "results of Ragas as a table",
        (Naming(
            item=("id | sample_id | user_input | question",),
            answer=(
                "faithfulness ?", "answer_relevancy ?", "context_precision ?", "context_recall ?",
                "llm_context_precision_with_reference ?", "factual_correctness ?",
                "answer_correctness ?", "semantic_similarity ?", "noise_sensitivity ?",
                "rubrics_score ?", "domain_specific_rubrics ?", "simple_criteria_score ?",
            ),
        ),),
        ("user_input | question", "response | answer", "retrieved_contexts | contexts"),
        round="split",
    ),
    Preset(
        "langfuse", "scores of Langfuse; those of people are labels",
        (
            *_langfuse("", "traceId", "stringValue", "authorUserId"),
            *_langfuse("data.*.", "traceId", "stringValue", "authorUserId"),
            *_langfuse("", "trace_id", "string_value", "author_user_id"),
        ),
        ("traceId | data.*.traceId | trace_id", "source | data.*.source", "name | data.*.name",
         "value | data.*.value | stringValue | data.*.stringValue | string_value"),
        round="split",
    ),
    Preset(
        "langsmith", "feedback of LangSmith; that of people is labels",
        (
            Naming(
                item=("run_id",), answer=("score | value",), task="key",
                where=_where("feedback_source.type!=app"),
            ),
            Naming(
                item=("run_id",), label=("score | value",), task="key",
                annotator="feedback_source.user_id ?", where=_where("feedback_source.type=app"),
            ),
            Naming(item=("example_id | id",), answer=("feedback.*",)),
        ),
        ("run_id | example_id", "feedback_source.type | feedback.*"),
        round="split",
    ),
    Preset(
        "argilla", "Argilla's records: labels",
        (
            Naming(
                item=("id | external_id",), label=("responses.*.*.value",), task="responses.*",
                annotator="responses.*.*.user_id ?",
                where=_where("responses.*.*.status ?!=draft", "responses.*.*.status ?!=discarded"),
            ),
            Naming(
                item=("id | external_id",), label=("responses.*.values.*.value",),
                task="responses.*.values.*", annotator="responses.*.user_id ?",
                where=_where("responses.*.status ?!=draft", "responses.*.status ?!=discarded"),
            ),
            Naming(
                item=("id | external_id",), label=("*.responses.*",), task="*",
                annotator="*.responses.users.* ?",
                where=_where("*.responses.status.* ?!=draft", "*.responses.status.* ?!=discarded"),
            ),
        ),
        ("fields | *.responses.*", "responses | *.responses.*"),
    ),
    Preset(
        "label-studio", "Label Studio's JSON export: labels",
        (Naming(
            item=("data.item_id | data.id | id",),
            label=tuple(
                f"annotations.*.result.*.value.{one} ?" for one in ("choices.*", "rating", "number")
            ),
            task="annotations.*.result.*.from_name",
            annotator="annotations.*.completed_by.email | annotations.*.completed_by.id | "
            "annotations.*.completed_by ?",
            where=_where("annotations.*.was_cancelled ?!=true"),
        ),),
        ("id", "data", "annotations"),
    ),
    Preset(
        "samples", "sampled scores and hard ratings",
        (Naming(
            item=("item_id ?",),
            answer=(f"{NUMBERED} | {WORDED}",),
            reader="reader | judge | model ?",
            task="task ?",
            label=("label ?",),
            annotator="annotator ?",
        ),),
        ("item_id", f"{NUMBERED} | {LISTED}"),
    ),
)  # fmt: skip
"""Presets in the order in which a file is compared with them."""
