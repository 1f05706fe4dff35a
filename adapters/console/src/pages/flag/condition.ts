// The form of a condition: its filters and its rollout percentage.
import { computed, each, newID, h, when, type Signal } from "../../ui/dom";
import { icon, type Icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { hasVariants, newFilter, type ConditionDraft, type Draft } from "../../api/draft";
import { filtersText } from "../../ui/diff";
import { words } from "../../words";
import { faultsIn, type FaultsByPlace } from "./faults";
import { filterRow } from "./filter";

export interface ConditionActions {
  change(id: number, change: Partial<ConditionDraft>): void;
  move(id: number, by: number): void;
  duplicate(id: number): void;
  remove(id: number): void;
}

export function conditionCard(item: Signal<ConditionDraft>, draft: () => Draft, act: ConditionActions, locked: () => boolean, places: () => FaultsByPlace): HTMLElement {
  const id = item.peek().id;
  const n = computed(() => draft().conditions.findIndex((c) => c.id === id) + 1);
  const place = (rest = "") => `filters.groups.${n() - 1}${rest}`;
  const fault = (rest: string) => ({ fault: () => faultsIn(places(), place(rest))[0] });
  const last = () => n() === draft().conditions.length;
  const put = (change: Partial<ConditionDraft>) => act.change(id, change);
  const summary = () => `${filtersText({ properties: item().filters.map((f) => f.filter) })} · ${item().rollout || "100"} %`;
  const blocked = () => draft().conditions.slice(0, n() - 1).some((c) => c.filters.length === 0 && Number(c.rollout || 100) >= 100);
  /** Returns a button of the condition. endReason returns why it has no effect here, or null. */
  const tool = (label: string, i: Icon, run: () => void, endReason: () => string | null = () => null) => {
    const why = newID();
    return h(
      "button",
      { type: "button", class: "button quiet icon-only", "aria-label": label, title: () => endReason() ?? label, "aria-describedby": () => (endReason() ? why : null), disabled: () => locked() || endReason() !== null, onclick: run },
      icon(i),
      () => (endReason() ? h("span", { id: why, hidden: true }, endReason()) : null),
    );
  };
  const share: HTMLInputElement = h("input", { type: "number", min: 0, max: 100, step: "any", class: "share", value: () => item().rollout, disabled: locked, oninput: () => put({ rollout: share.value }) });
  const filters = {
    change: (f: number, filter: ConditionDraft["filters"][number]["filter"]) => put({ filters: item.peek().filters.map((x) => (x.id === f ? { ...x, filter } : x)) }),
    remove: (f: number) => put({ filters: item.peek().filters.filter((x) => x.id !== f) }),
  };
  const body = () =>
    h(
      "div",
      { class: "condition-body" },
      when(blocked, () => h("p", { class: "warning" }, words.unreachable)),
      each(() => item().filters, (f) => f.id, (f) => {
        const at = () => item().filters.findIndex((x) => x.id === f().id);
        return filterRow(f, () => at() + 1, filters, locked, "flags", () => faultsIn(places(), place(`.properties.${at()}`)));
      }),
      h("div", null, h("button", { type: "button", class: "button small", disabled: locked, onclick: () => put({ filters: [...item.peek().filters, newFilter()] }) }, icon("plus"), words.addFilter)),
      h(
        "div",
        { class: "pair" },
        h("div", { class: "share-row" }, field(share, { label: words.rolloutPercentage, ...fault(".rollout_percentage") }), h("span", { class: "meta" }, "%")),
        when(() => hasVariants(draft()), () => field(select(() => item().variant, () => [["", words.byShare], ...draft().variants.map((v) => [v.key, v.key] as const)], (v) => put({ variant: v }), { disabled: locked }), { label: words.variant, ...fault(".variant") })),
      ),
    );
  return h(
    "div",
    { role: "group", "aria-label": () => words.condition(n()), class: "condition" },
    h(
      "div",
      { class: "condition-head" },
      h("button", { type: "button", class: "disclosure", "aria-expanded": () => item().open, onclick: () => put({ open: !item.peek().open }) }, () => icon(item().open ? "down" : "right"), () => words.condition(n())),
      h("span", { class: "meta clip", "aria-hidden": "true" }, summary),
      h("span", { class: "space" }),
      tool(words.moveUp, "up", () => act.move(id, -1), () => (n() === 1 ? words.isFirst : null)),
      tool(words.moveDown, "down", () => act.move(id, 1), () => (last() ? words.isLast : null)),
      tool(words.duplicate, "copy", () => act.duplicate(id)),
      tool(words.removeCondition, "close", () => act.remove(id)),
    ),
    when(() => item().open, body),
    when(() => !item().open, () => h("div", null, () => faultsIn(places(), place()).map((text) => h("p", { class: "fault" }, text)))),
  );
}
