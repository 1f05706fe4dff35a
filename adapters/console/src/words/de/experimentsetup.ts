// Texts of the setup of an experiment, in German.
import type { setupWords as English } from "../experimentsetup";
import { count, percent } from "../../format";

const people = (n: number) => count(n, "Person", "Personen");
const inDays = (n: number) => count(n, "Tag", "Tagen");

export const setupWords: typeof English = {
  plan: "Plan",
  effect: "Kleinster nachweisbarer Effekt in Prozent",
  effectHint: "Die kleinste Änderung der ersten primären Metrik, auf die es ankommt",
  effectWrong: "Bitte eine Zahl größer als 0 eingeben.",
  baseline: "Wert heute",
  baselineShare: "Wert heute in Prozent",
  baselineHint: "Der Wert der ersten primären Metrik ohne das Experiment",
  variance: "Varianz heute",
  perDay: "Personen pro Tag",
  needs: "Mit dem Wert heute steht hier, wie viele Personen nötig sind.",
  noMetric: "Für die Art der ersten primären Metrik gibt es keinen Plan.",
  size: (n: number) => `Erfordert ${people(n)} in allen Varianten.`,
  sizeAndDays: (n: number, days: number) => `Erfordert ${people(n)} in allen Varianten: ${count(days, "Tag", "Tage")}.`,
  stored: (n: number, days: number | null) => (days === null ? `Geplant für ${people(n)}.` : `Geplant für ${people(n)} in ${inDays(days)}.`),
  noSize: "Mit diesen Werten ist kein Plan möglich.",

  statistics: "Statistik",
  method: "Methode",
  methods: { bayesian: "Bayesianisch", frequentist: "Frequentistisch" },
  methodDefault: "Standard des Projekts",
  level: "Konfidenzniveau",
  levels: { "0.9": "90 %", "0.95": "95 %", "0.99": "99 %" },
  levelDefault: "Standard des Projekts",
  difference: "Unterschied",
  differences: { RELATIVE: "Relativ zu control", ABSOLUTE: "Absolut" },
  several: "Korrektur für mehrere Tests",
  corrections: { none: "Keine", holm: "Holm", benjamini_hochberg: "Benjamini-Hochberg" },
  sequential: "Sequenzielles Testen: Ergebnisse dürfen jederzeit gelesen werden",
  cuped: "Varianz mit Ereignissen aus der Zeit vor der Exposure verringern (CUPED)",
  matured: "Personen erst nach dem Konversionsfenster der Metrik zählen",

  exposure: "Exposure",
  exposed: "Personen zählen ab",
  exposedBy: { flag: "Der ersten Auswertung des Flags", event: "Einem eigenen Ereignis" },
  exposureEvent: "Exposure-Ereignis",
  exposureEventHint: (flag: string) => `Das Ereignis braucht die Eigenschaft $feature/${flag} mit der Variante.`,
  exposureEventWanted: "Bitte das Exposure-Ereignis auswählen.",
  severalVariants: "Personen mit mehreren Varianten",
  handlings: { exclude: "Auslassen", first_seen: "Für die erste Variante zählen" },
  testAccounts: "Testkonten auslassen",

  defaultsText: "Ein Experiment verwendet diese Einstellungen, wenn es keine eigenen hat.",
  organizationDefault: "Standard der Organisation",
  noDefault: "Kein Standard",
  saveDefaults: "Standards speichern",

  holdout: "Holdout",
  noHoldout: "Keins",
  holdoutShare: (name: string, share: number) => `${name}: ${percent(share)} zurückgehalten`,
  holdoutFixed: "Das Holdout kann nach dem Start nicht mehr geändert werden.",
};
