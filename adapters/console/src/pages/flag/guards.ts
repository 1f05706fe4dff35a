// The forms of the guardrails and signals of a new guarded rollout.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { newMetric, nameOf, metricOf, newSource, type MetricDraft } from "../../api/metrics";
import { rolloutWords } from "../../words/rollouts";

export interface GuardDraft {
  id: number;
  /** Whether harm only holds the rollout and does not roll it back. */
  signal: boolean;
  kind: string;
  event: string;
  property: string;
  goal: string;
  /** How much worse the treatment may be, in percent of control. */
  tolerance: string;
}

let ids = 0;
export const newGuard = (event: string, goal: string): GuardDraft => ({ id: ++ids, signal: false, kind: "count", event, property: "", goal, tolerance: "0" });

export interface GuardFault {
  event?: string;
  property?: string;
  tolerance?: string;
}

export function guardFault(g: GuardDraft): GuardFault | undefined {
  const tolerance = Number(g.tolerance);
  if (!g.event.trim()) return { event: rolloutWords.eventWanted };
  if (g.kind === "sum" && !g.property.trim()) return { property: rolloutWords.propertyWanted };
  return g.tolerance.trim() !== "" && tolerance >= 0 ? undefined : { tolerance: rolloutWords.toleranceWrong };
}

/** Converts a guard to a guardrail or signal. window is how many seconds after an exposure its events count. */
export function guardOf(g: GuardDraft, window: number): object {
  const draft: MetricDraft = { ...newMetric(), kind: g.kind === "share" ? "share" : g.kind === "sum" ? "value" : "count", sources: [{ ...newSource(g.event.trim(), g.kind === "sum" ? "sum" : "total"), property: g.property }], window: String(window), unit: "second" };
  const { uuid: _, goal: __, name: ___, ...metric } = metricOf(draft);
  return { name: nameOf(draft), goal: g.goal, tolerance: Number(g.tolerance) / 100, metric };
}

const maxOfKind = 10;

export function guardForms(guards: Signal<GuardDraft[]>, faults: () => Record<number, GuardFault>): Child {
  const set = (id: number, change: Partial<GuardDraft>) => guards.update((list) => list.map((g) => (g.id === id ? { ...g, ...change } : g)));
  return [
    each(guards, (g) => g.id, (g) => guardForm(g, guards, set, faults)),
    h("div", null, h("button", { type: "button", class: "button small", disabled: () => guards().length >= 2 * maxOfKind, onclick: () => guards.update((list) => [...list, newGuard("", "increase")]) }, icon("plus"), rolloutWords.addGuard)),
  ];
}

function guardForm(g: Signal<GuardDraft>, guards: Signal<GuardDraft[]>, set: (id: number, change: Partial<GuardDraft>) => void, faults: () => Record<number, GuardFault>): HTMLElement {
  const { id } = g.peek();
  const n = () => guards().findIndex((x) => x.id === id) + 1;
  const text = (member: "event" | "property", label: string, hint?: string) => {
    const input: HTMLInputElement = h("input", { type: "text", autocomplete: "off", maxlength: 200, value: () => g()[member], oninput: () => set(id, { [member]: input.value }) });
    return field(input, { label, fault: () => faults()[id]?.[member], ...(hint ? { hint } : {}) });
  };
  const tolerance: HTMLInputElement = h("input", { type: "number", min: 0, step: "any", value: () => g().tolerance, oninput: () => set(id, { tolerance: tolerance.value }) });
  return h(
    "div",
    { role: "group", "aria-label": () => rolloutWords.guardN(n()), class: "stack condition-body condition" },
    h(
      "div",
      { class: "pair" },
      field(select(() => (g().signal ? "signal" : "guardrail"), () => Object.entries(rolloutWords.roles), (v) => set(id, { signal: v === "signal" })), { label: rolloutWords.role }),
      field(select(() => g().kind, () => Object.entries(rolloutWords.kinds), (kind) => set(id, { kind })), { label: rolloutWords.kind }),
      when(() => guards().length > 1, () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => rolloutWords.removeGuardN(n()), title: () => rolloutWords.removeGuardN(n()), onclick: () => guards.update((list) => list.filter((x) => x.id !== id)) }, icon("close"))),
    ),
    text("event", rolloutWords.event, rolloutWords.eventHint),
    when(() => g().kind === "sum", () => text("property", rolloutWords.property)),
    h("div", { class: "pair" }, field(select(() => g().goal, () => Object.entries(rolloutWords.goals), (goal) => set(id, { goal })), { label: rolloutWords.goal }), field(tolerance, { label: rolloutWords.tolerance, fault: () => faults()[id]?.tolerance })),
  );
}
