// Texts of the live numbers and the list Needs you on Home.
import { count } from "../words";

export const homeWords = {
  live: "Live",
  callsByMinute: "Flag calls by minute",
  calls: "Calls",
  exposures: "Exposures to experiments",
  minute: "Minute",
  exportFails: (name: string) => `The export ${name} is failing`,
  dropped: (n: number, more: boolean) => (more ? `More than ${n} warnings about incoming events` : `${count(n, "warning")} about incoming events`),
  allFlags: "All flags, by last change",
  moreApprovals: "More change requests are open",
  moreExports: (n: number) => `Only the first ${n} exports were checked for failures`,
  nearLimit: (resource: string) => `${resource}: usage is close to this month's limit`,
};
