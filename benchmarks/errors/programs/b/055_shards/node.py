"""Settings of the shared training node."""
import resource

OPEN_FILES = 192
THREADS = 1


def apply():
    import torch

    torch.set_num_threads(THREADS)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
