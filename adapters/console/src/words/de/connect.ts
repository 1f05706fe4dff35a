// Texts of the page Connect a program, in German.
import type { connectWords as English } from "../connect";

export const connectWords: typeof English = {
  text: "Ein Programm, das sich anmeldet, zeigt einen Code an. Den Zugriff nur erlauben, wenn das Programm selbst gestartet wurde und diesen Code anzeigt.",
  code: "Code",
  codeHint: "Zum Beispiel BCDF-GHJK",
  next: "Weiter",
  codeWanted: "Bitte den Code eingeben, den das Programm anzeigt.",
  request: "Angefragter Zugriff",
  asks: (client: string) => `${client || "Ein Programm ohne Namen"} bittet um einen Schlüssel mit den eigenen Rechten für Folgendes:`,
  read: (what: string) => `Lesen: ${what}`,
  write: (what: string) => `Lesen und ändern: ${what}`,
  all: "Alle eigenen Rechte",
  project: "Projekt",
  allow: "Erlauben",
  refuse: "Ablehnen",
  other: "Anderen Code eingeben",
  allowed: "Das Programm hat jetzt Zugriff. Diese Seite kann geschlossen werden.",
  allowedText: (label: string) => `Sein Schlüssel heißt „${label}“ und lässt sich unter Konto widerrufen.`,
  refused: "Der Zugriff wurde abgelehnt. Diese Seite kann geschlossen werden.",
};
