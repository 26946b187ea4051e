"""Recorded runs and certificates, and where two of them differ: what `dash_attn.audit` is made
of, without any framework."""
