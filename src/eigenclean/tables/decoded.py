"""Values of an encoded table as texts again, for reports: the file is not read another time."""

from collections.abc import Sequence

import numpy as np

from eigenclean.arrays import Array
from eigenclean.tables.encoders import CategoryEncoder, ColumnEncoder, DateEncoder, NumberEncoder

MISSING, OTHER = "missing", "another value"
_DAY, _LIMIT = 86_400, 1e17  # seconds; NumPy's dates hold no more


def decoded_values(encoder: ColumnEncoder, block: Array) -> Sequence[str]:
    """The value of each row in one column, whose features are ``block``.

    >>> import pyarrow as pa
    >>> from eigenclean.tables import fit_encoding
    >>> table = pa.table({"built": ["2020-05-01", "2021-06-02", None], "rooms": [1.5, None, 3.0]})
    >>> encoding = fit_encoding(table.to_batches, table.schema)
    >>> features = encoding.transform(table)
    >>> [decoded_values(encoding.encoders[-1], features[:, -2:])]
    [['1.5', 'missing', '3']]
    """
    numbers = np.asarray(block, dtype=np.float64)
    if isinstance(encoder, CategoryEncoder):
        names = [*encoder.values, OTHER, MISSING]
        return [names[code] for code in encoder.decode(numbers).tolist()]
    if isinstance(encoder, DateEncoder):
        seconds, missing = encoder.decode(numbers)
        stamps = np.clip(seconds, -_LIMIT, _LIMIT).astype(np.int64)
        unit = "D" if (stamps % _DAY == 0).all() else "s"
        texts = [
            str(stamp).replace("T", " ") for stamp in stamps.astype("datetime64[s]").astype(f"datetime64[{unit}]")
        ]
    elif isinstance(encoder, NumberEncoder):
        values, missing = encoder.decode(numbers)
        texts = [f"{value:.6g}" for value in values.tolist()]
    else:
        return [""] * len(numbers)
    return [MISSING if gap else text for text, gap in zip(texts, missing.tolist(), strict=True)]
