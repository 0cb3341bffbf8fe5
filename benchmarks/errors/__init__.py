"""Programs that die with errors which people ask about, written without knowledge of Unstall, and what is said of each."""
