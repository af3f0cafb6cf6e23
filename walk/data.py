"""Six kinds of small real data with planted errors, from scikit-learn and docstrings of Python's libraries."""

import csv
import importlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenclean import add_noise
from eigenclean.arrays import Array
from walk.case import Case, Cells, Kind

RATE = 0.12  # of planted errors
_GRAPES = np.array(["barolo", "grignolino", "barbera"])
_LIBRARIES = {
    "statistics": ("scipy.stats", "statistics"),
    "linear algebra": ("numpy.linalg", "scipy.linalg"),
    "network": ("socket", "ssl", "http.client", "urllib.request", "smtplib"),
}
_EMBEDDED = "embed_source(open_source({{'{kind}s': {rows}, 'labels': np.zeros(len({rows}))}}), encoder).features()"


def images(folder: Path) -> Case:
    """A folder of class folders with digits as PNG files, some of them in the wrong folder."""
    pixels, right = _digits(300)
    grey = np.round(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8).repeat(4, axis=1).repeat(4, axis=2)
    given, truth = add_noise(right, "symmetric", rate=RATE), dict[str, str]()
    for row in range(240):
        (folder / "photos" / given[row]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(grey[row]).save(folder / "photos" / given[row] / f"{row:04d}.png")
        truth[f"{given[row]}/{row:04d}.png"] = right[row]
    (folder / "new").mkdir()
    for row in range(240, 300):
        Image.fromarray(grey[row]).save(folder / "new" / f"{row:04d}.png")
    np.savez(folder / "digits.npz", known=grey[:240], labels=given[:240], right=right[:240], new=grey[240:])
    cells = Cells(
        "d = np.load('digits.npz')\nencoder = make_encoder(best_encoder('image')[0])",
        "image=d['known'], label=labels",
        "d['labels']",
        "d['right']",
        _EMBEDDED.format(kind="image", rows="d['known']"),
        _EMBEDDED.format(kind="image", rows="d['new']"),
    )
    # So few digits are hard for an encoder of photos: with right labels only, 50 of the 60 new ones are predicted.
    return Case("photos", truth, "new", tuple(right[240:]), cells, least=0.6)


def texts(folder: Path) -> Case:
    """A CSV file of sentences, each labelled with its subject."""
    sentences, right = _sentences(120)
    order = np.random.default_rng(0).permutation(len(right))
    sentences, right = [sentences[row] for row in order], right[order]
    n = len(right) - 60
    given = add_noise(right[:n], "symmetric", rate=RATE)
    _write_csv(folder / "sentences.csv", {"text": sentences[:n], "subject": given})
    np.save(folder / "right.npy", right[:n])
    _write_csv(folder / "new.csv", {"text": sentences[n:]})
    cells = Cells(
        "d, e = pd.read_csv('sentences.csv'), pd.read_csv('new.csv')\n"
        "encoder = make_encoder(best_encoder('text')[0])\nknown, new = d['text'].tolist(), e['text'].tolist()",
        "text=known, label=labels",
        "d['subject'].to_numpy()",
        "np.load('right.npy')",
        _EMBEDDED.format(kind="text", rows="known"),
        _EMBEDDED.format(kind="text", rows="new"),
    )
    columns = ("--text-column", "text", "--label-column", "subject")
    return Case("sentences.csv", _by_row(right[:n]), "new.csv", tuple(right[n:]), cells, columns=columns)


def tables(folder: Path) -> Case:
    """A CSV file with numbers, a category and gaps."""
    columns, right = _wines()
    known, new = _parts(len(right))
    given = add_noise(right[known], "symmetric", rate=RATE)
    _write_csv(folder / "wines.csv", {**_take(columns, known), "grape": given})
    _write_csv(folder / "new.csv", _take(columns, new))
    np.save(folder / "right.npy", right[known])
    cells = Cells(
        "d, e = pd.read_csv('wines.csv'), pd.read_csv('new.csv')\n"
        "numbers = lambda frame: frame.drop(columns=['grape', 'cask'], errors='ignore').fillna(0).to_numpy()",
        "d.assign(grape=labels), label='grape'",
        "d['grape'].to_numpy()",
        "np.load('right.npy')",
        "numbers(d)",
        "numbers(e)",
    )
    return Case(
        "wines.csv",
        _by_row(right[known]),
        "new.csv",
        tuple(right[new]),
        cells,
        columns=("--label-column", "grape"),
    )


def annotators(folder: Path) -> Case:
    """A table with labels by three people, one of whom is careless."""
    columns, right = _wines()
    known, new = _parts(len(right))
    rng, n = np.random.default_rng(0), len(known)
    raters: dict[str, list[str | None]] = {}
    for name, skill in {"rater_a": 0.92, "rater_b": 0.85, "rater_c": 0.5}.items():
        labels = np.where(rng.random(n) < skill, right[known], rng.choice(_GRAPES, n))
        raters[name] = [str(label) if rng.random() < 0.85 else None for label in labels]
    raters["rater_a"] = [a or str(r) for a, r in zip(raters["rater_a"], right[known], strict=True)]
    ids = [f"w{row}" for row in known]
    _write_csv(folder / "wines.csv", {"id": ids, **_take(columns, known), **raters})
    _write_csv(folder / "new.csv", _take(columns, new))
    np.save(folder / "right.npy", right[known])
    cells = Cells(
        "d, e = pd.read_csv('wines.csv'), pd.read_csv('new.csv')\n"
        "numbers = lambda frame: frame.filter(regex='^(?!rater_|id$|cask$)').fillna(0).to_numpy()",
        "d, annotators='rater_*', ids='id'",
        "None",
        "np.load('right.npy')",
        "numbers(d)",
        "numbers(e)",
    )
    options = ("--id-column", "id", "--annotator-columns", "rater_*")
    truth = dict(zip(ids, right[known].tolist(), strict=True))
    return Case("wines.csv", truth, "new.csv", tuple(right[new]), cells, columns=options, is_patched=False)


def probabilities(folder: Path) -> Case:
    """Labels with the probabilities that somebody's model predicts; the features are used for training alone."""
    pixels, right = _digits(400)
    given = add_noise(right[:340], "symmetric", rate=RATE)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=300))
    np.save(folder / "p.npy", cross_val_predict(model, pixels[:340], given, cv=4, method="predict_proba"))
    np.savez(folder / "labels.npz", labels=given)
    np.savez(folder / "digits.npz", features=pixels[:340], labels=given, right=right[:340])
    np.savez(folder / "new.npz", features=pixels[340:])
    cells = Cells(
        "d, e = np.load('digits.npz'), np.load('new.npz')",
        "label=labels, pred_probs=np.load('p.npy')",
        "d['labels']",
        "d['right']",
        "d['features']",
        "e['features']",
    )
    return Case(
        "labels.npz",
        _by_row(right[:340]),
        "new.npz",
        tuple(right[340:]),
        cells,
        judging=("--pred-probs", "p.npy"),
        train=("digits.npz", "--patch", "patch.jsonl", "--by-id"),
    )


def arrays(folder: Path) -> Case:
    """Arrays on disk that are judged in blocks, as those that are larger than memory are."""
    pixels, right = _digits(1200)
    given = add_noise(right[:1000], "symmetric", rate=RATE)
    np.save(folder / "features.npy", pixels[:1000].astype(np.float32))
    np.save(folder / "labels.npy", given)
    np.save(folder / "new.npy", pixels[1000:].astype(np.float32))
    np.save(folder / "right.npy", right[:1000])
    cells = Cells(
        "d, e = np.load('features.npy', mmap_mode='r'), np.load('new.npy')",
        "d, label=labels, engine='stream'",
        "np.load('labels.npy')",
        "np.load('right.npy')",
        "d",
        "e",
    )
    return Case(
        "features.npy",
        _by_row(right[:1000]),
        "new.npy",
        tuple(right[1000:]),
        cells,
        columns=("--labels", "labels.npy"),
        judging=("--engine", "stream"),
    )


KINDS = {
    "images": Kind("a folder of class folders of PNG files", images),
    "texts": Kind("a CSV file with a column of sentences", texts),
    "tables": Kind("a CSV file of numbers and a category, with gaps", tables),
    "annotators": Kind("a CSV file with labels by three people", annotators),
    "probabilities": Kind("labels and the probabilities of a model", probabilities),
    "arrays": Kind("NumPy files that are judged in blocks", arrays),
}


def _digits(n: int) -> tuple[Array, Array]:
    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    return pixels[:n], labels[:n].astype(str)


def _wines() -> tuple[dict[str, list[Any]], Array]:
    """Columns of scikit-learn's wines, with gaps and a category, and the grapes."""
    data: Any = load_wine()
    columns = {name.replace("/", "_"): data.data[:, k].tolist() for k, name in enumerate(data.feature_names)}
    columns["magnesium"][::11] = [None] * len(columns["magnesium"][::11])
    columns["cask"] = ["oak" if row % 3 else "steel" for row in range(len(data.target))]
    return columns, _GRAPES[data.target]


def _parts(n: int) -> tuple[Array, Array]:
    order = np.random.default_rng(0).permutation(n)
    return order[: n - 40], order[n - 40 :]


def _take(columns: Mapping[str, Sequence[Any]], rows: Array) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _sentences(most: int) -> tuple[list[str], Array]:
    """First sentences of docstrings, at most so many for each subject, and their subjects."""
    sentences: dict[str, str] = {}
    for subject, names in _LIBRARIES.items():
        of_subject: dict[str, str] = {}
        for module in map(importlib.import_module, names):
            for owner in [module, *(kind for _, kind in inspect.getmembers(module, inspect.isclass))]:
                for name, member in inspect.getmembers(owner):
                    first = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
                    if not name.startswith("_") and callable(member) and 40 <= len(first) <= 300:
                        of_subject.setdefault(first, subject)
        sentences |= dict(list(of_subject.items())[:most])
    return list(sentences), np.array(list(sentences.values()))


def _by_row(labels: Array) -> dict[str, str]:
    return {str(row): str(label) for row, label in enumerate(labels.tolist())}


def _write_csv(path: Path, columns: Mapping[str, Sequence[Any] | Array]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
