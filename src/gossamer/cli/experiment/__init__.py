"""Commands that repeat the experiments of the papers."""
