/**
 * The tests of the first tier that have a longer form: files of a folder, words in the tests' names, and the variables
 * that make them long. EVERY=1 takes every case where the first tier takes some.
 */
export const LONGER = [
  {
    folder: "api",
    files: ["api", "engines", "hostile", "odd", "reader"],
    names: [
      ...["keys that are bytes", "failures leave nothing", "mutations", "table of references", "long URLs take"],
      ...["load refuses the same", "bytes of many megabytes", "odd values in every place"],
    ],
    variables: {
      ...{ CHUNK: 1, EVERY: 1, FAILURES: 100_000, KEYS: 300_000, LENGTH: 2_500_000, MUTATIONS: 30_000 },
      ROUNDS: 2000,
    },
  },
  {
    folder: "url",
    files: ["url"],
    names: ["hostile URLs", "a URL of megabytes"],
    variables: { EVERY: 1, LENGTH: 200_000 },
  },
  {
    folder: "feeds",
    files: ["interrupted", "memory"],
    names: ["at every step", "takes the memory"],
    variables: { EVERY: 1, KEYS: 2_000_000 },
  },
  {
    folder: "sharded",
    files: ["asking", "cache", "many", "updates"],
    names: [
      ...["all answers", "least recently used", "no generation has", "no more requests", "can't be fetched"],
      "the host publishes",
    ],
    variables: { ASKED: 300, KEYS: 20_000 },
  },
  {
    folder: "package",
    files: ["package"],
    names: ["slim starts", "tsc", "an uncaught error takes"],
    variables: { EVERY: 1 },
  },
];
