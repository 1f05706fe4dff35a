// Texts of the page Account, in German.
import type { accountWords as English } from "../account";

export const accountWords: typeof English = {
  profile: "Profil",
  firstName: "Vorname",
  email: "E-Mail",
  confirm: (email: string) => `Um ${email} zu bestätigen, den Link öffnen, der dorthin gesendet wurde`,
  timesIn: "Zeiten in",
  times: { project: "Zeitzone des Projekts", own: "Eigene Zeitzone", utc: "UTC" },
  language: "Sprache",
  languages: { "": "Wie im Browser", en: "English", de: "Deutsch" },
  comfortable: "Höhere Zeilen",
  chosen: "Ausgewählte Berechtigungen",
  scopes: "Berechtigungen",
  none: "Keine",
  read: "Lesen",
  write: "Lesen und schreiben",
  scopesWanted: "Bitte mindestens eine Berechtigung auswählen.",
};
