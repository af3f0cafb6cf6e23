"""Attacks on eigenclean that can be repeated: mutated files, kills, hostile artefacts, hostile requests.

``make attack`` runs all of them and prints how many cases were tried and how many broke a promise of
``docs/promises.md``. ``tests/attacks`` runs a small part of each kind. Nothing here is part of the package that
users install.
"""
