"""From events to verdicts: evidence, the verdict types, one file per cause, and the ranking of what they find."""
