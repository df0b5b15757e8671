"""Fits of 64 subsets by the host and by four devices of a CPU, as a program of its own."""

import sys
import warnings

import conftest  # noqa: F401
import numpy as np

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1]))

SUBSETS, LABELS = 64, 20


def main():
    import jax

    from cordial_ppl.channels import CHANNELS
    from cordial_ppl.data.labelled import Labelled, without_labels
    from cordial_ppl.data.readings import as_logits
    from cordial_ppl.estimators.subsets import make_cases
    from cordial_ppl.evaluation.synthetic import reviews
    from cordial_ppl.inference.fitting import fit_cases
    from cordial_ppl.inference.target import build_target

    texts = reviews(300, seed=4)
    pool, report = np.split(as_logits(texts.logits), [260])
    rng = np.random.default_rng(1)
    subsets = np.stack([rng.permutation(260)[:LABELS] for _ in range(SUBSETS)])
    cases = make_cases(Labelled(pool, texts.labels[:260]), subsets, range(SUBSETS))
    target = build_target(CHANNELS["mixture"], 5)

    def host(method, seed):
        seeded = [case._replace(seed=(seed, *case.seed)) for case in cases]
        fits = fit_cases(target, seeded, method=method)
        return fits, np.stack([fit.fitted.predict(report, {})[0] for fit in fits])

    results = {
        f"{method} {s}": host(method, s) for method in ("default", "laplace") for s in (0, 1)
    }
    from cordial_ppl.inference.accelerator import fit_batch

    for method in ("default", "laplace", "mode"):
        for count in (1, 4):
            seeded = [case._replace(seed=(0, *case.seed)) for case in cases]
            settings = {"method": method, "devices": jax.devices()[:count]}
            fits = fit_batch(target, seeded, without_labels(report, {}), **settings)
            results[f"{method} on {count}"] = fits
    results["mode 0"] = host("mode", 0)
    arrays = {"devices": np.array(len(jax.devices()))}
    for name, (fits, probs) in results.items():
        arrays[f"{name} report"] = probs
        arrays[f"{name} held out"] = np.stack([np.asarray(fit.held_out) for fit in fits])
        arrays[f"{name} draws"] = np.stack([fit.fitted.draws for fit in fits])
        arrays[f"{name} weights"] = np.stack([fit.fitted.weights for fit in fits])
        arrays[f"{name} trusted"] = np.array([fit.fitted.diagnostics.trusted for fit in fits])
    np.savez(sys.argv[1], **arrays)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
