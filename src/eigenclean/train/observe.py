"""What a network says about all samples: evidence for a selector."""

from collections.abc import Collection

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.evidence import Evidence
from eigenclean.train.pool import Pool, as_doubles

_ROWS = 512  # at a time: enough to keep any device busy


def observe(net: nn.Module, pool: Pool, needs: Collection[str]) -> Evidence:
    """Features, probabilities, losses or logits of all samples, as far as they are needed; in eval mode.

    Losses are the cross-entropy of the given label, whatever loss the network is trained with. Probabilities come
    from a network that has seen these very samples.
    """
    if not needs:
        return Evidence(ids=pool.ids, labels=pool.labels)
    features, logits = outputs(net, pool.inputs, features="features" in needs)
    return Evidence(
        ids=pool.ids,
        labels=pool.labels,
        features=None if features is None else np.asarray(features.float().cpu().numpy()),
        probabilities=as_doubles(functional.softmax(logits, dim=1)) if "probabilities" in needs else None,
        losses=as_doubles(functional.cross_entropy(logits, pool.codes, reduction="none"))
        if "losses" in needs
        else None,
        logits=as_doubles(logits) if "logits" in needs else None,
    )


def outputs(net: nn.Module, inputs: Tensor, *, features: bool = False) -> tuple[Tensor | None, Tensor]:
    """Features (if asked for) and logits of all inputs, in eval mode and without gradients."""
    net.eval()
    device = next(net.parameters()).device
    seen: list[Tensor] = []
    logits: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(inputs), _ROWS):
            one, other = net(inputs[start : start + _ROWS].to(device))
            if features:
                seen.append(one)
            logits.append(other.float())
    return torch.cat(seen) if features else None, torch.cat(logits)
