// A new flag, or a copy of one.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { guarded, saveKey } from "../../ui/form";
import { drop, keep, kept } from "../../ui/kept";
import { button, heading, problem } from "../../ui/parts";
import { stale } from "../../api/cache";
import { get, send } from "../../api/client";
import { bodyOf, canonical, draftOf, emptyDraft, type Draft } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { go, guard, param } from "../../router";
import { inProject, project } from "../../session";
import { words } from "../../words";
import { toFault } from "./edit";
import { check, rules } from "./rules";

export default function newFlag(): Child {
  const restored = kept<Draft>("flag:new");
  const draft = signal<Draft>(restored ?? emptyDraft());
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  const clean = signal(canonical(bodyOf(emptyDraft())));
  const dirty = () => canonical(bodyOf(draft())) !== clean();
  if (restored) announce(words.draftRestored);
  const from = param("from");
  if (from && !restored) {
    get<Flag>(inProject(`feature_flags/${from}/`)).then(
      (f) => draft.set({ ...draftOf(f), key: "", active: false }),
      (e: unknown) => other.set(e),
    );
  }
  keep("flag:new", draft, dirty);
  guarded(dirty);
  const run = async () => {
    other.set(undefined);
    faults.set(check(draft.peek()));
    if (Object.keys(faults.peek()).length) return toFault(undefined, faults, signal<unknown>(undefined));
    try {
      const got = await send<Flag>("POST", inProject("feature_flags/"), bodyOf(draft.peek()));
      stale("feature_flags");
      drop("flag:new");
      guard.leave = null;
      await go(`p/${project.peek()}/flags/${got.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      toFault(e, faults, other);
    }
  };
  saveKey(run);
  return [
    heading(words.newFlag),
    () => (other() ? problem(words.notDone, other()) : null),
    rules({ draft, faults, locked: () => false, flag: () => undefined }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.discard, { run: () => ((draft.set(emptyDraft())), drop("flag:new")) }), button(words.save, { kind: "primary", scope: "feature_flag:write", run })),
  ];
}
