// The page Assignment rules: the rules that assign new errors, in their order.
import { h, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { icon, type Icon } from "../../ui/icons";
import { button, empty, heading, linkButton, markEnglish } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages, type Pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { send } from "../../api/client";
import { owners, rulesPath, ruleText, type Rule } from "../../api/errors";
import { href } from "../../router";
import { hasScope, project } from "../../session";
import { words } from "../../words";
import { errorWords } from "../../words/errors";
import { showRefusal } from "../flags/actions";
import { openRule } from "./rule";

const scope = "error_tracking:write";

export default function rulesPage(): Child {
  const list = pages<Rule>(() => ({ path: rulesPath(), query: { limit: 100 } }));
  const edit = (rule?: Rule) => openRule(rule).then((done) => done && list.reload());
  return [
    heading(errorWords.rules, linkButton(words.errors, href(`p/${project.peek()}/errors`)), button(errorWords.newRule, { kind: "primary", scope, run: () => edit() })),
    h("p", { class: "meta gap" }, errorWords.rulesText),
    listOf(list, () => empty(errorWords.noRules, errorWords.noRulesText), () => table(list, edit)),
  ];
}

function table(list: Pages<Rule>, edit: (r: Rule) => unknown): HTMLElement {
  const rows = () => list.data() ?? [];
  const allOwners = owners();
  const at = (r: Signal<Rule>) => rows().findIndex((x) => x.id === r().id) + 1;
  const remove = async (r: Rule, n: number) => {
    if (!(await confirm(errorWords.removeAsk(n), errorWords.removeText, errorWords.remove))) return;
    await send("DELETE", `${rulesPath()}${r.id}/`);
    list.reload();
    document.querySelector<HTMLElement>("h1")?.focus();
    announce(errorWords.removed(n));
  };
  return recordTable<Rule>(
    errorWords.rules,
    [
      { label: errorWords.rule, cell: (r) => [h("bdi", null, () => ruleText(r().filters)), () => (r().disabled_data ? h("p", { class: "fault" }, markEnglish(errorWords.disabled(r().disabled_data!.message), [r().disabled_data!.message])) : null)], class: "long" },
      { label: errorWords.assigned, cell: (r) => h("bdi", null, () => allOwners.name(r().assignee)) },
      { label: "", cell: (r) => [arrow("up", () => errorWords.upN(at(r)), () => at(r) === 1, () => move(list, at(r) - 1, -1)), arrow("down", () => errorWords.downN(at(r)), () => at(r) === rows().length, () => move(list, at(r) - 1, 1))], class: "tight" },
      { label: "", cell: (r) => [button(errorWords.edit, { kind: "small", scope, "aria-label": () => errorWords.editN(at(r)), run: () => edit(r.peek()) }), " ", button(errorWords.remove, { kind: "small", scope, "aria-label": () => errorWords.removeN(at(r)), run: () => remove(r.peek(), at(r)).catch(showRefusal) })], class: "tight" },
    ],
    rows,
    (r) => r.id,
  );
}

function arrow(i: Icon, label: () => string, off: () => boolean, run: (e: Event) => unknown): HTMLElement {
  return h("button", { type: "button", class: "button quiet icon-only", "aria-label": label, title: label, disabled: () => off() || !hasScope(scope), onclick: run as () => unknown }, icon(i));
}

/** Swaps a rule with its neighbour and restores the focus. */
async function move(list: Pages<Rule>, from: number, by: number): Promise<void> {
  const had = document.activeElement as HTMLButtonElement | null;
  const rules = [...(list.data.peek() ?? [])];
  rules.splice(from + by, 0, ...rules.splice(from, 1));
  list.data.set(rules);
  if (had?.disabled) had.closest("td")?.querySelector<HTMLElement>("button:enabled")?.focus();
  else had?.focus();
  try {
    await send("PATCH", rulesPath() + "reorder/", { orders: Object.fromEntries(rules.map((r, i) => [r.id, i])) });
    announce(words.saved);
  } catch (e) {
    showRefusal(e);
    list.reload();
  }
}
