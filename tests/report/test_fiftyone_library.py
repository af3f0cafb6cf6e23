"""The export for FiftyOne, read by FiftyOne itself; only where it is installed, with a database in memory."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eigenclean.report.exports import EXPORTS, Rows
from eigenclean.verdict import Verdict

# FiftyOne needs the program mongod. mongomock takes its place: it keeps what the library writes, in this process.
_READ = """
import json, mongoengine, mongomock
import fiftyone as fo
import fiftyone.core.odm.database as database

class Client(mongomock.MongoClient):
    _closed = False

client, connect = Client(), mongoengine.connect
database.pymongo.MongoClient = lambda *given, **named: client
database.mongoengine.connect = lambda name, **named: connect(name, mongo_client_class=lambda *g, **n: client)
database._validate_db_version = lambda *given: None
images = fo.Dataset.from_dir(
    dataset_type=fo.types.FiftyOneImageClassificationDataset,
    labels_path="labels.json",
    data_path="pictures",
    dynamic=True,
    progress=False,
)
for sample in images.sort_by("ground_truth.mistakenness", reverse=True):
    label = sample.ground_truth
    names = ("label", "eigenclean_id", "is_label_issue", "mistakenness", "suggested_label", "suggested_confidence")
    print(json.dumps([sample.filepath, *(label[name] for name in names)]))
print(json.dumps(sorted(images.get_field_schema(flat=True))))
"""


@pytest.mark.skipif(
    not all(find_spec(name) for name in ("fiftyone", "mongomock")),
    reason="fiftyone and mongomock are not installed",
)
def test_fiftyone_reads_the_export(tmp_path: Path) -> None:
    ids = np.array([f"{'ab'[i % 2]}/{i} ü.png" for i in range(4)])
    for id in ids.tolist():
        (tmp_path / "pictures" / id).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / id)
    p_clean = np.array([0.9, 0.2, 0.7, 0.4])
    labels, flagged = np.array(list("abab")), p_clean < 0.5
    verdict = Verdict(
        ids=ids,
        labels=labels,
        score=p_clean,
        p_clean=p_clean,
        flagged=flagged,
        suggested=np.where(flagged, "a", labels),
        suggested_confidence=np.array([0.9, 0.8, 0.7, np.nan]),
        made_by="test",
    )
    rows = Rows(verdict, np.arange(4), images=tmp_path / "pictures")
    EXPORTS["fiftyone"].write(rows, tmp_path / "labels.json")
    settings = {"FIFTYONE_DATABASE_URI": "mongodb://localhost", "FIFTYONE_DO_NOT_TRACK": "true"}
    environment = {**os.environ, **settings, "HOME": str(tmp_path), "FIFTYONE_DATABASE_VALIDATION": "false"}
    done = subprocess.run(
        [sys.executable, "-c", _READ], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    *samples, fields = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [sample[1:] for sample in samples] == [
        [
            labels[row],
            ids[row],
            bool(flagged[row]),
            pytest.approx(1 - p_clean[row]),
            "a" if flagged[row] else labels[row],
            confidence,
        ]
        for row, confidence in ((1, 0.8), (3, None), (2, 0.7), (0, 0.9))
    ]
    assert all(Path(sample[0]).is_file() for sample in samples)
    assert {"ground_truth.mistakenness", "ground_truth.is_label_issue"} <= set(fields)
