"""Components that a cell names: the modules of its detectors, losses, networks and so on."""

from functools import cache
from typing import Any

from eigenclean.detect import DETECTORS, detector, plain_parameters
from eigenclean.detect.cuts import CUTS
from eigenclean.losses import LOSSES
from eigenclean.nets import NETS
from eigenclean.noise import NOISES
from eigenclean.train import AUGMENTS, SELECTORS
from eigenclean.train.steps import STEPS
from eigenclean_lab.store import registered
from eigenclean_lab.store.fingerprints import names_in

REGISTRIES = (DETECTORS, CUTS, LOSSES, NETS, NOISES, SELECTORS, AUGMENTS, STEPS)


def component_modules(description: Any) -> set[str]:
    """Modules of all registered components that the description names, and of the defaults of its detectors.

    >>> sorted(component_modules({"loss": "gce", "epochs": 3}))
    ['eigenclean.losses.gce']
    """
    modules = registered(description, *REGISTRIES)
    for text in set(names_in(description)) & set(DETECTORS):
        modules |= _defaults(text)
    return modules


@cache
def _defaults(name: str) -> frozenset[str]:
    default = detector(name)
    parameters = [default.get_params(deep=False), plain_parameters(default)]  # the latter describes cuts
    others = set(names_in(parameters)) & set(DETECTORS) - {name}
    return frozenset(registered(parameters, *REGISTRIES).union(*map(_defaults, others)))
