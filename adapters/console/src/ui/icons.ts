// Icons of 16 × 16 pixels, with strokes of 1.5 pixels in the colour of the text.
import { s } from "./dom";

const paths = {
  home: "M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5",
  flag: "M3.5 14V2.5h9l-2 3 2 3h-9",
  why: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.5M8 12.2v.1M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8",
  flask: "M6.5 2h3M7 2v4L3.5 12.5A1 1 0 0 0 4.4 14h7.2a1 1 0 0 0 .9-1.5L9 6V2M5 10h6",
  cohort: "M6 8.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M10 14.5A3.5 3.5 0 1 0 10 7.5a3.5 3.5 0 0 0 0 7",
  people: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M1.8 13c.3-2.3 2-3.6 4.2-3.6s3.9 1.3 4.2 3.6M10.5 3.1a2.2 2.2 0 0 1 0 4.2M12 9.8c1.3.5 2 1.6 2.2 3.2",
  group: "M2.5 13.5v-8l5.5-3 5.5 3v8M6 13.5v-4h4v4M1.5 13.5h13",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1",
  live: "M1.5 8h3l2-4.5 3 9 2-4.5h3",
  chart: "M2.5 2.5v11h11M5.5 10.5v-3M8.5 10.5v-6M11.5 10.5v-4.5",
  board: "M2.5 2.5h4.5v6h-4.5zM9 2.5h4.5v3.5h-4.5zM9 8h4.5v5.5h-4.5zM2.5 10.5h4.5v3h-4.5z",
  error: "M8 5v3.5M8 11v.1M7.1 2.3 1.6 12a1 1 0 0 0 .9 1.5h11a1 1 0 0 0 .9-1.5L8.9 2.3a1 1 0 0 0-1.8 0",
  survey: "M3.5 2.5h9v11h-9zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  early: "M8 1.8v3M8 11.2v3M1.8 8h3M11.2 8h3M3.6 3.6l2.1 2.1M10.3 10.3l2.1 2.1M3.6 12.4l2.1-2.1M10.3 5.7l2.1-2.1",
  export: "M8 10.5v-8M5 5l3-3 3 3M3 10v3.5h10v-3.5",
  approve: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M5.3 8.2l1.9 1.9 3.6-4",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.8v3.4l2.2 1.4",
  bell: "M4 11.5v-4.3a4 4 0 0 1 8 0v4.3M2.5 11.5h11M6.8 13.8h2.4",
  gear: "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3",
  globe: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M2 8h12M8 1.8c2 2 2.5 4 2.5 6.2S10 12.2 8 14.2M8 1.8C6 3.8 5.5 5.8 5.5 8S6 12.2 8 14.2",
  meter: "M2 11.5a6 6 0 1 1 12 0M8 11.5l2.5-4",
  heart: "M1.5 8h3l1.5-2.5 2.5 5 1.5-2.5h4.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3l3.4 3.4",
  down: "M4.5 6.5 8 10l3.5-3.5",
  right: "M6.5 4.5 10 8l-3.5 3.5",
  up: "M4.5 9.5 8 6l3.5 3.5",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  user: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8M2.8 13.8c.4-2.5 2.5-4 5.2-4s4.8 1.5 5.2 4",
  check: "M3 8.5 6.5 12 13 4.5",
} as const;

export type Icon = keyof typeof paths;

export function icon(name: Icon): SVGElement {
  return s("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, s("path", { d: paths[name] }));
}

/** Returns the icon of a status. Its shape and the text carry the meaning; the colour repeats it. */
export function statusIcon(state: string): SVGElement {
  const parts: Record<string, SVGElement[]> = {
    on: [s("circle", { cx: "8", cy: "8", r: "5", class: "full" })],
    off: [s("circle", { cx: "8", cy: "8", r: "4.5" })],
    stale: [s("circle", { cx: "8", cy: "8", r: "4.5" }), s("path", { d: "M8 8V3.5A4.5 4.5 0 0 1 12.5 8z", class: "full" })],
    archived: [s("rect", { x: "3.5", y: "3.5", width: "9", height: "9" }), s("rect", { x: "6", y: "6", width: "4", height: "4", class: "full" })],
  };
  return s("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, ...(parts[state] ?? parts.off!));
}
