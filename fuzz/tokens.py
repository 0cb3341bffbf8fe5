"""Pieces of text that several drivers put into what they mutate."""

PROTOTEXT = (b":", b"{", b"}", b"<", b">", b"[", b"]", b",", b";", b"#", b"\n", b"'", b'"', b"\\", b"\0", b"\xff", b"\xff\xfe")
