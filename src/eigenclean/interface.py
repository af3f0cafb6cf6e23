"""What is public: the list that the reference pages, the tests and the laboratory's import check share.

`docs/reference/stability.md` says what is promised for each of the two groups.
"""

from importlib import import_module

# A change that breaks users of these names comes with one release of deprecation warnings.
STABLE_MODULES = (
    "eigenclean",
    "eigenclean.detect",
    "eigenclean.detect.cuts",
    "eigenclean.evidence",
    "eigenclean.errors",
    "eigenclean.features",
    "eigenclean.metrics",
    "eigenclean.noise",
    "eigenclean.patch",
    "eigenclean.report",
    "eigenclean.review",
    "eigenclean.scale.dask",
    "eigenclean.scale.stream",
    "eigenclean.sources",
    "eigenclean.sources.relabel",
    "eigenclean.train",
    "eigenclean.verdict",
    "eigenclean.workflows",
    "eigenclean.workflows.audit",
)

# Tools for writing detectors, losses, networks or sources of one's own. They may change in any minor version;
# the changelog says how.
EXTENSION_MODULES = (
    "eigenclean.arrays",
    "eigenclean.cli",
    "eigenclean.cli.console",
    "eigenclean.cli.options",
    "eigenclean.deprecation",
    "eigenclean.extras",
    "eigenclean.features.encoders.efficientnet_lite",
    "eigenclean.files",
    "eigenclean.interface",
    "eigenclean.losses",
    "eigenclean.mixture",
    "eigenclean.moments",
    "eigenclean.names",
    "eigenclean.nets",
    "eigenclean.progress",
    "eigenclean.seeds",
    "eigenclean.tables",
    "eigenclean.threads",
    "eigenclean.train.selectors",
    "eigenclean.train.steps",
    "eigenclean.truth",
    "eigenclean.version",
    "eigenclean.workflows.demo",
    "eigenclean.workflows.train_callbacks",
)

PUBLIC_MODULES = STABLE_MODULES + EXTENSION_MODULES


def public_names(module_name: str) -> list[str]:
    """Return the public names of a module: its ``__all__``, or what it defines without a leading underscore.

    >>> public_names("eigenclean.interface")
    ['STABLE_MODULES', 'EXTENSION_MODULES', 'PUBLIC_MODULES', 'public_names']
    """
    module = import_module(module_name)
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return list(exported)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (name.isupper() or getattr(value, "__module__", None) == module_name)
    ]
