// Texts of the page Health, in German.
import type { healthWords as English } from "../health";

export const healthWords: typeof English = {
  health: "Zustand",
  checks: "Prüfungen",
  check: "Prüfung",
  state: "Stand",
  since: "Seit",
  detail: "Einzelheiten",
  states: { ok: "OK", warn: "Warnung", bad: "Schlecht" },
  overall: { ok: "Alle Prüfungen sind bestanden.", warn: "Einige Prüfungen haben Warnungen.", bad: "Einige Prüfungen sind fehlgeschlagen." },
  build: (version: string) => `Version ${version}`,
  rates: "Die letzte Stunde nach Minuten",
  minute: "Minute",
  flags: "Anfragen nach Flags",
  events: "Ereignisse",
  errors: "Fehler",
  forAdministrators: "Erforderlich ist die Stufe Administrator, die ein Inhaber der Organisation vergeben kann.",
  ratesWait: "Daten erscheinen nach der ersten Minute.",
};
