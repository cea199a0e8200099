/** The section Size. */
export {};
