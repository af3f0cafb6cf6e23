"""What a network says about all samples: evidence for a selector."""

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

_ROWS = 512  # at a time: enough to keep any device busy
_FEW_CLASSES = 10  # of which five are too many to ask for


def collect_evidence(net: nn.Module, pool: Pool, needs: Collection[str], rows: Ints | None = None) -> Evidence:
    """Features, probabilities, losses or logits of all samples or some, as far as they are needed; in eval mode.

    Inputs are not varied. Losses are the cross-entropy of the given label, whatever loss the network is trained
    with. Probabilities come from a network that has seen these very samples.
    """
    at: Ints | slice = slice(None) if rows is None else rows
    ids, labels = pool.ids[at], pool.labels[at]
    if not needs:
        return Evidence(ids=ids, labels=labels)
    features, logits = network_outputs(net, pool, features="features" in needs, rows=rows)
    codes = pool.codes if rows is None else pool.codes[torch.from_numpy(rows).to(pool.codes.device)]
    return Evidence(
        ids=ids,
        labels=labels,
        features=None if features is None else np.asarray(features.float().cpu().numpy()),
        probabilities=as_doubles(functional.softmax(logits, dim=1)) if "probabilities" in needs else None,
        losses=as_doubles(functional.cross_entropy(logits, codes, reduction="none")) if "losses" in needs else None,
        logits=as_doubles(logits) if "logits" in needs else None,
        inputs=_vectors(pool, at) if "inputs" in needs else None,
    )


def network_outputs(
    net: nn.Module, pool: Pool, *, features: bool = False, rows: Ints | None = None
) -> tuple[Tensor | None, Tensor]:
    """Features (if asked for) and logits of all samples or some, in eval mode and without gradients."""
    net.eval()
    device = next(net.parameters()).device
    seen: list[Tensor] = []
    logits: list[Tensor] = []
    with torch.no_grad():
        for part in row_chunks(len(pool) if rows is None else len(rows), 1, _ROWS):
            wanted = part if rows is None else torch.from_numpy(rows[part]).to(pool.codes.device)
            one, other = net(pool.take(wanted).to(device))
            if features:
                seen.append(one)
            logits.append(other.float())
    return torch.cat(seen) if features else None, torch.cat(logits)


def accuracies(nets: Sequence[nn.Module], pool: Pool) -> dict[str, Any]:
    """Share of given labels that the summed logits predict.

    Beside it, with two networks, that of each alone (``_each``), and with more than ten classes the share of labels
    among the five likeliest (``_top5``).
    """
    logits = [network_outputs(net, pool)[1] for net in nets]
    summed = torch.stack(logits).sum(dim=0)
    found: dict[str, Any] = {"": _hits(summed.argmax(dim=1) == pool.codes)}
    if len(logits) > 1:
        found["_each"] = [_hits(one.argmax(dim=1) == pool.codes) for one in logits]
    if pool.n_classes > _FEW_CLASSES:
        found["_top5"] = _hits((summed.topk(5, dim=1).indices == pool.codes[:, None]).any(dim=1))
    return found


def _vectors(pool: Pool, at: Ints | slice) -> Array | None:
    """The inputs themselves, if they are vectors."""
    if isinstance(pool.inputs, ChannelFirstImages) or pool.inputs.ndim != 2:
        return None
    return np.asarray(pool.inputs[at].cpu().numpy())


def _hits(right: Tensor) -> float:
    return float(right.double().mean())
