"""Ask TensorFlow to open each of NVIDIA's libraries, as it does where it finds a GPU.

It lacks one: it then says only "Cannot dlopen some GPU libraries" and computes on the CPU. No GPU
and no driver is needed for this. Exit 1 names what was not found. A library that this TensorFlow
has no function for is not asked for.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig

MATHEMATICS = ("Cublas", "CublasLt", "Cudnn", "Cufft", "Curand", "Cusolver", "Cusparse")
LIBRARIES = ("CudaRuntime", *MATHEMATICS, "Cupti", "Nccl")
SIZE = 64  # bytes: enough for an absl::StatusOr<void*>, whose first word is 1 if it has a value


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
            ok = int.from_bytes(answer.raw[:8], sys.byteorder) == 1
            (found if ok else missing).append(library)
    print("TensorFlow opens", ", ".join(found) or "nothing")
    return f"TensorFlow does not find {', '.join(missing)}" if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
