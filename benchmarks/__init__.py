"""Speed and memory, as ratios against a named alternative in the same run."""
