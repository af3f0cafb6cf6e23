"""Open-set noise: samples that belong to none of the classes, as a component of the judge's noise model."""
