"""Many params files at once: which they are, each checked, what does not go together."""
