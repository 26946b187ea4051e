"""Stands in for cuda.bindings; see driver.py."""
