// The tab History of a flag: its versions, their changes, and restoring one.
import { computed, h, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { diffFlags, changesTable } from "../../ui/diff";
import { effectBody, effectRegion } from "../../ui/effect";
import { pages } from "../../ui/pages";
import { button, field, problem, showResource } from "../../ui/parts";
import { time } from "../../ui/time";
import { needsApproval, requestApproval } from "../../api/approvals";
import { invalidate } from "../../api/cache";
import { get, send } from "../../api/client";
import { changedMembers } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";
import { showRefusal } from "../flags/actions";
import { flagPage } from "./frame";
import { lockReason } from "./locked";

/** The members of a flag that belong to its versions. */
const members = ["key", "name", "filters", "active", "archived", "deleted", "tags", "ensure_experience_continuity", "evaluation_runtime", "is_remote_configuration", "bucketing_hash", "bucketing_identifier", "evaluation_contexts", "evaluation_contexts_match_mode"] as const;

interface Version extends Pick<Flag, (typeof members)[number] | "version" | "created_at" | "created_by"> {
  change_note?: string;
}

const pageSize = 101; // one more than is shown, to compare the last one with

export default function historyPage(params: Params): Child {
  return flagPage(params, "history", versions);
}

function versions(flag: Signal<Flag>): Child {
  const path = projectPath(`feature_flags/${flag.peek().id}/versions/`);
  const version = computed(() => flag().version);
  const list = pages<Version>(() => (version(), { path, query: { limit: pageSize } }));
  const all = () => list.data() ?? [];
  const shown = () => (list.next() ? all().slice(0, -1) : all());
  const before = (v: Version) => all().find((x) => x.version === v.version - 1);
  const chosen = computed(() => (/^[1-9]\d*$/.test(param("version")) ? Number(param("version")) : 0));
  const describe = (v: Version) => {
    const was = before(v);
    if (v.version === 1) return words.firstVersion;
    return was ? diffFlags(was, v).map((c) => c.what).join(", ") || words.dash : words.dash;
  };
  const restoreVersion = async (v: Version) => {
    const got = await restore(flag.peek(), v);
    if (!got) return;
    invalidate("feature_flags");
    flag.set({ ...flag.peek(), ...got });
    announce(words.restored(v.version));
  };
  const row = (v: Version) =>
    h(
      "tr",
      null,
      h("td", null, v.version, v.version === flag().version ? h("span", { class: "meta" }, ` ${words.present}`) : null),
      h("td", null, time(v.created_at)),
      h("td", null, h("bdi", null, v.created_by?.email ?? words.dash)),
      h("td", null, describe(v), v.change_note ? h("p", { class: "meta" }, v.change_note) : null),
      h(
        "td",
        { class: "tight" },
        h("div", { class: "choices" }, [
          button(words.compareShort, { kind: "small", "aria-label": words.compare(v.version), disabledReason: () => (before(v) ? null : words.nothingBefore), run: () => setParams({ version: String(v.version) }) }),
          v.version === flag().version ? null : button(words.restore, { kind: "small", "aria-label": words.restoreN(v.version), disabledReason: () => lockReason({ ...flag(), deleted: false }), run: () => restoreVersion(v).catch(showRefusal) }),
        ]),
      ),
    );
  return [
    h("h2", { class: "gap" }, words.tabs.history),
    showResource(list, () =>
      h(
        "div",
        { class: "scroller", tabindex: 0, role: "region", "aria-label": words.tabs.history },
        h("table", { "aria-label": words.versions }, h("thead", null, h("tr", null, [words.versionHead, words.when, words.who, words.whatChanged].map((t) => h("th", { scope: "col" }, t)), h("td", null))), h("tbody", null, () => shown().map(row))),
      ),
    ),
    when(list.next, () => h("p", { class: "choices gap-above" }, button(words.loadMore, { run: list.more }), h("span", { class: "meta" }, () => words.versionsShown(shown().length, flag().version)))),
    () => (chosen() ? comparison(path, chosen(), (n) => untracked(all).find((v) => v.version === n)) : null),
  ];
}

/** Returns the region with the changes of a version. Versions that are not loaded are requested. */
function comparison(path: string, n: number, known: (n: number) => Version | undefined): HTMLElement {
  const both = signal<[Version, Version] | undefined>(undefined);
  const fault = signal<unknown>(n > 1 ? undefined : new Error(words.nothingBefore));
  const version = async (k: number) => known(k) ?? get<Version>(`${path}${k}/`);
  if (n > 1) Promise.all([version(n - 1), version(n)]).then(both.set, fault.set);
  return h(
    "section",
    { class: "card gap-above", "aria-label": words.changesIn(n), "aria-busy": () => !both() && !fault() },
    h("h2", null, words.changesIn(n)),
    () => (both() ? changesTable(diffFlags(...both()!)) : fault() ? problem(words.failed, fault()) : null),
  );
}

/** Asks for confirmation with the changes and their effect, then restores a version. */
async function restore(flag: Flag, v: Version): Promise<Flag | undefined> {
  const patch = changedMembers(flag, Object.fromEntries(members.map((name) => [name, v[name]])) as Partial<Flag>);
  const approval = await needsApproval(flag, patch);
  const note = h("textarea", { rows: 2, maxlength: 500 });
  const said = await dialog<string>({ title: words.restoreAsk(v.version), wide: true }, (d) => ({
    content: [changesTable(diffFlags(flag, v)), effectRegion(flag.id, () => effectBody(v)), field(note, { label: words.note, hint: words.noteHint })],
    buttons: h("button", { type: "button", class: "button primary", "data-first": "", onclick: () => d.close(note.value) }, approval ? approvalWords.request : words.restore),
  }));
  if (said === undefined) return undefined;
  if (approval) return void (await requestApproval(flag, patch, words.restoreN(v.version), said));
  return send<Flag>("POST", projectPath(`feature_flags/${flag.id}/restore/`), { version: v.version, ...(said ? { change_note: said } : {}) });
}
