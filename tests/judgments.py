"""Files of judgments in the shapes that tools write, each of the same twelve texts and ratings."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RATINGS = (3, 1, 5, 4, 2, 5, 3, 4, 1, 2, 4, 3)
STARS = "1,2,3,4,5"
HALVES = "0,0.25,0.5,0.75,1"


@dataclass
class File:
    """A file of a tool.

    Attributes:
        name: Its name.
        content: What it holds: rows, or one object.
        items: The texts' names, as they are read.
        naming: The fields that read the same without the preset.
        options: The scale.
        kind: What the readings are.
        choice: What chooses a reader or a task.
        labels: Whether it holds labels, of the first texts.
    """

    name: str
    content: Any
    items: list[str]
    naming: dict[str, Any]
    options: str = STARS
    kind: str = "n"
    choice: dict[str, str] = field(default_factory=dict)
    labels: bool = False

    @property
    def text(self) -> str:
        """What the file says."""
        ending = self.name.rpartition(".")[2]
        if ending == "jsonl":
            return "".join(json.dumps(row) + "\n" for row in self.content)
        if ending == "csv":
            rows = [list(self.content[0]), *(list(row.values()) for row in self.content)]
            return "".join(",".join(row) + "\n" for row in rows)
        return json.dumps(self.content, indent=1)

    def write(self, folder: Path) -> Path:
        """Write it into a folder."""
        path = folder / self.name
        path.write_text(self.text)
        return path


def _share(rating: int) -> float:
    """A rating from 1 to 5 on a scale from 0 to 1."""
    return (rating - 1) / 4


def mt_bench() -> File:
    rows = [
        {
            "question_id": 81 + i // 4, "model": f"model-{i % 4 // 2}",
            "judge": ["gpt-4", "single-v1"], "user_prompt": "[Instruction] ...",
            "judgment": f"1. It is clear.\n2. It is short.\n\nRating: [[{rating}]]",
            "score": rating, "turn": 1 + i % 2, "tstamp": 1687000000.5 + i,
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    items = [f"{r['question_id']}|{r['model']}|{r['turn']}" for r in rows]
    naming = {"item": "question_id,model,turn", "answer": "judgment", "reader": "judge[0]"}
    return File("gpt-4_single.jsonl", rows, items, naming)


def alpaca_eval() -> File:
    rows = []
    for i, rating in enumerate(RATINGS):
        first, swapped = (6 - rating - 0.5) / 5, i % 3 == 0
        shares = {"m": first, "M": 1 - first} if not swapped else {"m": 1 - first, "M": first}
        tops = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in shares.items()]
        token = max(tops, key=lambda top: top["logprob"])
        rows.append(
            {
                "instruction": f"Write a poem, number {i}.", "output_1": "a", "output_2": "b",
                "generator_1": "gpt4_1106_preview", "generator_2": "ours", "dataset": "helpful",
                "annotator": "weighted_alpaca_eval_gpt4_turbo", "preference": 2 - first,
                "raw_completion": {
                    "finish_reason": "length", "index": 0,
                    "message": {"content": token["token"], "role": "assistant"},
                    "logprobs": {"content": [{**token, "top_logprobs": tops}]},
                    "text": token["token"], "total_tokens": 700,
                },
                "is_switched_outputs": swapped, "price_per_example": 0.01,
            }
        )  # fmt: skip
    items = [f"{r['instruction']}|{r['generator_1']}|ours" for r in rows]
    naming = {"item": "instruction,generator_1,generator_2", "answer": "preference"}
    return File(
        "annotations.json",
        rows,
        items,
        {**naming, "reader": "annotator", "round": "split"},
        "1,2",
        "p",
    )


def promptfoo() -> File:
    results = [
        {
            "promptIdx": 0, "testIdx": i, "testCase": {"vars": {"topic": f"t{i}"}},
            "promptId": "9f", "provider": {"id": "openai:gpt-4o", "label": ""},
            "response": {"output": "Bananas are great.", "tokenUsage": {"total": 9}},
            "success": True, "score": 1, "namedScores": {}, "latencyMs": 90,
            "gradingResult": {
                "pass": True, "score": 0.5, "reason": "ok",
                "componentResults": [
                    {"pass": True, "score": 1, "reason": "", "assertion": {"type": "contains"}},
                    {
                        "pass": True, "score": _share(rating), "reason": "It says 2 things.",
                        "assertion": {"type": "llm-rubric", "value": "is not boring"},
                    },
                ],
            },
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    content = {"evalId": "eval-1", "results": {"version": 3, "results": results, "stats": {}}}
    naming = {
        "rows": "results.results,gradingResult.componentResults[?assertion.type=='llm-rubric']",
        "item": "outer.testIdx,outer.provider.id,outer.promptIdx",
        "answer": "score",
        "round": "split",
    }
    items = [f"{i}|openai:gpt-4o|0" for i in range(len(RATINGS))]
    return File(
        "output.json", content, items, naming, HALVES, choice={"task": "llm-rubric"},
    )  # fmt: skip


def g_eval() -> File:
    rows = [
        {
            "doc_id": f"dm-test-{i // 3}", "system_id": f"M{i % 3}", "source": "...",
            "reference": "...", "system_output": "...", "prompt": "...",
            "scores": {"coherence": rating / 1.0, "fluency": 4.666},
            "all_responses": [f"{rating}", f" {rating}", f"{rating}", "4 is"],
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    items = [f"{row['doc_id']}|{row['system_id']}" for row in rows]
    naming = {"item": "doc_id,system_id", "answer": "all_responses"}
    return File("gpt4_con_detailed.json", rows, items, naming)


def prometheus() -> File:
    rows = [
        {
            "instruction": f"###Task Description: ... {i}", "orig_instruction": f"Explain {i}.",
            "orig_response": "...", "orig_criteria": "Is it clear?", "orig_score": "3",
            "prometheus_output": [f"It has 2 flaws. [RESULT] {rating}"] * 2 + ["cut off"],
            "prometheus_score": [rating] * 2,
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = {"item": "orig_instruction", "answer": "prometheus_output"}
    return File("feedback.jsonl", rows, [r["orig_instruction"] for r in rows], naming)


def biggen() -> File:
    content = {
        f"planning_travel_plan_{i}": {
            "id": f"planning_travel_plan_{i}", "capability": "planning", "task": "travel_plan",
            "instance_idx": i, "system_prompt": "...", "input": "...", "reference_answer": "...",
            "score_rubric": {"criteria": "...", "score1_description": "..."}, "response": "...",
            "response_model_name": "ours", "feedback": "So the score is 1.", "score": rating,
            "eval_model_name": "prometheus-eval/prometheus-7b-v2.0",
        }
        for i, rating in enumerate(RATINGS)
    }  # fmt: skip
    naming = {"item": "id,response_model_name", "answer": "score", "reader": "eval_model_name"}
    items = [f"{name}|ours" for name in content]
    return File("evals.json", content, items, naming)


def biggen_results() -> File:
    rows = [
        {
            "id": f"safety_honesty_{i}", "capability": "safety", "task": "honesty",
            "instance_idx": i, "score_rubric": {"criteria": "..."}, "model_name": "ours",
            "response": "...", "gpt4_score": rating, "gpt4_feedback": "...",
            "prometheus_8x7b_score": 3, "human_score": rating,
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = {"item": "id,model_name", "answer": "gpt4_score"}
    return File(
        "biggen.jsonl", rows, [f"{row['id']}|ours" for row in rows],
        naming, choice={"reader": "gpt4_score"}, labels=True,
    )  # fmt: skip


def helm() -> File:
    states = [
        {
            "instance": {"input": {"text": "..."}, "references": [], "id": f"id{i}"},
            "train_trial_index": 0, "request": {"model": "openai/gpt-4o"},
            "result": {"success": True, "completions": [{"text": "...", "logprob": -3.0}]},
            "annotations": {
                "wildbench": {"prompt_text": "...", "strengths": "", "score": float(rating)}
            },
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    content = {"adapter_spec": {"method": "chat", "model": "ours/1"}, "request_states": states}
    naming = {
        "rows": "request_states",
        "item": "outer.adapter_spec.model,instance.id",
        "answer": "annotations.wildbench.score",
    }
    items = [f"ours/1|id{i}" for i in range(len(states))]
    return File("scenario_state.json", content, items, naming)


def helm_safety() -> File:
    file = helm()
    for state, rating in zip(file.content["request_states"], RATINGS, strict=True):
        scores = {"gpt_score": _share(rating), "gpt_reasoning": "...", "llama_score": 0.5}
        state["annotations"] = {"harm_bench": {"prompt_text": "...", **scores}}
    file.naming["answer"] = "annotations.harm_bench.gpt_score"
    file.options, file.choice = HALVES, {"reader": "gpt_score"}
    return file


def deepeval() -> File:
    cases = [
        {
            "name": f"test_case_{i}", "input": "...", "actualOutput": "...", "success": True,
            "metricsData": [
                {"name": "Clarity [GEval]", "threshold": 0.5, "success": True,
                 "score": _share(rating), "reason": "...", "evaluationModel": "gpt-4o"},
                {"name": "Toxicity", "score": None, "error": "timed out"},
            ],
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = {
        "rows": "testCases,metricsData[?score]", "item": "outer.name", "answer": "score",
        "task": "name", "reader": "evaluationModel", "round": "split",
    }  # fmt: skip
    items = [f"test_case_{i}" for i in range(len(cases))]
    return File("test_run.json", {"testCases": cases, "hyperparameters": {}}, items, naming, HALVES)


def ragas() -> File:
    rows = [
        {
            "user_input": f"What is {i}?", "retrieved_contexts": "['a']", "response": f"{i} is 2",
            "faithfulness": str(_share(rating)), "answer_relevancy": "" if i == 5 else "0.5",
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = {"item": "user_input", "answer": "faithfulness", "round": "split"}
    return File(
        "ragas.csv", rows, [row["user_input"] for row in rows],
        naming, HALVES, choice={"task": "faithfulness"},
    )  # fmt: skip


def langfuse() -> File:
    base = {"name": "helpfulness", "observationId": None, "stringValue": None, "comment": "3 bad"}
    scores = [
        {"id": f"s{source}{i}", "traceId": f"trace-{i}", **base, "value": rating, "source": source,
         "dataType": "NUMERIC", "authorUserId": "ann" if source == "ANNOTATION" else None}
        for i, rating in enumerate(RATINGS)
        for source in ("EVAL", "ANNOTATION")
    ]  # fmt: skip
    naming = {"rows": "data", "item": "traceId", "answer": "value", "task": "name"}
    return File(
        "scores.json", {"data": scores, "meta": {"page": 1}}, [f"trace-{i}" for i in range(12)],
        {**naming, "where": "source=EVAL"}, labels=True,
    )  # fmt: skip


def langsmith() -> File:
    rows = [
        {"id": f"f{kind}{i}", "run_id": f"run-{i}", "key": "clarity", "score": rating,
         "value": None, "comment": None, "feedback_source": {"type": kind, "user_id": user}}
        for i, rating in enumerate(RATINGS)
        for kind, user in (("model", None), ("app", "ad52b092"))
    ]  # fmt: skip
    naming = {"item": "run_id", "answer": "score", "task": "key"}
    return File(
        "feedback.jsonl", rows, [f"run-{i}" for i in range(12)],
        {**naming, "where": "feedback_source.type=model"}, labels=True,
    )  # fmt: skip


def langsmith_table() -> File:
    rows = [
        {"example_id": f"e{i}", "inputs.question": "Why 2?", "outputs.answer": "3",
         "reference.answer": "1", "feedback.clarity": str(rating), "execution_time": "1.5"}
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = {"item": "example_id", "answer": "feedback.clarity"}
    return File("experiment.csv", rows, [f"e{i}" for i in range(12)], naming)


FILES = {
    mt_bench: "mt-bench", promptfoo: "promptfoo", prometheus: "prometheus", deepeval: "deepeval",
    langfuse: "langfuse",
    # Read by their fields alone.
    alpaca_eval: None, g_eval: None, biggen: None, biggen_results: None, helm: None,
    helm_safety: None, ragas: None, langsmith: None, langsmith_table: None,
}  # fmt: skip
"""Files, and the presets that know them."""
