/** What ribbon filters weigh, those in layers too. */

/** The bytes of a ribbon filter whose stages have these rows; FORMAT.md, section 6.5. */
export function ribbonBytes(rows: number[], fpr: number): number {
  let [columns, scaled] = [0, fpr];
  for (; scaled <= 0.5; scaled *= 2) columns++;
  // This share of the keys has one column more.
  const wide = 2 - 2 * scaled;
  let bytes = 0;
  for (const [i, stage] of rows.entries()) {
    const starts = Math.max(1, stage - 63);
    const wideStarts = Math.ceil(wide * starts);
    const wideBlocks = wideStarts === 0 ? 0 : Math.min(Math.ceil(wideStarts / 64) + 1, Math.ceil(stage / 64));
    const buckets = i + 1 === rows.length ? 0 : Math.ceil(Math.ceil(starts / 128) / 4);
    bytes += buckets + (stage * columns + Math.min(stage, 64 * wideBlocks)) / 8;
  }
  return bytes;
}
