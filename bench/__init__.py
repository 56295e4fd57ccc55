"""What a write costs, beside the floor under it and two peers: docs/benchmarks.md."""
