import resource
import signal

MEGABYTE = 1024 * 1024


def limit_file_size(megabytes=6):
    """Same rule as on the cluster: no single file of a job grows past this."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (megabytes * MEGABYTE, megabytes * MEGABYTE))
