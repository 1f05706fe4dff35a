// The tab History of a flag: its versions, their changes, and restoring one.
import { computed, h, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { diffFlags, changesTable } from "../../ui/diff";
import { effectRegion } from "../../ui/effect";
import { button, field, problem, showResource } from "../../ui/parts";
import { time } from "../../ui/time";
import { needsApproval, requestApproval } from "../../api/approvals";
import { resource, invalidate } from "../../api/cache";
import { send } from "../../api/client";
import { changedMembers } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";
import { showRefusal } from "../flags/actions";
import { flagPage } from "./frame";

interface Version extends Pick<Flag, "key" | "name" | "filters" | "active" | "deleted" | "tags" | "version" | "created_at" | "created_by"> {
  change_note?: string;
}

export default function historyPage(params: Params): Child {
  return flagPage(params, "history", (flag, reload) => versions(flag as Signal<Flag>, reload));
}

function versions(flag: Signal<Flag>, reload: () => Promise<void>): Child {
  const list = resource<{ results: Version[] }>(() => ({ path: projectPath(`feature_flags/${flag().id}/versions/`), query: { limit: 100 } }));
  const all = () => list.data()?.results ?? [];
  const before = (v: Version) => all().find((x) => x.version === v.version - 1);
  const chosen = computed(() => all().find((v) => String(v.version) === param("version")));
  const describe = (v: Version) => {
    const was = before(v);
    if (!was) return v.version === 1 ? words.firstVersion : words.dash;
    return diffFlags(was, v).map((c) => c.what).join(", ") || words.dash;
  };
  const restoreVersion = async (v: Version) => {
    const got = await restore(flag.peek(), v);
    if (!got) return;
    invalidate("feature_flags");
    await reload();
    list.reload();
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
          v.version === flag().version ? null : button(words.restore, { kind: "small", "aria-label": words.restoreN(v.version), scope: "feature_flag:write", run: () => restoreVersion(v).catch(showRefusal) }),
        ]),
      ),
    );
  return [
    h("h2", { class: "gap" }, words.tabs.history),
    showResource(list, () =>
      h(
        "div",
        { class: "scroller", tabindex: 0, role: "region", "aria-label": words.tabs.history },
        h("table", { "aria-label": words.versions }, h("thead", null, h("tr", null, [words.versionHead, words.when, words.who, words.whatChanged].map((t) => h("th", { scope: "col" }, t)), h("td", null))), h("tbody", null, () => all().map(row))),
      ),
    ),
    when(chosen, () =>
      h("section", { class: "card gap-above", "aria-label": () => words.changesIn(chosen()?.version ?? 0) }, h("h2", null, () => words.changesIn(chosen()?.version ?? 0)), () => {
        const v = chosen();
        const was = v && before(v);
        return was ? changesTable(diffFlags(was, v)) : problem(words.failed, new Error(words.noChanges));
      }),
    ),
  ];
}

/** Asks for confirmation with the changes and their effect, then restores a version. */
async function restore(flag: Flag, v: Version): Promise<Flag | undefined> {
  const patch = changedMembers(flag, { key: v.key, name: v.name, filters: v.filters, active: v.active, deleted: v.deleted, tags: v.tags });
  const approval = await needsApproval(flag, patch);
  const note = h("textarea", { rows: 2, maxlength: 500 });
  const said = await dialog<string>({ title: words.restoreAsk(v.version), wide: true }, (d) => ({
    content: [changesTable(diffFlags(flag, v)), effectRegion(flag.id, () => ({ filters: v.filters, active: v.active })), field(note, { label: words.note, hint: words.noteHint })],
    buttons: h("button", { type: "button", class: "button primary", "data-first": "", onclick: () => d.close(note.value) }, approval ? approvalWords.request : words.restore),
  }));
  if (said === undefined) return undefined;
  if (approval) return void (await requestApproval(flag, patch, words.restoreN(v.version), said));
  return send<Flag>("POST", projectPath(`feature_flags/${flag.id}/restore/`), { version: v.version, ...(said ? { change_note: said } : {}) });
}
