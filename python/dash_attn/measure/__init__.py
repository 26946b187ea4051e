"""Times, traces, costs and pictures: what the commands bench, trace and tune, and device tests,
are made of."""
