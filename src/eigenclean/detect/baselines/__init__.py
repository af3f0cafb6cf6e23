"""The methods that FINE is compared with."""
