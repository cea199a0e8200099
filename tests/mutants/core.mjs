/** See scripts/mutants.mjs. */
export default {
  suite: "core",
  mutants: [
    {
      file: "src/digests.rs",
      from: "found.retain(|_| is_live.next() == Some(0));",
      to: "found.retain(|_| is_live.next() != Some(0));",
      test: "layers::",
    },
  ],
};
