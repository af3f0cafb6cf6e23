"""Networks in eval mode: evidence for a selector, logits for predictions, accuracies for the history."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.arrays import Array, Ints, row_chunks
from eigenclean.evidence import Evidence
from eigenclean.train.data.images import ChannelFirstImages
from eigenclean.train.data.pool import Pool, as_doubles
from eigenclean.train.loop.gradients import feature_gradients
from eigenclean.train.network_evidence import NetworkEvidence

_CHUNK_ROWS = 512  # large enough to keep any device busy
_TOP5_CLASSES = 10  # with at most as many classes, the top-5 accuracy says little


def collect_evidence(net: nn.Module, pool: Pool, needs: Collection[str], rows: Ints | None = None) -> Evidence:
    """The fields of `NetworkEvidence` that are needed, of all samples or of some rows, from a network in eval mode.

    Inputs are not augmented. Losses are the cross-entropy of the given labels, whatever loss the network is trained
    with. Probabilities are in-sample: the network may have been trained on these very samples.
    """
    index: Ints | slice = slice(None) if rows is None else rows
    ids, labels = pool.ids[index], pool.labels[index]
    if not needs:
        return Evidence(ids=ids, labels=labels)
    features, logits = network_outputs(net, pool, features="features" in needs, rows=rows)
    codes = pool.codes if rows is None else pool.codes[torch.from_numpy(rows).to(pool.codes.device)]
    return NetworkEvidence(
        ids=ids,
        labels=labels,
        features=None if features is None else np.asarray(features.float().cpu().numpy()),
        probabilities=as_doubles(functional.softmax(logits, dim=1)) if "probabilities" in needs else None,
        losses=as_doubles(functional.cross_entropy(logits, codes, reduction="none")) if "losses" in needs else None,
        logits=as_doubles(logits) if "logits" in needs else None,
        inputs=_input_vectors(pool, index) if "inputs" in needs else None,
        gradients=feature_gradients(net, logits, codes) if "gradients" in needs else None,
    )


def network_outputs(
    net: nn.Module, pool: Pool, *, features: bool = False, rows: Ints | None = None
) -> tuple[Tensor | None, Tensor]:
    """Features (if asked for) and logits of all samples or of some rows, in eval mode and without gradients."""
    net.eval()
    device = next(net.parameters()).device
    feature_chunks: list[Tensor] = []
    logit_chunks: list[Tensor] = []
    with torch.no_grad():
        for chunk in row_chunks(len(pool) if rows is None else len(rows), 1, _CHUNK_ROWS):
            index = chunk if rows is None else torch.from_numpy(rows[chunk]).to(pool.codes.device)
            chunk_features, chunk_logits = net(pool.eval_inputs(index).to(device))
            if features:
                feature_chunks.append(chunk_features)
            logit_chunks.append(chunk_logits.float())
    return torch.cat(feature_chunks) if features else None, torch.cat(logit_chunks)


def accuracies(nets: Sequence[nn.Module], pool: Pool) -> dict[str, Any]:
    """Accuracy of the summed logits on the given labels, by the suffix of its name in the history.

    With several networks also the accuracy of each alone (``_each``), and with more than ten classes the top-5
    accuracy (``_top5``).
    """
    logits = [network_outputs(net, pool)[1] for net in nets]
    summed = torch.stack(logits).sum(dim=0)
    by_suffix: dict[str, Any] = {"": _mean(summed.argmax(dim=1) == pool.codes)}
    if len(logits) > 1:
        by_suffix["_each"] = [_mean(values.argmax(dim=1) == pool.codes) for values in logits]
    if pool.n_classes > _TOP5_CLASSES:
        by_suffix["_top5"] = _mean((summed.topk(5, dim=1).indices == pool.codes[:, None]).any(dim=1))
    return by_suffix


def mean_losses(nets: Sequence[nn.Module], pool: Pool) -> list[float]:
    """The mean cross-entropy of the given labels, of each network alone."""
    return [float(functional.cross_entropy(network_outputs(net, pool)[1], pool.codes)) for net in nets]


def _input_vectors(pool: Pool, index: Ints | slice) -> Array | None:
    """The inputs themselves if they are feature vectors; None for images."""
    if isinstance(pool.inputs, ChannelFirstImages) or pool.inputs.ndim != 2:
        return None
    return np.asarray(pool.inputs[index].cpu().numpy())


def _mean(correct: Tensor) -> float:
    return float(correct.double().mean())
