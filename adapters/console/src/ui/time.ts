// Times: relative up to a week, then the date; the full time with its zone is the title.
import { h } from "./dom";

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** "2 h ago", "3 Jan 2026". */
export function ago(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  if (Math.abs(seconds) > 7 * 86_400) return day.format(new Date(iso));
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(0, "second");
}

export function time(iso: string | null | undefined): HTMLElement | null {
  return iso ? h("time", { datetime: iso, title: full.format(new Date(iso)) }, ago(iso)) : null;
}

export function fullTime(iso: string): string {
  return full.format(new Date(iso));
}
