// The page of a cohort: its rule or list, its people, and the flags that use it.
import { computed, effect, h, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { followStored, partsOf, saveParts, type Part } from "../../ui/conflict";
import { confirm, dialog } from "../../ui/dialog";
import { confirmBeforeLeave, lackOf, onSaveKey, readOnlyNote } from "../../ui/form";
import { saveDraft, loadDraft } from "../../ui/drafts";
import { button, faultAlert, field, problem, showResource } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { loadRecord, recordPage } from "../../ui/record";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { idsText } from "../../ui/searchbox";
import { invalidate } from "../../api/cache";
import { get, send } from "../../api/client";
import { ruleOf, ruleText, sameRule, treeOf, type Cohort, type RuleDraft } from "../../api/cohorts";
import { linesOf, matchLines } from "../../api/people";
import { go, href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { cohortWords } from "../../words/cohorts";
import { openAccess } from "../access/open";
import { showRefusal } from "../flags/actions";
import type { Person } from "../people/person";
import { cohortName } from "./list";
import { ruleFault } from "./new";
import { byRule, preview } from "./preview";
import { ruleForm } from "./rule";
import { usedBy } from "./usedby";

const scope = "cohort:write";

export default function cohortPage(params: Params): Child {
  const path = projectPath(`cohorts/${params.id}/`);
  const record = loadRecord(() => get<Cohort>(path));
  const isThere = computed(() => record.data() !== undefined);
  const people = pages<Person>(() => (isThere() ? { path: path + "persons/", query: { limit: 50 } } : null));
  const reloadAll = async () => {
    await record.reload();
    invalidate("cohorts");
    people.reload();
  };
  return recordPage<Cohort>({
    record,
    title: cohortName,
    list: { label: words.cohorts, path: "cohorts" },
    actions: (c) => tools(c, path, reloadAll),
    show: (c) => [
      h("p", { class: "meta gap" }, () => [c().is_static ? cohortWords.byList : cohortWords.byRule, " · ", words.nPeople(c().count ?? 0), ...(c().is_static ? [] : [` · ${cohortWords.counted} `, time(c().last_calculation) ?? words.never])]),
      form(c, path, reloadAll),
      h("section", { class: "card gap-above", "aria-label": words.people }, h("h2", null, words.people), showResource(people, (data) => [when(() => !data().length, () => h("p", { class: "meta" }, cohortWords.nobody)), when(() => data().length > 0, () => members(c, data, path, reloadAll)), when(people.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: people.more })))])),
      usedBy(c.peek().id),
    ],
  });
}

function tools(cohort: Signal<Cohort>, path: string, reloadAll: () => Promise<void>): Child {
  const recount = async () => {
    const got = await send<Cohort>("PATCH", path, { name: cohort.peek().name });
    await reloadAll();
    announce(got.errors_calculating ? cohortWords.notCounted : cohortWords.countedN(got.count ?? 0));
  };
  const remove = async () => {
    if (!(await confirm(words.deleteAsk(cohortName(cohort.peek())), cohortWords.deleteText, words.delete))) return;
    await send("PATCH", path, { deleted: true });
    invalidate("cohorts");
    const at = `p/${project.peek()}/cohorts`;
    await go(at);
    announce(words.deleted(cohortName(cohort.peek())), { label: words.undo, run: () => void send("PATCH", path, { deleted: false }).then(() => go(`${at}/${cohort.peek().id}`), showRefusal) });
  };
  return [
    cohort.peek().is_static
      ? button(cohortWords.addPeople, { scope, run: () => addPeople(path).then((done) => (done ? reloadAll() : undefined), showRefusal) })
      : [button(cohortWords.countAgain, { scope, run: () => recount().catch(showRefusal) }), button(cohortWords.copyAsList, { scope, run: () => copyAsList(path).catch(showRefusal) })],
    button(words.access, { run: () => openAccess(cohortName(cohort.peek()), path) }),
    button(cohortWords.deleteCohort, { scope, kind: "danger", run: () => remove().catch(showRefusal) }),
  ];
}

/** Creates a cohort by list with the current people of a cohort. */
async function copyAsList(path: string): Promise<void> {
  const made = await send<Cohort>("POST", path + "duplicate_as_static_cohort/", {});
  invalidate("cohorts");
  await go(`p/${project.peek()}/cohorts/${made.id}`);
  announce(words.saved);
}

async function addPeople(path: string): Promise<boolean> {
  const fault = signal<string | undefined>(undefined);
  const text = h("textarea", { rows: 8, class: "code", "data-first": "" });
  const added = await dialog<true>({ title: cohortWords.addPeople }, (d) => ({
    content: field(text, { label: cohortWords.lines, hint: cohortWords.linesHint, fault }),
    buttons: button(cohortWords.addPeople, {
      kind: "primary",
      run: async () => {
        const lines = linesOf(text.value);
        fault.set(lines.length ? (lines.length > 1000 ? cohortWords.tooManyLines(lines.length) : undefined) : cohortWords.linesWanted);
        if (fault.peek()) return text.focus();
        try {
          const { persons, unknown } = await matchLines(lines);
          if (persons.length) await send("PATCH", path + "add_persons_to_static_cohort/", { person_ids: persons });
          announce(cohortWords.addedN(persons.length, unknown.length));
          d.close(true);
        } catch (e) {
          fault.set((e as Error).message);
        }
      },
    }),
  }));
  return added === true;
}

type Texts = { name: string; description: string };

const textsOf = (c: Cohort): Texts => ({ name: c.name ?? "", description: c.description });

function form(cohort: Signal<Cohort>, path: string, reloadAll: () => Promise<void>): Child {
  const first = ruleOf(cohort.peek().filters?.properties);
  const record = `cohort:${cohort.peek().id}`;
  const was = loadDraft<{ rule: RuleDraft; texts: Texts; base: Texts; clean: RuleDraft }>(record);
  const ruled = !cohort.peek().is_static && first !== undefined;
  const clean = signal(was?.clean ?? first ?? ruleOf(undefined)!); // the rule that the draft started with
  const rule = signal((ruled && was?.rule) || clean.peek());
  const base = signal<Texts>(was?.base ?? textsOf(cohort.peek())); // the texts that the draft started with
  const texts = signal<Texts>(was?.texts ?? base.peek());
  const faults = signal<Record<string, string | undefined>>({});
  const other = signal<unknown>(undefined);
  const locked = () => !hasScope(scope);
  const changedTexts = () => Object.fromEntries(Object.entries(texts()).map(([name, text]) => [name, text.trim()] as const).filter(([name, text]) => text !== base()[name as keyof Texts].trim()));
  const changed = () => Object.keys(changedTexts()).length > 0 || (ruled && !sameRule(rule(), clean()));
  if (was && changed()) announce(words.draftRestored);
  saveDraft(record, () => ({ rule: rule(), texts: texts(), base: base(), clean: clean() }), changed);
  confirmBeforeLeave(changed);
  effect(() => {
    const now = cohort();
    untracked(() => {
      const next = followStored(texts(), base(), textsOf(now));
      base.set(next.base);
      texts.set(next.draft);
      const stored = ruleOf(now.filters?.properties);
      if (!ruled || !stored || !sameRule(rule(), clean()) || sameRule(stored, clean())) return;
      clean.set(stored);
      rule.set(stored);
    });
  });
  const parts = () => {
    const ruleChanged = ruled && !sameRule(rule.peek(), clean.peek());
    const stored = (c: Cohort) => ruleOf(c.filters?.properties);
    const rulePart: Part<Cohort> = { what: cohortWords.rule, base: ruleText(clean.peek()), mine: ruleText(rule.peek()), read: (c) => (stored(c) ? ruleText(stored(c)!) : JSON.stringify(c.filters?.properties)), body: { filters: { properties: treeOf(rule.peek()) } } };
    return [...partsOf<Cohort>({ ...cohort.peek(), ...base.peek() }, changedTexts(), { name: cohortWords.name, description: words.description }), ...(ruleChanged ? [rulePart] : [])];
  };
  const save = async () => {
    other.set(undefined);
    const { name } = texts.peek();
    faults.set({ name: name.trim() ? undefined : cohortWords.nameWanted, rule: ruled ? ruleFault(rule.peek()) : undefined });
    if (Object.values(faults.peek()).some(Boolean)) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const got = await saveParts(path, parts());
      if (!got) return;
      base.set(textsOf(got));
      texts.set(textsOf(got));
      const stored = ruleOf(got.filters?.properties);
      if (ruled && stored) {
        clean.set(stored);
        rule.set(stored);
      }
      cohort.set(got);
      await reloadAll();
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  const text = (member: "name" | "description", maxLength: number) => {
    const input: HTMLInputElement = h("input", { type: "text", maxlength: maxLength, disabled: locked, value: () => texts()[member], oninput: () => texts.update((t) => ({ ...t, [member]: input.value })) });
    return input;
  };
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": cohortWords.cohort },
    () => (other() ? problem(words.notDone, other()) : null),
    readOnlyNote(() => lackOf(scope)),
    field(text("name", 400), { label: cohortWords.name, fault: () => faults().name }),
    field(text("description", 1000), { label: words.description }),
    ruled ? [ruleForm(rule, locked), faultAlert(() => faults().rule, "fault"), preview((cancel) => byRule(treeOf(rule.peek()), cancel))] : null,
    !ruled && !cohort.peek().is_static ? [h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, cohortWords.otherRule), h("pre", { class: "snippet", tabindex: 0 }, h("code", null, () => JSON.stringify(cohort().filters?.properties, null, 2)))] : null,
    h("div", null, button(words.save, { kind: "primary", scope, run: save })),
  );
}

function members(cohort: Signal<Cohort>, data: () => Person[], path: string, reloadAll: () => Promise<void>): HTMLElement {
  const take = async (p: Person) => {
    await send("PATCH", path + "remove_person_from_static_cohort/", { person_id: p.uuid });
    await reloadAll();
    document.querySelector<HTMLElement>("h1")?.focus();
    announce(cohortWords.removedPerson(p.name), { label: words.undo, run: () => void send("PATCH", path + "add_persons_to_static_cohort/", { person_ids: [p.uuid] }).then(reloadAll, showRefusal) });
  };
  return recordTable<Person>(
    cohortWords.peopleIn(cohortName(cohort.peek())),
    [
      { label: words.person, cell: (p) => h("bdi", null, h("a", { href: () => href(`p/${project()}/people/${p().uuid}`) }, () => p().name)) },
      { label: words.distinctIDs, cell: (p) => h("bdi", null, () => idsText(p().distinct_ids)), class: "code clip-cell" },
      ...(cohort.peek().is_static ? [{ label: "", cell: (p: Signal<Person>) => button(cohortWords.remove, { kind: "small", scope, "aria-label": cohortWords.removePerson(p.peek().name), run: () => take(p.peek()).catch(showRefusal) }), class: "tight" }] : []),
    ],
    data,
    (p) => p.uuid,
  );
}
