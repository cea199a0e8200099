"""Builds a sharded filter of a column of strings or bytes, for a table of any size.

    spark-submit sharded.py TABLE COLUMN [feed.toml]

The feed.toml describes the feed, with `shards` and `parts`: a folder that the driver and all executors see under the
same name. All of them need `bloom-wasm` on their PATH, and the Python packages mmh3 and xxhash. The tool never sees the
keys, only their digests, 8 bytes each.
"""

import argparse
import os
import subprocess
import tomllib
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
    parser.add_argument("feed", nargs="?", default="feed.toml", help="the file that describes the feed")
    parser.add_argument("--format", default="parquet", help="what the table is stored as, such as text")
    args = parser.parse_args()

    with open(args.feed, "rb") as file:
        feed = tomllib.load(file)
    sha1 = feed.get("sha1", False)
    if feed["profile"] != ("password" if sha1 else "raw") or "secret" in feed or feed.get("seed", 0) != 0:
        parser.error(f"{args.feed}: it must have the profile raw, or password with sha1, and no seed or secret")
    options = ["--profile", feed["profile"]]
    options += ["--sha1"] if sha1 else []
    options += ["--fpr", str(feed["fpr"])] if "fpr" in feed else []
    spark = SparkSession.builder.appName("sharded filter").getOrCreate()
    table = spark.read.format(args.format).load(args.table)
    # Executors work elsewhere.
    parts = os.path.abspath(os.path.join(os.path.dirname(args.feed), feed["parts"]))
    build_shards(digests_of(table, args.column, sha1), parts, feed["shards"], options)
    print(run("feed", "publish", args.feed), end="")
    spark.stop()


if __name__ == "__main__":
    main()
