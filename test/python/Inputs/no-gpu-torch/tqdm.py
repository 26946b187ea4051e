"""Is only looked for."""

tqdm = None
