// Parsing of times that people type, in the project's time zone.

/** Returns the offset of a zone from UTC at an instant, in milliseconds. */
function zoneOffset(instant: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" }).formatToParts(instant);
  const n = (type: string) => Number(parts.find((p) => p.type === type)?.value);
  return Date.UTC(n("year"), n("month") - 1, n("day"), n("hour"), n("minute"), n("second")) - Math.floor(instant / 1000) * 1000;
}

/** Parses a time such as "2026-12-01 09:00" in a zone. It returns undefined if the text is not valid. */
export function parseLocalTime(text: string, zone: string): string | undefined {
  const m = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d))?$/.exec(text.trim());
  if (!m) return undefined;
  const [year, month, day, hour, minute] = m.slice(1).map((x) => Number(x ?? 0)) as [number, number, number, number, number];
  const clock = Date.UTC(year, month - 1, day, hour, minute);
  if (new Date(clock).getUTCDate() !== day || hour > 23 || minute > 59) return undefined;
  let at = clock - zoneOffset(clock, zone);
  at = clock - zoneOffset(at, zone); // near a daylight saving change the first guess may be wrong
  return new Date(at).toISOString();
}
