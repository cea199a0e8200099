/** The section Feeds. */
export {};
