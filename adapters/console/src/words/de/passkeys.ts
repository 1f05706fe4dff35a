// Texts of the section Passkeys and of signing in with one, in German.
import type { passkeyWords as English } from "../passkeys";

export const passkeyWords: typeof English = {
  passkeys: "Passkeys",
  signIn: "Mit Passkey anmelden",
  add: "Passkey hinzufügen",
  none: "Mit einem Passkey genügt statt eines persönlichen Schlüssels die Bildschirmsperre dieses Geräts oder ein Sicherheitsschlüssel.",
  wantName: "Passkeys funktionieren nicht mit einer IP-Adresse. Stattdessen diese Adresse verwenden:",
  name: "Name",
  nameIt: "Den Passkey benennen",
  nameHint: "Zum Beispiel Laptop oder blauer Sicherheitsschlüssel",
  nameWanted: "Bitte einen Namen eingeben.",
  made: "Angelegt",
  remove: "Entfernen",
  removeOne: (name: string) => `${name} entfernen`,
  removeAsk: (name: string) => `${name} entfernen?`,
  removeText: "Damit ist keine Anmeldung mehr möglich. Sitzungen, die damit begonnen wurden, laufen weiter.",
  removed: (name: string) => `${name} entfernt`,
  notMade: "Der Browser hat keinen Passkey erstellt. Der Vorgang wurde abgebrochen, oder auf diesem Gerät gibt es schon einen.",
  notUsed: "Der Browser hat keinen Passkey geliefert. Bitte erneut versuchen oder einen anderen Weg zur Anmeldung wählen.",
  notKnown: "Dieser Passkey ist auf diesem Server nicht registriert.",
};
