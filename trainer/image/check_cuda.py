"""Ask TensorFlow to open each of NVIDIA's libraries, as it does where it finds a GPU.

If one is missing, TensorFlow says only "Cannot dlopen some GPU libraries" and computes on the CPU.
This needs no GPU and no driver. Exit 1 names what was not found. A library for which this
TensorFlow has no function is not asked for.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig

MATHEMATICS = ("Cublas", "CublasLt", "Cudnn", "Cufft", "Curand", "Cusolver", "Cusparse")
LIBRARIES = ("CudaRuntime", *MATHEMATICS, "Cupti", "Nccl")
# Of an absl::StatusOr<void*> as x86-64 returns it; its first word is OK where there is a value.
# Both are seen in 2.21.0: where another TensorFlow lacks everything here, look at these two first.
SIZE, OK = 64, 1


def main() -> int | str:
    """Print what was opened; return what `sys.exit` is to say."""
    framework = f"{sysconfig.get_path('purelib')}/tensorflow/libtensorflow_framework.so.2"
    loader = ctypes.CDLL(framework, mode=ctypes.RTLD_GLOBAL)
    found: list[str] = []
    missing: list[str] = []
    for library in LIBRARIES:
        name = f"Get{library}DsoHandle"
        function = getattr(loader, f"_ZN3tsl8internal9DsoLoader{len(name)}{name}Ev", None)
        if function:
            answer = ctypes.create_string_buffer(SIZE)
            function.restype = None
            function(ctypes.byref(answer))  # an object is returned where the first argument points
            ok = int.from_bytes(answer.raw[:8], sys.byteorder) == OK
            (found if ok else missing).append(library)
    print("TensorFlow opens", ", ".join(found) or "nothing")
    if not found and not missing:
        return "this TensorFlow has none of the functions that open NVIDIA's libraries"
    return f"TensorFlow does not find {', '.join(missing)}" if missing else 0


if __name__ == "__main__":
    sys.exit(main())
