"""What the causes of errors that end a program share: the form of their findings, and facts about libraries."""
