/** The section Build. */
export {};
