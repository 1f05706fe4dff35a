// Texts of the tabs of a person, and of the filters of people, in German.
import type { personWords as English } from "../personflags";
import { count, number } from "../../format";

const events = (n: number) => count(n, "Ereignis", "Ereignisse");

export const personWords: typeof English = {
  noCohorts: "In keiner Kohorte",
  noCohortsText: "Kohorten nach Regel werden mit den Eigenschaften ausgewertet, die jetzt für die Person gespeichert sind.",
  name: "Name",
  kind: "Art",
  byList: "Nach Liste",
  byRule: "Nach Regel",
  add: "Eigenschaft hinzufügen",
  edit: (name: string) => `${name} bearbeiten`,
  remove: (name: string) => `${name} entfernen`,
  editButton: "Bearbeiten",
  removeButton: "Entfernen",
  removeAsk: (name: string) => `${name} entfernen?`,
  removeText: "Ab jetzt werden Flags und Kohorten, die sie verwenden, ohne sie ausgewertet.",
  removed: (name: string) => `${name} entfernt`,
  noProperties: "Noch keine Eigenschaften",
  noPropertiesText: "Eigenschaften kommen aus Ereignissen oder lassen sich hier hinzufügen.",
  valueHint: "Text, oder JSON wie 5, true oder [1, 2]. Text, der wie JSON aussieht, gehört in Anführungszeichen.",
  nameWanted: "Bitte den Namen der Eigenschaft eingeben.",
  counting: "Ereignisse werden gezählt…",
  uncounted: "Die Ereignisse konnten nicht gezählt werden.",
  eventsErased: (n: number, exact: boolean) => (exact ? (n === 1 ? `${events(n)} wird gelöscht.` : `${events(n)} werden gelöscht.`) : `Mehr als ${number(n)} Ereignisse werden gelöscht.`),
  eventsKept: (n: number, exact: boolean) => (exact ? (n === 1 ? `${events(n)} bleibt erhalten.` : `${events(n)} bleiben erhalten.`) : `Mehr als ${number(n)} Ereignisse bleiben erhalten.`),
  filters: "Filter",
  lookedThrough: "Bisher keine Treffer. „Mehr laden“ sucht weiter.",
  now: "Jetzt simuliert",
  last: "Zuletzt zugeteilt",
  undecided: "unentschieden",
  pinned: "(fixiert)",
  why: (key: string) => `Warum ${key}?`,
  differs: {
    pinned: "Die Werte unterscheiden sich: Ein Wert ist fixiert.",
    flag_changed: "Die Werte unterscheiden sich: Das Flag wurde geändert.",
    other_id: "Die Werte unterscheiden sich: Er wurde unter einer anderen ID zugeteilt.",
    person_changed: "Die Werte unterscheiden sich: Die Person hat sich geändert.",
    supplied: "Die Werte unterscheiden sich: Die Anfrage enthielt Eigenschaften.",
    unknown: "Die Werte unterscheiden sich.",
  },
};
