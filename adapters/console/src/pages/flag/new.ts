// The page New flag, which can also start with a copy of a flag.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, heading, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { get, send } from "../../api/client";
import { bodyOf, canonicalJSON, draftOf, emptyDraft, type Draft } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { go, guard, param } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { placeFault } from "./edit";
import { check, rules } from "./rules";

export default function newFlag(): Child {
  const restored = loadDraft<Draft>("flag:new");
  const draft = signal<Draft>({ ...emptyDraft(), ...restored });
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  const clean = signal(canonicalJSON(bodyOf(emptyDraft())));
  const dirty = () => canonicalJSON(bodyOf(draft())) !== clean();
  if (restored) announce(words.draftRestored);
  const from = param("from");
  if (from && !restored) {
    get<Flag>(projectPath(`feature_flags/${from}/`)).then(
      (f) => draft.set({ ...draftOf(f), key: "", active: false }),
      (e: unknown) => other.set(e),
    );
  }
  saveDraft("flag:new", draft, dirty);
  confirmBeforeLeave(dirty);
  const run = async () => {
    other.set(undefined);
    faults.set(check(draft.peek()));
    if (Object.keys(faults.peek()).length) return placeFault(undefined, faults, signal<unknown>(undefined));
    try {
      const got = await send<Flag>("POST", projectPath("feature_flags/"), bodyOf(draft.peek()));
      invalidate("feature_flags");
      deleteDraft("flag:new");
      guard.leave = null;
      await go(`p/${project.peek()}/flags/${got.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      placeFault(e, faults, other);
    }
  };
  onSaveKey(run);
  return [
    heading(words.newFlag),
    () => (other() ? problem(words.notDone, other()) : null),
    rules({ draft, faults, locked: () => false, flag: () => undefined }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.discard, { run: () => ((draft.set(emptyDraft())), deleteDraft("flag:new")) }), button(words.save, { kind: "primary", scope: "feature_flag:write", run })),
  ];
}
