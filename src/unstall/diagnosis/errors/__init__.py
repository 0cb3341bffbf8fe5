"""What the causes of errors that end a program share: the form of their findings, their evidence, and facts about libraries."""
