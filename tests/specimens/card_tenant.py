"""A stranger on the graphics card: takes a share of its free memory and keeps it while the process OWNER lives.

    python card_tenant.py SHARE OWNER

Plain driver calls, so that it needs no framework and starts within a second. Returns once it holds the memory, in
a process of its own that is no child of the caller, and prints the bytes it holds (nothing, if there is no card).
"""

import ctypes
import os
import sys
import time


def _checked(status: int, call: str) -> None:
    if status != 0:
        raise SystemExit(f"{call} failed with CUDA error {status}")


def hold(share: float) -> int:
    """Allocate this share of the card's free memory; return the bytes held."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, device = ctypes.c_void_p(), ctypes.c_int()
    free, total, address = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
    _checked(cuda.cuInit(0), "cuInit")
    _checked(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    _checked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    _checked(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    _checked(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "cuMemGetInfo")
    wanted = int(free.value * share)
    _checked(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(wanted)), "cuMemAlloc")
    return wanted


def _stay_while_alive(owner: int) -> None:
    while True:
        try:
            os.kill(owner, 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)


def main() -> None:
    share, owner = float(sys.argv[1]), int(sys.argv[2])
    read_end, write_end = os.pipe()
    if os.fork() > 0:  # the process that was called: it ends as soon as the memory is taken
        os.close(write_end)
        with os.fdopen(read_end) as answer:
            print(answer.read().strip(), flush=True)
        return
    os.setsid()  # a stranger: no child of the program that will find the card full
    os.close(read_end)
    with open(os.devnull, "r+b") as nowhere:
        for stream in (0, 1, 2):
            os.dup2(nowhere.fileno(), stream)
    with os.fdopen(write_end, "w") as answer:
        answer.write(str(hold(share)))
    _stay_while_alive(owner)


if __name__ == "__main__":
    main()
