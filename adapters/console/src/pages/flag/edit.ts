// The tab Rules of a flag.
import { computed, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey, readOnlyNote } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, problem, showResource } from "../../ui/parts";
import { diffFlags } from "../../ui/diff";
import type { ChangeRequest } from "../../api/approvals";
import { resource } from "../../api/cache";
import { ApiError } from "../../api/client";
import { bodyOf, canonicalJSON, changedMembers, draftOf, type Draft } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { go, guard, param } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { flagPage } from "./frame";
import { lockReason } from "./locked";
import { check, rules } from "./rules";
import { save } from "./save";

/** Shows an error at the field that it names, or else above the form, and moves the focus there. */
export function placeFault(e: unknown, faults: Signal<Record<string, string>>, other: Signal<unknown>): void {
  if (e instanceof ApiError && e.attr && ["key", "name", "tags"].includes(e.attr)) faults.set({ [e.attr]: e.detail });
  else other.set(e);
  queueMicrotask(() => document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus());
}

export default function edit(params: Params): Child {
  const change = Number(param("change"));
  return flagPage(params, "", (flag, load) => {
    if (!change) return form(flag, load);
    const request = resource<ChangeRequest>(() => ({ path: projectPath(`change_requests/${change}/`) }));
    return showResource(request, () => form(flag, load, request.data.peek()));
  });
}

/** Returns the form of a flag, or of a change request if asked is set. */
function form(flag: Signal<Flag>, load: () => Promise<void>, asked?: ChangeRequest): Child {
  const record = `flag:${flag.peek().id}${asked ? `:${asked.id}` : ""}`;
  const was = loadDraft<{ draft: Draft; base: Flag }>(record);
  if (was && was.base.version < flag.peek().version) flag.set(was.base); // saving then shows what others have changed since
  const started = draftOf({ ...flag.peek(), ...asked?.patch });
  const draft = signal<Draft>({ ...started, ...was?.draft }); // drafts of earlier versions of the console lack members
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  const reason = () => lockReason(flag());
  const locked = () => reason() !== null;
  const formless = ["active", "archived", "deleted"]; // members that a request may change but this form does not show
  const otherChanges = signal<Partial<Flag>>(Object.fromEntries(Object.entries(asked?.patch ?? {}).filter(([k]) => formless.includes(k))));
  const body = () => ({ ...bodyOf(draft(), flag().filters), active: flag().active, ...otherChanges() });
  const patch = computed(() => canonicalJSON(changedMembers(flag(), body())));
  const dirty = () => patch() !== "{}";
  const count = () => diffFlags(flag(), { ...flag(), ...body() }).length || 1;
  if (was && dirty()) announce(words.draftRestored);
  saveDraft(record, () => ({ draft: draft(), base: flag() }), dirty);
  confirmBeforeLeave(dirty);
  let base = flag.peek(); // the version that the form started with
  effect(() => {
    const f = flag();
    const untouched = canonicalJSON(changedMembers(base, { ...bodyOf(draft.peek(), base.filters), active: base.active })) === "{}";
    const newer = f.version !== base.version;
    base = f;
    if (newer && untouched) draft.set(draftOf(f));
  });
  const run = async () => {
    if (!dirty()) return announce(words.noChanges);
    other.set(undefined);
    faults.set(check(draft.peek()));
    if (Object.keys(faults.peek()).length) return placeFault(new ApiError(400, "invalid", "", null, ""), faults, signal<unknown>(undefined));
    try {
      const got = await save(flag.peek(), body(), asked?.id);
      if (!got) return;
      deleteDraft(record);
      otherChanges.set({});
      flag.set({ ...flag.peek(), ...got });
      draft.set(draftOf(got));
      if (!asked) return;
      guard.leave = null; // all changes are saved
      await go(`p/${project.peek()}/approvals/${asked.id}`);
    } catch (e) {
      placeFault(e, faults, other);
    }
  };
  const discard = () => {
    draft.set(draftOf(flag.peek()));
    void load(); // the draft may be based on an earlier version
    document.querySelector<HTMLElement>("h1")?.focus(); // the button is removed
  };
  onSaveKey(run);
  return [
    () => (other() ? problem(words.notDone, other()) : null),
    readOnlyNote(reason),
    rules({ draft, faults, locked, flag }),
    h(
      "div",
      { class: () => (dirty() ? "save-bar" : "save-bar quiet") },
      when(dirty, () => h("span", { class: "meta" }, () => words.unsaved(count()))),
      h("span", { class: "space" }),
      when(dirty, () => button(words.discard, { run: discard })),
      button(words.save, { kind: "primary", disabledReason: reason, run }),
    ),
  ];
}
