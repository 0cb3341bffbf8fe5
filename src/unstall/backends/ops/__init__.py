"""Operations that Keras lacks, or that are faster on one backend than its own."""
