"""Builds a sharded filter of a column of strings or bytes, for a table of any size.

    spark-submit sharded.py TABLE COLUMN PARTS FOLDER --state STATE --shards 8192 --fpr 0.001 --sign feed.key

PARTS must be a folder that the driver and all executors see under the same name. All of them need `bloom-wasm` on their PATH,
and the Python packages mmh3 and xxhash. The tool never sees the keys, only their digests, 8 bytes each.
"""

import argparse
import os
import subprocess
from array import array
from itertools import groupby
from operator import attrgetter

import mmh3
import xxhash
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def run(*command: str, digests: bytes = b"") -> str:
    """Runs the tool and returns its output. If it fails, this raises its message."""
    done = subprocess.run(["bloom-wasm", *command], input=digests, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"bloom-wasm {' '.join(command)}: {done.stderr.decode().strip()}")
    return done.stdout.decode()


def digest(key: bytes) -> int:
    """The digest of a key under seed 0: MurmurHash3_x86_32 above XXH32, as a signed number like Spark's long."""
    key = bytes(key)  # Spark before 4.1 gives a bytearray
    return mmh3.hash(key, signed=True) << 32 | xxhash.xxh32_intdigest(key)


def digests_of(table: DataFrame, column: str, sha1: bool = False) -> DataFrame:
    """The digests of a column, as numbers. With `sha1`, the column holds SHA-1 hashes in hexadecimal digits."""
    key = F.col(column)
    if sha1:
        key = F.unhex(F.regexp_extract(key, "^([0-9A-Fa-f]{40})(?::\\d+)?$", 1))
        key = F.when(F.length(key) == 20, key)
    name = table.select(key).schema[0].dataType.simpleString()
    if name not in ("string", "binary"):
        raise TypeError(f"{column} must be a column of strings or bytes, not {name}: cast it to a string")
    wrong = f"{column} has a null" + (", or what isn't a SHA-1 hash" if sha1 else "")
    key = F.coalesce(key.cast("binary"), F.raise_error(F.lit(wrong)))
    # With Arrow, Spark would need pandas and pyarrow, too.
    return table.select(F.udf(digest, "long", useArrow=False)(key).alias("digest"))


def build_shards(digests: DataFrame, parts: str, shards: int, options: list[str]) -> None:
    """Builds the shards, each in one task. A task that failed is run again, and writes the same file."""
    bits = shards.bit_length() - 1
    first_bits = F.shiftrightunsigned(F.shiftrightunsigned("digest", 1), 63 - bits).cast("int")
    placed = digests.select(first_bits.alias("shard"), "digest")
    # A shard without keys needs a file, too.
    empty = digests.sparkSession.range(shards).select(F.col("id").cast("int").alias("shard"), F.lit(None).alias("digest"))
    common = ["--shards", str(shards), *options, "-o", parts]

    def build(rows):
        for shard, its in groupby(rows, attrgetter("shard")):
            found = array("q", (row.digest for row in its if row.digest is not None))
            run("feed", "build-shard", "--index", str(shard), *common, digests=found.tobytes())

    placed.union(empty).repartition("shard").sortWithinPartitions("shard").foreachPartition(build)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("column")
    parser.add_argument("parts", help="a folder that all machines see")
    parser.add_argument("folder", help="the folder of the feed")
    parser.add_argument("--state", required=True, help="what the publisher remembers")
    parser.add_argument("--format", default="parquet", help="what the table is stored as, such as text")
    parser.add_argument("--shards", type=int, required=True, help="how many, a power of two up to 65536")
    parser.add_argument("--fpr", help="the false-positive rate per key")
    parser.add_argument("--sha1", action="store_true", help="the column has SHA-1 hashes of passwords")
    parser.add_argument("--sign", help="the secret key of `bloom-wasm feed keygen`")
    args = parser.parse_args()

    options = ["--profile", "password", "--sha1"] if args.sha1 else ["--profile", "raw"]
    options += ["--fpr", args.fpr] if args.fpr else []
    spark = SparkSession.builder.appName("sharded filter").getOrCreate()
    table = spark.read.format(args.format).load(args.table)
    parts = os.path.abspath(args.parts)  # executors work elsewhere
    build_shards(digests_of(table, args.column, args.sha1), parts, args.shards, options)
    options += ["--sign", args.sign] if args.sign else []
    publish = ["feed", "publish", args.folder, parts, "--state", args.state, "--shards", str(args.shards)]
    print(run(*publish, *options), end="")
    spark.stop()


if __name__ == "__main__":
    main()
