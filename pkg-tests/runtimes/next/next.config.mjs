/** The packages are found from where they really are, outside this folder. */
export default { turbopack: { root: "/" } };
