// The form of a cohort's rule: groups of filters.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { newGroup, type GroupDraft, type RuleDraft } from "../../api/cohorts";
import { newFilter } from "../../api/draft";
import { words } from "../../words";
import { cohortWords } from "../../words/cohorts";
import { filterRow } from "../flag/filter";

const match = (any: () => boolean, set: (any: boolean) => void, hint: string, locked: () => boolean) =>
  field(select(() => (any() ? "any" : "all"), () => [["all", cohortWords.all], ["any", cohortWords.any]], (v) => set(v === "any"), { disabled: locked }), { label: cohortWords.match, hint });

export function ruleForm(rule: Signal<RuleDraft>, locked: () => boolean): Child {
  const put = (change: Partial<RuleDraft>) => rule.update((r) => ({ ...r, ...change }));
  return h(
    "div",
    { class: "stack" },
    when(() => rule().groups.length > 1, () => match(() => rule().any, (any) => put({ any }), cohortWords.matchHint.tree, locked)),
    each(() => rule().groups, (g) => g.id, (g) => group(g, rule, locked)),
    h("div", null, h("button", { type: "button", class: "button small", disabled: locked, onclick: () => put({ groups: [...rule.peek().groups, newGroup()] }) }, icon("plus"), cohortWords.addGroup)),
  );
}

function group(g: Signal<GroupDraft>, rule: Signal<RuleDraft>, locked: () => boolean): HTMLElement {
  const { id } = g.peek();
  const n = () => rule().groups.findIndex((x) => x.id === id) + 1;
  const set = (change: (was: GroupDraft) => Partial<GroupDraft>) => rule.update((r) => ({ ...r, groups: r.groups.map((x) => (x.id === id ? { ...x, ...change(x) } : x)) }));
  const act = {
    change: (f: number, filter: GroupDraft["filters"][number]["filter"]) => set((x) => ({ filters: x.filters.map((y) => (y.id === f ? { ...y, filter } : y)) })),
    remove: (f: number) => set((x) => ({ filters: x.filters.filter((y) => y.id !== f) })),
  };
  return h(
    "div",
    { role: "group", "aria-label": () => cohortWords.groupN(n()), class: "condition" },
    h(
      "div",
      { class: "condition-head" },
      h("strong", { "aria-hidden": "true" }, () => cohortWords.groupN(n())),
      h("span", { class: "space" }),
      when(() => rule().groups.length > 1, () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => cohortWords.removeGroup(n()), title: () => cohortWords.removeGroup(n()), disabled: locked, onclick: () => rule.update((r) => ({ ...r, groups: r.groups.filter((x) => x.id !== id) })) }, icon("close"))),
    ),
    h(
      "div",
      { class: "condition-body" },
      match(() => g().any, (any) => set(() => ({ any })), cohortWords.matchHint.group, locked),
      each(() => g().filters, (f) => f.id, (f) => filterRow(f, () => g().filters.findIndex((x) => x.id === f().id) + 1, act, locked, "cohorts")),
      h("div", null, h("button", { type: "button", class: "button small", disabled: locked, onclick: () => set((x) => ({ filters: [...x.filters, newFilter()] })) }, icon("plus"), words.addFilter)),
    ),
  );
}
