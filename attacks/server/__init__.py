"""Hostile requests to a real review server: no access, no error 500, no lost decision, no server that hangs."""
