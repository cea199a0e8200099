/** The section Measure. */
export {};
