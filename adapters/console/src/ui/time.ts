// Times. They are shown relative to now up to a week, then as a date, with the full time as the title.
import { h, signal } from "./dom";
import { dateLanguage, language } from "../language";
import { homeProject, project, session } from "../session";

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "narrow" });
type Format = Intl.DateTimeFormatOptions;
const day: Format = { day: "numeric", month: "short", year: "numeric" };
const full: Format = { dateStyle: "medium", timeStyle: "long" };

/** The time zone of the times that are shown. It is that of the project by default. */
export type Times = "project" | "own" | "utc";
const storageKey = "bunting.times";
export const times = signal<Times>((["own", "utc"] as const).find((t) => t === localStorage.getItem(storageKey)) ?? "project");

export function setTimes(t: Times): void {
  localStorage.setItem(storageKey, t);
  times.set(t);
}

const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the time zone of the current project, or on pages of the organization that of the project that was used last. */
export function projectZone(): string {
  const at = project() || homeProject();
  return session()?.projects.find((p) => p.id === at)?.timezone || "UTC";
}

/** Returns the time zone of the times that are shown. */
function displayZone(): string {
  if (times() === "own") return own;
  return times() === "project" ? projectZone() : "UTC";
}

/** Formats a day such as 2026-12-01. */
export const formatDay = (d: string): string => formatTime(`${d}T00:00:00Z`, day, "UTC");

const formats = new Map<string, Intl.DateTimeFormat>();

/** Formats a time in the zone of the times that are shown, or in another zone. */
export function formatTime(at: string | number, how: Format, where = displayZone()): string {
  const key = where + JSON.stringify(how);
  let f = formats.get(key);
  if (!f) formats.set(key, (f = new Intl.DateTimeFormat(dateLanguage, { ...how, timeZone: where })));
  return f.format(new Date(at));
}

/** Formats a time such as "2 h ago" or "3 Jan 2026". */
export function relativeTime(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  if (Math.abs(seconds) > 7 * 86_400) return formatTime(iso, day);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(0, "second");
}

export function time(iso: string | null | undefined): HTMLElement | null {
  return iso ? setTime(h("time"), iso) : null;
}

/** Makes an element of time show a time. */
export function setTime(el: HTMLTimeElement, iso: string): HTMLTimeElement {
  el.dateTime = iso;
  el.title = timeTitle(iso);
  el.textContent = relativeTime(iso);
  return el;
}

/** Returns the full time, and the time in the browser's zone if it differs. */
function timeTitle(iso: string): string {
  const shown = formatTime(iso, full);
  const mine = displayZone() === own ? shown : formatTime(iso, full, own);
  return shown === mine ? shown : `${shown} (${mine})`;
}

export function fullTime(iso: string): string {
  return formatTime(iso, full);
}

/** Returns a text of the server with its times, such as "2026-01-02 09:30:00 UTC", in the zone of the times that are shown. */
export function timesInText(text: string): string {
  return text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g, (_, day: string, clock: string) => fullTime(`${day}T${clock}Z`));
}

/** Formats the time of day, such as "09:30". */
export function clockTime(iso: string): string {
  return formatTime(iso, { hour: "2-digit", minute: "2-digit" });
}
