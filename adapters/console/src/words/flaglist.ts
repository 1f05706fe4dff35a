// Texts of the list of flags.
import { count, number } from "../words";

export const flagListWords = {
  selectAll: "Select all",
  moreTags: (n: number) => `and ${count(n, "more tag")}`,
  andMore: (listed: string, n: number) => `${listed} … and ${number(n)} more`,

  // copying to another project
  project: "Project",
  copyText: "Its cohorts are matched by name. A cohort that the project does not have is created, without the people of a list.",
  copySchedule: "Also copy scheduled changes",
  copyOff: "Switch the copy off",
  overwrites: (project: string) => `${project} already has a flag with this key. The copy replaces its rules.`,
  noOtherProject: "The organization has no other project that you can open.",
  copiedTo: (key: string, project: string) => `Copied ${key} to ${project}`,
  show: "Show",
  file: (file: string) => `File ${file}`,
};
