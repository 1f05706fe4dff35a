// The list of conditions of a flag, or of the people of a survey.
import { each, h, when, type Signal } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { button } from "../../ui/parts";
import { copyCondition, newCondition, type ConditionDraft, type Draft } from "../../api/draft";
import { words } from "../../words";
import { conditionCard } from "./condition";
import type { FaultsByPlace } from "./faults";

export function conditionList(draft: Signal<Draft>, put: (c: Partial<Draft>) => void, locked: () => boolean, places: () => FaultsByPlace, title = words.conditions, hint = words.conditionsText): HTMLElement {
  const list = () => draft.peek().conditions;
  const at = (id: number) => list().findIndex((c) => c.id === id);
  const act = {
    change: (id: number, change: Partial<ConditionDraft>) => put({ conditions: list().map((c) => (c.id === id ? { ...c, ...change } : c)) }),
    move(id: number, by: number) {
      const now = [...list()];
      const [c] = now.splice(at(id), 1);
      now.splice(at(id) + by, 0, c!);
      put({ conditions: now });
    },
    duplicate: (id: number) => put({ conditions: list().flatMap((c) => (c.id === id ? [c, copyCondition(c)] : [c])) }),
    remove: (id: number) => put({ conditions: list().filter((c) => c.id !== id) }),
  };
  return h(
    "section",
    { class: "field" },
    h("div", { class: "between" }, h("h2", null, title), when(() => draft().conditions.some((c) => !c.open), () => button(words.expandAll, { kind: "quiet small", run: () => put({ conditions: list().map((c) => ({ ...c, open: true })) }) }))),
    h("p", { class: "hint" }, hint),
    h("div", { class: "conditions" }, each(() => draft().conditions, (c) => c.id, (c) => conditionCard(c, draft, act, locked, places))),
    h("div", null, h("button", { type: "button", class: "button", disabled: locked, onclick: () => put({ conditions: [...list(), newCondition()] }) }, icon("plus"), words.addCondition)),
  );
}
