// The region What if: evaluates with other properties. Nothing is stored.
import { each, h, signal, when } from "../../ui/dom";
import { button, field, problem } from "../../ui/parts";
import { param, setParams } from "../../router";
import { words } from "../../words";
import { whyWords } from "../../words/why";
import { loadExplanation, question, sentence } from "./why";

interface Line {
  n: number;
  key: string;
  value: string;
}

/** Returns the properties in the URL, or null if they are missing or not an object. */
function propertiesParam(): Record<string, unknown> | null {
  try {
    const v: unknown = JSON.parse(param("what") || "null");
    return v && typeof v === "object" && !Array.isArray(v) ? (v as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Parses numbers, true, false and null. Everything else is text. */
function parseValue(text: string): unknown {
  return /^(-?\d+(\.\d+)?|true|false|null)$/.test(text.trim()) ? JSON.parse(text) : text;
}

export function whatIf(): HTMLElement {
  const start = Object.entries(propertiesParam() ?? {}).map(([key, v], n) => ({ n, key, value: typeof v === "string" ? v : JSON.stringify(v) }));
  const lines = signal<Line[]>(start.length ? start : [{ n: 0, key: "", value: "" }]);
  const a = loadExplanation(() => {
    const [q, what] = [question(), propertiesParam()];
    return q && what ? { flag: q.flag, q: { ...q.q, person_properties: what } } : null;
  });
  const set = (l: Line, member: "key" | "value") => h("input", { type: "text", autocomplete: "off", value: l[member], oninput: (e: Event) => (l[member] = (e.target as HTMLInputElement).value) });
  const run = () => {
    const given = lines.peek().filter((l) => l.key.trim());
    setParams({ what: given.length ? JSON.stringify(Object.fromEntries(given.map((l) => [l.key.trim(), parseValue(l.value)]))) : "" });
  };
  return h(
    "section",
    { class: "card", "aria-label": whyWords.whatIf, "aria-busy": a.busy },
    h("h2", null, whyWords.whatIf),
    h("p", { class: "meta gap" }, whyWords.whatIfText),
    each(lines, (l) => l.n, (l) => h("div", { class: "filters", role: "group", "aria-label": whyWords.nth(l.peek().n + 1) }, field(set(l.peek(), "key"), { label: words.property }), field(set(l.peek(), "value"), { label: words.value }))),
    h("div", { class: "actions" }, button(whyWords.addProperty, { run: () => lines.update((all) => [...all, { n: all.length, key: "", value: "" }]) }), button(whyWords.try, { kind: "primary", run })),
    () => (a.fault() ? problem(words.notDone, a.fault(), a.again) : null),
    when(a.data, () => h("p", { class: "gap-above", role: "status" }, h("strong", null, h("bdi", null, () => (a.data() ? whyWords.withThis(sentence(a.data()!, param("person"))) : ""))))),
  );
}
