// The texts of the checks of the page Health, in the language of the pages.
import { english, markEnglish } from "../../ui/parts";
import type { Child } from "../../ui/dom";
import { fullTime, timesInText } from "../../ui/time";
import { list, number } from "../../words";
import { healthWords } from "../../words/health";

interface Message {
  code: string;
  values: Record<string, unknown>;
}

/** A check as the API returns it. Its texts are in English; messages and advice_code name them for other languages. */
export interface Check {
  name: string;
  state: string;
  detail: string;
  messages?: Message[];
  since: string;
  advice: string;
  advice_code?: string;
}

const texts: Record<string, string | undefined> = healthWords.messages;
const names: Record<string, string | undefined> = healthWords.names;

const binary: [string, number][] = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
const rounded = (n: number) => number(Math.round(n * 10) / 10);

/** Formats a number of bytes, such as "1.5 MiB". */
function bytes(n: number): string {
  const [unit, size] = binary.find(([, size]) => n >= size) ?? binary.at(-1)!;
  return `${rounded(n / size)} ${unit}`;
}

/** Formats a number of seconds, such as "1 h 30 min". */
function duration(seconds: number): string {
  const s = Math.abs(seconds);
  const parts = ([[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "min"], [s % 60, "s"]] as const).filter(([n]) => n > 0).map(([n, unit]) => `${number(n)} ${unit}`);
  return (seconds < 0 ? "−" : "") + (parts.join(" ") || "0 s");
}

/** Formats a value by its kind, which the name of its placeholder says. */
function valueText(name: string, v: unknown): string {
  if (typeof v === "number") return name.endsWith("_bytes") ? bytes(v) : name.endsWith("_seconds") ? duration(v) : rounded(v);
  if (Array.isArray(v)) return list(v.map(String));
  return typeof v === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(v) ? fullTime(v) : String(v);
}

/** Returns what a check has found. The server's text, in English, stands for texts that the catalogue does not have. */
export function detailText(c: Check): Child {
  const messages = c.messages ?? [];
  if (messages.length === 0 || messages.some((m) => texts[m.code] === undefined)) return english(timesInText(c.detail));
  const text = messages.map((m) => texts[m.code]!.replace(/\{(\w+)\}/g, (whole, name: string) => (name in m.values ? valueText(name, m.values[name]) : whole))).join("; ");
  return markEnglish(text, messages.flatMap((m) => (typeof m.values.error === "string" ? [m.values.error] : []))); // errors are in English
}

export const adviceText = (c: Check): Child => texts[c.advice_code ?? ""] ?? english(c.advice);

export const nameText = (c: Check): Child => names[c.name] ?? english(c.name);
