"""Privacy amplification by shuffling."""
