"""What of the program's imports the trainer's images lack."""

import sys
from collections.abc import Iterable, Iterator

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.resolve import Code
from tf_cluster.program.sure_imports import SureImport
from tf_cluster.program.tree import named_modules

_MOST = 20
# In the standard library of one Python that an image may have, and not of another.
_STANDARD = (
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils"),
    *("imghdr", "imp", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd"),
    *("sndhdr", "spwd", "sunau", "telnetlib", "tomllib", "uu", "xdrlib", "lib2to3", "binhex"),
    *("_pyrepl", "__main__", "__future__"),
)

_GONE = ("tensorflow.contrib", "tensorflow.examples")
"""What was in TensorFlow 1 alone."""


def not_in_image(code: Code, imports: Iterable[SureImport]) -> Iterator[tuple[str, CodePlace]]:
    """Modules that the program surely imports and no image has: each with the import's place."""
    known = {*image_imports(), *_STANDARD, *sys.stdlib_module_names}
    found = 0
    for one in imports:
        sources = named_modules(one.module, one.node)
        for name in (*sources, *(f"{source}.{inner}" for source in sources for inner in one.names)):
            top = name.partition(".")[0]
            lacking = next((gone for gone in _GONE if f"{name}.".startswith(f"{gone}.")), top)
            if lacking not in known and code.module(name) is None and code.module(top) is None:
                known.add(lacking)
                found += 1
                if found > _MOST:
                    return
                yield lacking, one.module.place(one.node)
