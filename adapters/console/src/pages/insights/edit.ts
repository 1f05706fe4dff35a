// An insight: its form, its chart and its numbers, which follow each choice.
import { computed, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { answered } from "../../ui/answered";
import { guarded, saveKey } from "../../ui/form";
import { drop, keep, kept } from "../../ui/kept";
import { bars, button, heading, problem } from "../../ui/parts";
import { get, send } from "../../api/client";
import { stale } from "../../api/cache";
import { emptyInsight, formKnows, insightDraft, queryOf, sameQuery, stored, titleOf, type Insight, type InsightDraft } from "../../api/insights";
import { unwrapped, type Query } from "../../api/picture";
import { go, guard } from "../../router";
import type { Params } from "../../routes";
import { inProject, may, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import { refused } from "../flags/actions";
import { addToDashboard, duplicate, path, remove } from "./actions";
import { insightForm } from "./form";

const scope = "insight:write";

export default function insightPage(params: Params): Child {
  const insight = signal<Insight | null>(null);
  const fault = signal<unknown>(undefined);
  const tools = signal<Child>(null);
  const load = () =>
    get<Insight>(inProject(`insights/${params.id}/`), { refresh: "force_cache" }).then(
      (i) => (insight.set(i), fault.set(undefined), void send("POST", inProject(`insights/${i.id}/viewed/`), {}).catch(() => undefined)),
      (e: unknown) => fault.set(e),
    );
  if (params.id) void load();
  return [
    heading(() => (insight() ? titleOf(insight()!) : params.id ? "…" : insightWords.newInsight), tools),
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => params.id && !insight() && !fault(), () => bars(8)),
    when(() => !params.id || insight(), () => editor(insight, tools)),
  ];
}

/** Null is an insight that is not saved yet. */
function editor(insight: Signal<Insight | null>, tools: Signal<Child>): Child {
  const base = () => unwrapped(insight()?.query);
  const known = () => !insight() || formKnows(base());
  const record = `insight:${insight.peek()?.id ?? "new"}`;
  const restored = kept<InsightDraft>(record);
  const clean = signal<InsightDraft>(insight.peek() ? insightDraft(insight.peek()!) : emptyInsight());
  const draft = signal<InsightDraft>(restored ?? clean.peek());
  const query = computed<string>(() => JSON.stringify(known() ? queryOf(draft(), base()) : base()));
  const changed = () => draft().name !== clean().name || (known() && !sameQuery(queryOf(draft(), base()), queryOf(clean(), base())));
  const fault = signal<unknown>(undefined);
  const nameFault = signal<string | undefined>(undefined);
  keep(record, draft, changed);
  guarded(changed);
  if (restored && changed()) announce(words.draftRestored);

  const save = async (): Promise<Insight | undefined> => {
    fault.set(undefined);
    nameFault.set(draft.peek().name.trim() ? undefined : insightWords.nameWanted);
    if (nameFault.peek()) {
      document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
      return undefined;
    }
    const was = insight.peek();
    const body = { name: draft.peek().name.trim(), ...(known() ? { query: stored(JSON.parse(query()) as Query, was?.query) } : {}), saved: true };
    try {
      const got = await (was ? send<Insight>("PATCH", path(was.id), body) : send<Insight>("POST", inProject("insights/"), body));
      stale("insights");
      if (was) insight.set(got);
      clean.set(draft.peek());
      drop(record);
      announce(words.saved);
      return got;
    } catch (e) {
      fault.set(e);
      return undefined;
    }
  };
  const toPage = async (i: Insight) => {
    if (insight.peek()) return;
    guard.leave = null;
    await go(`p/${project.peek()}/insights/${i.id}`, {}, true);
  };
  const saved = () => save().then((i) => i && toPage(i));
  saveKey(() => may(scope) && saved());
  const add = async () => {
    const i = insight.peek() && !changed() ? insight.peek()! : await save();
    if (!i) return;
    const got = await addToDashboard(i).catch(refused);
    if (got && insight.peek()) insight.set({ ...insight.peek()!, dashboards: got.dashboards });
    await toPage(i);
  };
  const name = () => draft().name || insightWords.newInsight;
  tools.set([
    button(words.save, { kind: "primary", scope, run: saved }),
    button(insightWords.addToDashboard, { scope, run: add }),
    insight.peek() ? [button(words.duplicate, { scope, run: () => duplicate(insight.peek()!).catch(refused) }), button(words.delete, { scope, kind: "danger", run: () => remove(insight.peek()!).catch(refused) })] : null,
  ]);
  return [
    () => (fault() ? problem(words.notDone, fault()) : null),
    when(() => !known(), () => h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, insightWords.otherQuery)),
    when(known, () => insightForm({ draft, nameFault, locked: () => !may(scope) && insight.peek() !== null, isNew: !insight.peek() })),
    answered(name, () => JSON.parse(query()) as Query | null),
  ];
}
