"""What a command does, as a function: the command line and Python code call the same workflow, one file each."""

from typing import TYPE_CHECKING

from eigenclean.extras import lazy_names

if TYPE_CHECKING:
    from eigenclean.workflows.check import CheckRequest, check_run, check_source
    from eigenclean.workflows.demo import network_features, run_demo
    from eigenclean.workflows.detect import DetectRequest, run_detect
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.export import export_run
    from eigenclean.workflows.noisy_copy import write_noisy_copy
    from eigenclean.workflows.options import SourceOptions
    from eigenclean.workflows.predict import Predictions, run_predict
    from eigenclean.workflows.review import serve_page, write_page, write_patch
    from eigenclean.workflows.score import score_run
    from eigenclean.workflows.train import TrainingOptions, TrainingRun, run_training
    from eigenclean.workflows.train_callbacks import SelectionQuality
    from eigenclean.workflows.training.export_model import export_model

_HOMES = {
    "CheckRequest": "eigenclean.workflows.check",
    "DetectRequest": "eigenclean.workflows.detect",
    "EmbeddingOptions": "eigenclean.workflows.embedding",
    "Predictions": "eigenclean.workflows.predict",
    "SelectionQuality": "eigenclean.workflows.train_callbacks",
    "SourceOptions": "eigenclean.workflows.options",
    "TrainingOptions": "eigenclean.workflows.train",
    "TrainingRun": "eigenclean.workflows.train",
    "check_run": "eigenclean.workflows.check",
    "check_source": "eigenclean.workflows.check",
    "export_model": "eigenclean.workflows.training.export_model",
    "export_run": "eigenclean.workflows.export",
    "network_features": "eigenclean.workflows.demo",
    "run_demo": "eigenclean.workflows.demo",
    "run_detect": "eigenclean.workflows.detect",
    "run_predict": "eigenclean.workflows.predict",
    "run_training": "eigenclean.workflows.train",
    "score_run": "eigenclean.workflows.score",
    "serve_page": "eigenclean.workflows.review",
    "write_noisy_copy": "eigenclean.workflows.noisy_copy",
    "write_page": "eigenclean.workflows.review",
    "write_patch": "eigenclean.workflows.review",
}

__all__ = [
    "CheckRequest",
    "DetectRequest",
    "EmbeddingOptions",
    "Predictions",
    "SelectionQuality",
    "SourceOptions",
    "TrainingOptions",
    "TrainingRun",
    "check_run",
    "check_source",
    "export_model",
    "export_run",
    "network_features",
    "run_demo",
    "run_detect",
    "run_predict",
    "run_training",
    "score_run",
    "serve_page",
    "write_noisy_copy",
    "write_page",
    "write_patch",
]

__getattr__ = lazy_names(__name__, _HOMES)
