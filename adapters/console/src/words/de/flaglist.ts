// Texts of the list of flags, in German.
import type { flagListWords as English } from "../flaglist";
import { count, number } from "../../format";

export const flagListWords: typeof English = {
  selectAll: "Alle auswählen",
  moreTags: (n: number) => `und ${count(n, "weiteres Tag", "weitere Tags")}`,
  andMore: (listed: string, n: number) => `${listed} … und ${number(n)} weitere`,

  // copying to another project
  project: "Projekt",
  copyText: "Seine Kohorten werden am Namen erkannt. Eine Kohorte, die das Projekt nicht hat, wird angelegt, bei Listen ohne die Personen.",
  copySchedule: "Geplante Änderungen mitkopieren",
  copyOff: "Die Kopie ausschalten",
  overwrites: (project: string) => `${project} hat schon ein Flag mit diesem Schlüssel. Die Kopie ersetzt dessen Regeln.`,
  noOtherProject: "Die Organisation hat kein anderes zugängliches Projekt.",
  copiedTo: (key: string, project: string) => `${key} nach ${project} kopiert`,
  show: "Anzeigen",
  file: (file: string) => `Datei ${file}`,
};
