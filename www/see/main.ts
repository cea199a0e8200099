/** The section See. */
export {};
