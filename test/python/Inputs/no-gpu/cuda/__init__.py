"""Stands in for cuda-bindings; see bindings/driver.py."""
