/** The results of a race: tables, claims, and both in Markdown. */

/** The median, the least and the most of a ratio over all rounds. */
export function spread(times, ratio) {
  const rounds = Object.values(times)[0].length;
  const values = Array.from({ length: rounds }, (_, round) =>
    ratio(Object.fromEntries(Object.entries(times).map(([name, list]) => [name, list[round]]))),
  );
  values.sort((a, b) => a - b);
  const median = (values[(rounds - 1) >> 1] + values[rounds >> 1]) / 2;
  return { median, least: values[0], most: values[rounds - 1] };
}

/**
 * A row for each contestant: the median of its times in nanoseconds or milliseconds, how many times as fast as `rival`
 * it is, and what `more` adds.
 */
export function table(title, times, { rival, milliseconds = false, more = () => ({}) } = {}) {
  const rows = Object.keys(times).map((name) => {
    const { median } = spread(times, (time) => time[name]);
    const ratio = rival && spread(times, (time) => time[rival] / time[name]);
    return { name, ...(milliseconds ? { milliseconds: median / 1e6 } : { nanoseconds: median }), ratio, ...more(name) };
  });
  return { title, rival, rows };
}

/** The claim that a number is at least `atLeast` or at most `atMost` in each round. Without a unit it is a ratio. */
export function claim(what, { atLeast, atMost, unit }, times, number) {
  return { what, atLeast, atMost, unit, ...spread(times, number) };
}

const show = (value, unit) => (unit === undefined ? `${value.toFixed(2)}x` : `${Number(value.toPrecision(3))} ${unit}`);
const range = ({ median, least, most, unit }) => `${show(median, unit)} (${show(least, unit)} to ${show(most, unit)})`;

export function rows(head, body) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...body.map(line), ""].join("\n");
}

/** The columns that a table may have besides names: their heads, and how to show a value. */
const COLUMNS = [
  ["nanoseconds", "ns a key", (value) => value.toFixed(1)],
  ["ratio", "as fast as", range],
  ["share", "keys a round", (value) => `1/${Math.round(1 / value)}`],
  ["fpr", "measured fpr", (value) => value.toPrecision(3)],
  ["overTarget", "of the target", (value) => show(value)],
  ["bitsPerKey", "bits a key", (value) => value.toFixed(1)],
  ["milliseconds", "ms", (value) => value.toFixed(3)],
];

/** A measured rate, with two digits more than the rate that was asked for. */
export const shownRate = (rate, asked) => (rate === 0 ? "0" : rate.toFixed(2 - Math.floor(Math.log10(asked))));

export const markdown = {
  table({ title, rival, rows: all }) {
    const columns = COLUMNS.filter(([name]) => all.some((row) => row[name] !== undefined));
    const head = ["", ...columns.map(([name, head]) => (name === "ratio" ? `${head} ${rival}` : head))];
    const cell = (row, [name, , show]) => (row[name] === undefined ? "" : show(row[name]));
    return `**${title}**\n\n${rows(
      head,
      all.map((row) => [row.name, ...columns.map((column) => cell(row, column))]),
    )}`;
  },

  claims({ machine, count, rounds, claims }) {
    const body = claims.map((claim) => {
      const { what, atLeast, atMost, median, unit } = claim;
      const target = atLeast === undefined ? `at most ${show(atMost, unit)}` : `at least ${show(atLeast, unit)}`;
      return [
        what,
        range(claim),
        target,
        (atLeast === undefined ? median <= atMost : median >= atLeast) ? "yes" : "no",
      ];
    });
    return `**What was asked for**: ${machine}, ${count} keys, ${rounds} rounds; medians of same-round ratios\n\n${rows(["", "median (least to most)", "target", "reached"], body)}`;
  },

  /** The tables of docs/benchmarks.md: the peers at the rate that is usual for URLs, and those in Rust. */
  summary({ machine, count, rounds, tables }) {
    const fpr = 0.001;
    const [has, add, read] = [`has(string), fpr ${fpr}`, `making a filter`, "from what was written"].map((title) =>
      tables.find((table) => table.title.startsWith(title) && table.title.endsWith(`fpr ${fpr}`)),
    );
    const find = ({ rows }, name) => rows.find((row) => row.name === name);
    const ratio = (row) => (row?.ratio ? show(row.ratio.median) : "");
    const native = (title, name) => {
      const table = tables.find((table) => table.title === `Rust, ${title}`);
      return ratio(find(table, name));
    };
    const body = has.rows.map((row) => {
      const { name } = row;
      const load = find(read, name);
      return [name, ratio(row), ratio(find(add, name)), load ? `${load.milliseconds.toFixed(1)} ms` : "can't load"];
    });
    const head = ["", "speed of `has`", "speed of building", "loading"];
    return [
      `${count.toLocaleString("en")} URLs of 59 characters, as strings, at a rate of ${fpr}. Speeds are multiples of ${has.rival}'s: 2x is`,
      `twice as fast. They are medians of ${rounds} interleaved rounds, and half of the queries are listed. Measured on`,
      `${machine}.`,
      "",
      rows(head, body),
      "The speed of the crate, in multiples of two that are made for speed: fastbloom at the same rate, and BinaryFuse8 of",
      "xorf, which knows no rate but 1/256 and is asked for digests.",
      "",
      rows(
        ["", "next to", "one by one", "in a batch", "building"],
        [
          [
            "BloomFilter",
            "fastbloom",
            native(`has ${fpr}`, "BloomFilter"),
            native(`has ${fpr}`, "BloomFilter.has_many"),
            native(`add ${fpr}`, "BloomFilter"),
          ],
          [
            "RibbonFilter",
            "BinaryFuse8",
            native("has digests", "RibbonFilter"),
            native("has digests", "RibbonFilter.has_many_digests"),
            native("build of digests", "RibbonFilter"),
          ],
        ],
      ),
    ].join("\n");
  },
};

/** A page with this text where it names the command that writes it. */
export function between(page, command, text) {
  const [begin, end] = [`<!-- ${command} -->\n`, "<!-- -->"];
  if (!page.includes(begin)) throw new Error(`no page has a place for ${command}`);
  const from = page.indexOf(begin) + begin.length;
  return `${page.slice(0, from)}${text}${page.slice(page.indexOf(end, from))}`;
}

/** docs/benchmarks.md with the summary of `docs/bench.json` in its place. */
export const withSummary = (page, result) => between(page, "npm run bench -- --docs", markdown.summary(result));
