"""Makes and asks files of bloom_filter2. Jobs come on standard input, a line each, as systems.mjs says.

The scheme is "text", "json", "bytes" or "hex", the count and the rate again, as the file doesn't have them, and a
backend: seek, mmap or array.
"""

import json
import sys

from bloom_filter2 import BloomFilter

FORMS = {"text": bytes.decode, "json": json.loads, "bytes": bytes, "hex": lambda line: bytes.fromhex(line.decode())}
BACKENDS = {"seek": lambda name: name, "mmap": lambda name: (name, -1), "array": lambda name: (name, 100)}


def keys(file, form):
    with open(file, "rb") as text:
        lines = text.read().removesuffix(b"\n").split(b"\n")
    return (FORMS[form](line) for line in lines)


for job in sys.stdin:
    what, scheme, filter, list, *rest = job.rstrip("\n").split("\t")
    form, count, fpr, backend = scheme.split()
    with BloomFilter(int(count), float(fpr), filename=BACKENDS[backend](filter), start_fresh=what == "make") as its:
        if what == "make":
            for key in keys(list, form):
                its.add(key)
        else:
            with open(rest[0], "w") as file:
                file.writelines("1\n" if key in its else "0\n" for key in keys(list, form))
