/** The contestants, in the order of the table. */
export const names = {
  ribbon: "ribbon",
  read: "ribbon, by the reader",
  bloom: "bloom",
  cuckoo: "cuckoo",
  scalable: "scalable",
  counting: "counting",
  plain: "40 lines of JavaScript",
  set: "Set",
};
