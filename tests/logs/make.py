"""The logs here that imitate a tool by its documentation; the others come from the tools: README.

    python tests/logs/make.py

Readings are made up around each review's stars, the same for every format.
"""

import json
import math
import random
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
REVIEWS = [json.loads(line) for line in (HERE / "reviews.jsonl").read_text().splitlines()]
CREATED = 1_767_225_600  # 2026-01-01
FEW = 8
ABSENT = -9999.0


def alternatives(stars: int, rng: random.Random) -> dict[str, float]:
    """Log-probabilities of the tokens at the answer: digits, a word, and something else."""
    scores = {str(k): -1.3 * abs(k - stars) + rng.gauss(0.0, 0.8) for k in range(1, 6)}
    scores[" 5"], scores["Five"], scores["The"] = scores["5"] - 2.5, scores["5"] - 4.0, -5.0
    total = math.log(sum(map(math.exp, scores.values()))) + 0.002
    found = {token: round(score - total, 6) for token, score in scores.items()}
    # A server lists the most likely tokens alone, the most likely first.
    ordered = sorted(found, key=lambda token: -found[token])[:7]
    return {token: found[token] for token in ordered}


def main() -> None:
    """Write the logs."""
    rng = random.Random(11)
    tops = [alternatives(review["stars"], rng) for review in REVIEWS]
    chosen = [next(token for token in top if token.isdigit()) for top in tops]
    said = list(zip(REVIEWS, tops, chosen, strict=True))
    write("openai_chat.jsonl", [wrapped(r, chat(i, t, c)) for i, (r, t, c) in enumerate(said)])
    write("openai_batch.jsonl", [batch(i, *one) for i, one in enumerate(said[:FEW])])
    write("openai_responses.jsonl", [wrapped(r, responses(t, c)) for r, t, c in said[:FEW]])
    write("openai_completions.jsonl", [wrapped(r, completion(t, c)) for r, t, c in said[:FEW]])
    write("llama_cpp.jsonl", [wrapped(r, llama(t, c)) for r, t, c in said[:FEW]])
    write("llama_cpp_2024.jsonl", [wrapped(r, old_llama(t, c)) for r, t, c in said[:FEW]])
    write("vllm.jsonl", [vllm(i, *one) for i, one in enumerate(said[:FEW])])
    write("samples.jsonl", [sampled(r, t, rng) for r, t, _ in said])
    rows = [f"{r['id']},{rng.choice(list('12345'))}" for r in REVIEWS[:FEW] for _ in range(3)]
    (HERE / "ratings.csv").write_text("item_id,score\n" + "\n".join(rows) + "\n")
    tasks = [label_studio(i, review, rng) for i, review in enumerate(REVIEWS[:FEW])]
    (HERE / "label_studio.json").write_text(json.dumps(tasks, indent=1) + "\n")
    np.savez(
        HERE / "arrays.npz",
        logits=np.array([[top.get(str(k), ABSENT) for k in range(1, 6)] for top in tops]),
        item_id=np.array([review["id"] for review in REVIEWS]),
        options=np.array(["1", "2", "3", "4", "5"]),
        labels=np.array([review["stars"] for review in REVIEWS]),
    )


def write(name: str, rows: list[dict]) -> None:
    """Write JSON Lines."""
    (HERE / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def wrapped(review: dict, response: dict) -> dict:
    """A response as a user keeps it."""
    return {"item_id": review["id"], "label": review["stars"], "response": response}


def entry(token: str, top: dict[str, float]) -> dict:
    """A token of a chat completion."""
    listed = [{"token": t, "logprob": s, "bytes": list(t.encode())} for t, s in top.items()]
    own = {"token": token, "logprob": top[token], "bytes": list(token.encode())}
    return {**own, "top_logprobs": listed}


def sure(token: str) -> dict[str, float]:
    """The alternatives at a token of the reasoning."""
    return {token: -0.02, "</s>": -4.5, " maybe": ABSENT}


def chat(i: int, top: dict[str, float], token: str) -> dict:
    """A chat completion of one token."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": token, "refusal": None},
        "logprobs": {"content": [entry(token, top)], "refusal": None},
        "finish_reason": "length",
    }
    head = {"id": f"chatcmpl-{i:03d}", "object": "chat.completion", "created": CREATED}
    usage = {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41}
    return {**head, "model": "ours-judge-1", "choices": [choice], "usage": usage}


def batch(i: int, review: dict, top: dict[str, float], token: str) -> dict:
    """A line of batch results, whose answer follows reasoning with digits in it."""
    words = ["Of", " the", " ", "3", " points", ",", " ", "2", " hold", ".", " Score", ":", " "]
    body = chat(i, top, token)
    content = [entry(word, sure(word)) for word in words] + [entry(token, top)]
    body["choices"][0]["logprobs"]["content"] = content
    body["choices"][0]["message"]["content"] = "".join(words) + token
    response = {"status_code": 200, "request_id": f"req-{i:03d}", "body": body}
    head = {"id": f"batch_req_{i:03d}", "custom_id": review["id"]}
    return {**head, "response": response, "error": None}


def responses(top: dict[str, float], token: str) -> dict:
    """A response of the Responses interface, after reasoning that is not shown."""
    text = {"type": "output_text", "text": token, "annotations": []}
    message = {"type": "message", "role": "assistant", "status": "completed"}
    message["content"] = [{**text, "logprobs": [entry(token, top)]}]  # pyright: ignore
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    head = {"id": "resp_1", "object": "response", "created_at": CREATED, "model": "ours-judge-1"}
    return {**head, "status": "completed", "output": [thought, message]}


def completion(top: dict[str, float], token: str) -> dict:
    """A legacy completion, in which a space comes before the answer."""
    logprobs = {
        "tokens": [" ", token],
        "token_logprobs": [-0.02, top[token]],
        "top_logprobs": [sure(" "), top],
        "text_offset": [0, 1],
    }
    choice = {"text": f" {token}", "index": 0, "logprobs": logprobs, "finish_reason": "length"}
    head = {"id": "cmpl-1", "object": "text_completion", "created": CREATED}
    return {**head, "model": "ours-judge-1", "choices": [choice]}


def llama(top: dict[str, float], token: str) -> dict:
    """A completion of llama.cpp's own route."""
    listed = [
        {"id": 10 + i, "token": t, "bytes": list(t.encode()), "logprob": s}
        for i, (t, s) in enumerate(top.items())
    ]
    own = {"id": 10, "token": token, "bytes": list(token.encode()), "logprob": top[token]}
    probs = [{**own, "top_logprobs": listed}]
    return {
        "index": 0,
        "content": token,
        "model": "ours-judge-1.gguf",
        "stop": True,
        "completion_probabilities": probs,
        "tokens_predicted": 1,
    }


def old_llama(top: dict[str, float], token: str) -> dict:
    """The same before December 2024."""
    listed = [{"tok_str": t, "prob": math.exp(s)} for t, s in top.items()]
    probs = [{"content": token, "probs": listed}]
    return {"content": token, "model": "ours-judge-1.gguf", "completion_probabilities": probs}


def vllm(i: int, review: dict, top: dict[str, float], token: str) -> dict:
    """A RequestOutput of vLLM as a dictionary."""
    ids = {t: 16 + ord(t[-1]) + 1000 * len(t) for t in top}
    ordered = [token, *(t for t in top if t != token)]
    step = {
        str(ids[t]): {"logprob": top[t], "rank": rank, "decoded_token": t}
        for rank, t in enumerate(ordered, start=1)
    }
    output = {"index": 0, "text": token, "token_ids": [ids[token]], "logprobs": [step]}
    head = {"request_id": str(i), "prompt": f"Review: {review['text']}\nStars (1 to 5): "}
    return {"item_id": review["id"], **head, "outputs": [output], "finished": True}


def sampled(review: dict, top: dict[str, float], rng: random.Random) -> dict:
    """Twenty sampled scores."""
    weights = [math.exp(top.get(str(k), -9.0)) for k in range(1, 6)]
    scores = rng.choices(range(1, 6), weights, k=20)
    return {"item_id": review["id"], "scores": scores, "label": review["stars"]}


def label_studio(i: int, review: dict, rng: random.Random) -> dict:
    """A task of Label Studio with one to three annotations."""
    annotations = []
    for user in range(1, rng.choice((2, 3, 4))):
        stars = min(5, max(1, review["stars"] + rng.choice((-1, 0, 0, 1))))
        value = {"rating": stars}
        result = {"id": f"r{i}{user}", "type": "rating", "from_name": "stars", "to_name": "text"}
        annotations.append(
            {
                "id": 10 * i + user,
                "completed_by": user,
                "was_cancelled": False,
                "result": [{**result, "value": value, "origin": "manual"}],
            }
        )
    data = {"item_id": review["id"], "text": review["text"]}
    return {"id": i + 1, "data": data, "annotations": annotations, "predictions": []}


if __name__ == "__main__":
    main()
