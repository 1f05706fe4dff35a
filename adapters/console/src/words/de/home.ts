// Texts of the live numbers and the list Needs you on Home, in German.
import type { homeWords as English } from "../home";
import { count } from "../../format";

export const homeWords: typeof English = {
  live: "Live",
  callsByMinute: "Flag-Aufrufe nach Minuten",
  calls: "Aufrufe",
  exposures: "Exposures von Experimenten",
  minute: "Minute",
  exportFails: (name: string) => `Der Export ${name} schlägt fehl`,
  dropped: (n: number, more: boolean) => (more ? `Mehr als ${n} Warnungen zu eingehenden Ereignissen` : `${count(n, "Warnung", "Warnungen")} zu eingehenden Ereignissen`),
  allFlags: "Alle Flags, nach letzter Änderung",
  moreApprovals: "Weitere Änderungsanträge sind offen",
  moreExports: (n: number) => `Nur die ersten ${n} Exporte wurden auf Fehlschläge geprüft`,
  nearLimit: (resource: string) => `${resource}: Die Nutzung ist nahe an der Grenze dieses Monats`,
};
