// The selection of flags in the list, and the bar of actions on them.
import { h, signal, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, markEnglish } from "../../ui/parts";
import { ApiError, get, send, type Query } from "../../api/client";
import { projectPath } from "../../session";
import { words } from "../../words";
import { flagListWords } from "../../words/flaglist";
import { askFirst, change, showRefusal } from "./actions";
import type { FlagList } from "./load";

const maxPerRequest = 200; // the maximum number of flags that one request changes
const maxNamed = 5; // flags that a dialog or a message names

/** The selected flags: their keys by id. A key is empty if the flag is not loaded. */
export type Chosen = Signal<ReadonlyMap<number, string>>;

/** Returns the checkbox that selects all flags that match the filters and that the person may change. */
export function selectAll(chosen: Chosen, list: FlagList): HTMLInputElement {
  const made = signal<{ keys: ReadonlyMap<number, string>; query: Query } | null>(null); // the selection by this checkbox
  const is = () => chosen().size > 0 && chosen() === made()?.keys && list.query() === made()?.query;
  const toggle = async () => {
    if (is()) return chosen.set(new Map());
    const query = list.query();
    try {
      const { ids } = await get<{ ids: number[] }>(projectPath("feature_flags/matching_ids/"), query);
      const known = new Map(list.loaded().map((f) => [f.id, f.key]));
      const keys = new Map(ids.map((id) => [id, known.get(id) ?? ""]));
      made.set({ keys, query });
      chosen.set(keys);
    } catch (e) {
      showRefusal(e);
    }
    box.checked = is();
  };
  const box: HTMLInputElement = h("input", { type: "checkbox", "aria-label": flagListWords.selectAll, title: flagListWords.selectAll, checked: is, indeterminate: () => chosen().size > 0 && !is(), onchange: toggle });
  return box;
}

/** Names flags: the first ones, and the number of the others. */
function nameSome(names: readonly string[]): string {
  const listed = names.slice(0, maxNamed).join(", ");
  return names.length > maxNamed ? flagListWords.andMore(listed, names.length - maxNamed) : listed;
}

/** Returns the bar of bulk actions on the selected flags. Flags that are refused are shown with the reason. */
export function bulk(chosen: Chosen, reload: () => void): HTMLElement {
  const all = async (ask: () => Promise<unknown>, patch: () => object) => {
    const flags = [...chosen.peek()];
    if (!(await ask())) return;
    const refused: string[] = [];
    const reasons: string[] = [];
    const refuse = (flag: string, reason: string) => (refused.push(`${flag}: ${reason}`), reasons.push(reason));
    for (let i = 0; i < flags.length; i += maxPerRequest) {
      const some = flags.slice(i, i + maxPerRequest);
      const name = ([id, key]: [number, string]) => key || `#${id}`;
      try {
        const { results } = await send<{ results: { ok: boolean; error: string | null }[] }>("POST", projectPath("feature_flags/bulk/"), { ids: some.map(([id]) => id), patch: patch() });
        results.forEach((r, j) => r.ok || refuse(name(some[j]!), r.error ?? ""));
      } catch (e) {
        some.forEach((f) => refuse(name(f), e instanceof ApiError ? e.detail : String(e)));
      }
    }
    chosen.set(new Map());
    const said = refused.length ? words.bulkFailed(refused.length, nameSome(refused)) : words.saved;
    announce(() => markEnglish(said, reasons));
    reload();
  };
  const names = () => {
    const keys = [...chosen.peek().values()];
    return keys.length > maxNamed || keys.includes("") ? words.nFlags(keys.length) : keys.join(", ");
  };
  const action = (label: string, ask: (flags: string) => string, text: string, patch: object, kind = "") =>
    button(label, { scope: "feature_flag:write", kind, run: () => all(() => askFirst(ask(names()), text, label), () => patch) });
  return h(
    "div",
    { role: "region", "aria-label": words.selection, class: "bulk" },
    h("strong", null, () => words.nSelected(chosen().size)),
    action(words.switchOn, words.switchOnAsk, words.switchOnText, { active: true }),
    action(words.switchOff, words.switchOffAsk, words.switchOffText, { active: false }),
    action(words.archive, words.archiveAsk, words.archiveText, { archived: true }),
    button(words.addTag, { scope: "feature_flag:write", run: () => change.tags(names(), all) }),
    action(words.delete, words.deleteAsk, words.deleteText, { deleted: true }, "danger"),
    h("span", { class: "space" }),
    button(words.clearSelection, { kind: "quiet", run: () => chosen.set(new Map()) }),
  );
}
