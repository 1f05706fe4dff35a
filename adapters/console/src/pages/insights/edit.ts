// The page of an insight: its form, chart and numbers, which follow each change.
import { computed, effect, h, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { partsOf, saveParts, type Part } from "../../ui/conflict";
import { queryResult } from "../../ui/queryresult";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, heading, problem } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
import { get, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import { sameQuery, storedQuery, titleOf, type Insight } from "../../api/insights";
import { insightDraft, isFormQuery, isIncomplete, otherMembers, queryOf, type InsightDraft } from "../../api/insightquery";
import { unwrapQuery, type Query } from "../../api/chartdata";
import { propertyNames } from "../../api/properties";
import { go, guard, param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import { openAccess } from "../access/open";
import { showRefusal } from "../flags/actions";
import { addToDashboard, duplicate, path, remove } from "./actions";
import { insightForm } from "./form";

const scope = "insight:write";

export default function insightPage(params: Params): Child {
  const tools = signal<Child>(null);
  if (!params.id) return [heading(insightWords.newInsight, tools), editor(signal<Insight | null>(null), tools)];
  const request = async () => {
    const i = await get<Insight>(projectPath(`insights/${params.id}/`), { refresh: "force_cache" });
    void send("POST", projectPath(`insights/${i.id}/viewed/`), {}).catch(() => undefined);
    return i;
  };
  return recordPage<Insight>({
    record: loadRecord(request),
    title: titleOf,
    list: { label: words.insights, path: "insights" },
    actions: () => tools,
    show: (insight) => editor(insight as Signal<Insight | null>, tools),
  });
}

/** Returns the query in the address, in PostHog's form. The address of a form with changes contains it, so that it can be sent. */
function queryOfAddress(): Query | null {
  try {
    return unwrapQuery(JSON.parse(param("query")));
  } catch {
    return null;
  }
}

const maxAddress = 8000; // longer queries are not put into the address

/** Returns the editor of an insight. insight is null if it is not saved yet. */
function editor(insight: Signal<Insight | null>, tools: Signal<Child>): Child {
  const record = `insight:${insight.peek()?.id ?? "new"}`;
  const sent = untracked(queryOfAddress);
  const stored = () => unwrapQuery(insight()?.query);
  const base = () => sent ?? stored();
  const known = () => !base() || isFormQuery(base());
  const saved = insight.peek()?.name ?? "";
  const draftInTab = loadDraft<InsightDraft>(record);
  const restored = draftInTab?.breakdowns && !sent ? draftInTab : undefined; // earlier versions of the console had other drafts
  const clean = signal<InsightDraft>(insightDraft(saved, stored()));
  const draft = signal<InsightDraft>(restored ?? (sent ? insightDraft(draftInTab?.name ?? saved, sent) : clean.peek()));
  const query = computed<string>(() => JSON.stringify(known() ? queryOf(draft(), base()) : base()));
  const cleanQuery = () => (!insight() || isFormQuery(stored()) ? queryOf(clean(), stored()) : stored());
  const changed = () => draft().name !== clean().name || !sameQuery(JSON.parse(query()), cleanQuery());
  const fault = signal<unknown>(undefined);
  const nameFault = signal<string | undefined>(undefined);
  saveDraft(record, draft, changed);
  confirmBeforeLeave(changed);
  if (restored && changed()) announce(words.draftRestored);
  effect(() => {
    const text = sameQuery(JSON.parse(query()), cleanQuery()) || query().length > maxAddress ? "" : query();
    if (text !== untracked(() => param("query"))) untracked(() => setParams({ query: text }));
  });

  /** Returns the parts of a stored insight that the form has changed. */
  const partsToSave = (was: Insight, body: { name: string; query: unknown }): Part<Insight>[] => {
    const patch = { ...(body.name === clean.peek().name ? {} : { name: body.name }), ...(sameQuery(JSON.parse(query()), cleanQuery()) ? {} : { query: body.query }) };
    return partsOf(was, patch, { name: insightWords.name, query: insightWords.query }).map((p) => ({ ...p, body: { ...p.body, saved: true } }));
  };
  const save = async (): Promise<Insight | undefined> => {
    fault.set(undefined);
    nameFault.set(draft.peek().name.trim() ? undefined : insightWords.nameWanted);
    if (isIncomplete(draft.peek())) fault.set(new Error(insightWords.incomplete));
    if (nameFault.peek() || fault.peek()) {
      document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
      return undefined;
    }
    const was = insight.peek();
    const body = { name: draft.peek().name.trim(), query: storedQuery(JSON.parse(query()) as Query, was?.query), saved: true };
    try {
      const got = await (was ? saveParts(path(was.id), partsToSave(was, body), { refresh: "force_cache" }) : send<Insight>("POST", projectPath("insights/"), body));
      if (!got) return undefined;
      invalidate("insights");
      if (was) insight.set(got);
      else announce(words.saved);
      // Changes by others, which were merged or kept, replace those of the form.
      if (got.name !== body.name || !sameQuery(unwrapQuery(got.query), JSON.parse(query()))) draft.set(insightDraft(got.name ?? "", unwrapQuery(got.query)));
      clean.set(draft.peek());
      deleteDraft(record);
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
  const saveAndOpen = () => save().then((i) => i && toPage(i));
  onSaveKey(() => hasScope(scope) && saveAndOpen());
  const add = async () => {
    const i = insight.peek() && !changed() ? insight.peek()! : await save();
    if (!i) return;
    const got = await addToDashboard(i).catch(showRefusal);
    if (got && insight.peek()) insight.set({ ...insight.peek()!, dashboards: got.dashboards });
    await toPage(i);
  };
  const name = () => draft().name || insightWords.newInsight;
  tools.set([
    button(words.save, { kind: "primary", scope, run: saveAndOpen }),
    button(insightWords.addToDashboard, { scope, run: add }),
    insight.peek() ? [button(words.duplicate, { scope, run: () => duplicate(insight.peek()!).catch(showRefusal) }), button(words.access, { run: () => openAccess(titleOf(insight.peek()!), path(insight.peek()!.id)) }), button(words.delete, { scope, kind: "danger", run: () => remove(insight.peek()!).catch(showRefusal) })] : null,
  ]);
  return [
    () => (fault() ? problem(words.notDone, fault()) : null),
    when(() => !known(), () => h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, insightWords.otherQuery)),
    when(known, () => insightForm({ draft, names: propertyNames(), nameFault, locked: () => !hasScope(scope) && insight.peek() !== null, isNew: !insight.peek() })),
    kept(() => (known() ? otherMembers((base() ?? {}) as Query) : Object.entries(base() ?? {}))),
    queryResult(name, () => (isIncomplete(draft()) ? null : (JSON.parse(query()) as Query | null))),
  ];
}

/** Shows the members of a query that the form has no fields for. */
function kept(members: () => [string, unknown][]): Child {
  return when(() => members().length > 0, () =>
    h(
      "details",
      { class: "kept" },
      h("summary", null, () => insightWords.keptMembers(members().length)),
      h("p", { class: "hint" }, insightWords.keptText),
      h("dl", { class: "facts" }, () => members().map(([path, value]) => [h("dt", { class: "code" }, path), h("dd", { class: "code" }, JSON.stringify(value))])),
    ),
  );
}
