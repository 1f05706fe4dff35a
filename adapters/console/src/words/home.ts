// Words of parts of Home.
import { count } from "../words";

export const homeWords = {
  live: "Live",
  callsByMinute: "Calls of flags, by minute",
  calls: "Calls",
  exposures: "Exposures to experiments",
  minute: "Minute",
  exportFails: (name: string) => `The export ${name} fails`,
  dropped: (n: number, more: boolean) => (more ? `More than ${n} warnings about events that came in` : `${count(n, "warning")} about events that came in`),
  nearLimit: (resource: string) => `${resource}: the limit of this month is near`,
};
