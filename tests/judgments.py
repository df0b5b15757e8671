"""Files of judgments in the shapes that tools write, each of the same twelve texts and ratings."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RATINGS = (3, 1, 5, 4, 2, 5, 3, 4, 1, 2, 4, 3)
STARS = "1,2,3,4,5"
HALVES = "0,0.25,0.5,0.75,1"
PAIRS = "A>>B,A>B,A=B,B>A,B>>A"

TURNED = {"A>>B": "B>>A", "A>B": "B>A", "A=B": "A=B", "B>A": "A>B", "B>>A": "A>>B"}


@dataclass
class File:
    """A file of a tool.

    Attributes:
        name: Its name.
        content: What it holds: rows, or one object.
        items: The texts' names, as they are read.
        naming: The options that read the same without the preset.
        options: The scale.
        kind: What the readings are.
        choice: Options that choose a reader or a task.
        labels: Whether it holds labels, of the first texts.
    """

    name: str
    content: Any
    items: list[str]
    naming: list[str]
    options: str = STARS
    kind: str = "n"
    choice: list[str] = field(default_factory=list)
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
    naming = ["--item", "question_id,model,turn", "--answer", "judgment", "--reader", "judge.0"]
    return File("gpt-4_single.jsonl", rows, items, naming)


def arena_hard() -> File:
    order = PAIRS.split(",")
    rows = [
        {
            "question_id": f"q{i}", "model": "ours-1", "judge": "gpt-4-1106-preview",
            "games": [
                {"user_prompt": "...", "judgment": f"... [[{said}]]", "score": said}
                for said in (order[rating - 1], TURNED[order[rating - 1]])
            ],
        }
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = ["--item", "question_id,model", "--answer", "games.*.score", "--reader", "judge"]
    items = [f"q{i}|ours-1" for i in range(len(rows))]
    return File("ours-1.jsonl", rows, items, [*naming, "--swapped", "games.1.score"], PAIRS)


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
    naming = ["--item", "instruction,generator_1,generator_2", "--answer", "preference"]
    return File(
        "annotations.json",
        rows,
        items,
        [*naming, "--reader", "annotator", "--round", "split"],
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
    rows = "results.results.*"
    part = f"{rows}.gradingResult.componentResults.*"
    naming = [
        *("--item", f"{rows}.testIdx,{rows}.provider.id,{rows}.promptIdx"),
        *("--answer", f"{part}.score", "--round", "split"),
    ]
    items = [f"{i}|openai:gpt-4o|0" for i in range(len(RATINGS))]
    return File(
        "output.json", content, items, [*naming, "--task", f"{part}.assertion.type=llm-rubric"],
        HALVES, choice=["--task", "llm-rubric"],
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
    naming = ["--item", "doc_id,system_id", "--answer", "all_responses"]
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
    naming = ["--item", "orig_instruction", "--answer", "prometheus_output"]
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
    naming = ["--item", "id,response_model_name", "--answer", "score", "--reader"]
    items = [f"{name}|ours" for name in content]
    return File("evals.json", content, items, [*naming, "eval_model_name"])


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
    naming = ["--item", "id,model_name", "--answer", "*_score"]
    return File(
        "biggen.jsonl", rows, [f"{row['id']}|ours" for row in rows],
        [*naming, "--reader", "*_score=gpt4", "--where", "*_score!=human"],
        choice=["--reader", "gpt4"], labels=True,
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
    naming = ["--item", "adapter_spec.model,request_states.*.instance.id"]
    answer = ["--answer", "request_states.*.annotations.*.score"]
    items = [f"ours/1|id{i}" for i in range(len(states))]
    task = ["--task", "request_states.*.annotations.*"]
    return File("scenario_state.json", content, items, [*naming, *answer, *task])


def helm_safety() -> File:
    file = helm()
    for state, rating in zip(file.content["request_states"], RATINGS, strict=True):
        scores = {"gpt_score": _share(rating), "gpt_reasoning": "...", "llama_score": 0.5}
        state["annotations"] = {"harm_bench": {"prompt_text": "...", **scores}}
    part = "request_states.*.annotations.*.*_score"
    file.naming[3] = part
    file.naming += ["--reader", f"{part}=gpt"]
    file.options, file.choice = HALVES, ["--reader", "gpt"]
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
    part = "testCases.*.metricsData.*"
    naming = ["--item", "testCases.*.name", "--answer", f"{part}.score", "--round", "split"]
    naming += ["--task", f"{part}.name", "--reader", f"{part}.evaluationModel"]
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
    naming = [
        "--item",
        "user_input",
        "--answer",
        "faithfulness,answer_relevancy",
        "--round",
        "split",
    ]
    return File(
        "ragas.csv", rows, [row["user_input"] for row in rows],
        [*naming, "--task", "faithfulness"], HALVES, choice=["--task", "faithfulness"],
    )  # fmt: skip


def langfuse() -> File:
    base = {"name": "helpfulness", "observationId": None, "stringValue": None, "comment": "3 bad"}
    scores = [
        {"id": f"s{source}{i}", "traceId": f"trace-{i}", **base, "value": rating, "source": source,
         "dataType": "NUMERIC", "authorUserId": "ann" if source == "ANNOTATION" else None}
        for i, rating in enumerate(RATINGS)
        for source in ("EVAL", "ANNOTATION")
    ]  # fmt: skip
    naming = ["--item", "data.*.traceId", "--answer", "data.*.value", "--task", "data.*.name"]
    return File(
        "scores.json", {"data": scores, "meta": {"page": 1}}, [f"trace-{i}" for i in range(12)],
        [*naming, "--where", "data.*.source=EVAL"], labels=True,
    )  # fmt: skip


def langsmith() -> File:
    rows = [
        {"id": f"f{kind}{i}", "run_id": f"run-{i}", "key": "clarity", "score": rating,
         "value": None, "comment": None, "feedback_source": {"type": kind, "user_id": user}}
        for i, rating in enumerate(RATINGS)
        for kind, user in (("model", None), ("app", "ad52b092"))
    ]  # fmt: skip
    naming = ["--item", "run_id", "--answer", "score", "--task", "key"]
    return File(
        "feedback.jsonl", rows, [f"run-{i}" for i in range(12)],
        [*naming, "--where", "feedback_source.type=model"], labels=True,
    )  # fmt: skip


def langsmith_table() -> File:
    rows = [
        {"example_id": f"e{i}", "inputs.question": "Why 2?", "outputs.answer": "3",
         "reference.answer": "1", "feedback.clarity": str(rating), "execution_time": "1.5"}
        for i, rating in enumerate(RATINGS)
    ]  # fmt: skip
    naming = ["--item", "example_id", "--answer", "feedback.*"]
    return File("experiment.csv", rows, [f"e{i}" for i in range(12)], naming)


FILES = {
    "mt-bench": (mt_bench,),
    "arena-hard": (arena_hard,),
    "alpaca-eval": (alpaca_eval,),
    "promptfoo": (promptfoo,),
    "g-eval": (g_eval,),
    "prometheus": (prometheus,),
    "biggen-bench": (biggen, biggen_results),
    "helm": (helm, helm_safety),
    "deepeval": (deepeval,),
    "ragas": (ragas,),
    "langfuse": (langfuse,),
    "langsmith": (langsmith, langsmith_table),
}
