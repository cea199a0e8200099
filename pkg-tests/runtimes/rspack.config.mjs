/** On the command line rspack takes no name for what it makes. */
export default { entry: "./main.mjs", output: { filename: "main.mjs" } };
