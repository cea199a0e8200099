/** rspack's command line has no option for the output's name. */
export default { entry: "./main.mjs", output: { filename: "main.mjs" } };
