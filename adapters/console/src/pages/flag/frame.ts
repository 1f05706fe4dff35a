// The frame of a flag's tabs: key, switch, status and actions.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { moreMenu } from "../../ui/menu";
import { button, copyText } from "../../ui/parts";
import { loadRecord, recordPage, tabLinks } from "../../ui/record";
import { time } from "../../ui/time";
import { toggle } from "../../ui/toggle";
import { get } from "../../api/client";
import { stateOf, stateWords, type Flag, type Row } from "../../api/flags";
import { go, guard, href } from "../../router";
import { hasPage, type Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { onChange } from "../../changes";
import { dialog } from "../../ui/dialog";
import { diffFlags, changesTable } from "../../ui/diff";
import { openAccess } from "../access/open";
import { change, showRefusal } from "../flags/actions";
import { copyDisabledReason, copyToProject, makeDisabledReason } from "../flags/copyto";
import { fileTag } from "../flags/file";
import { lockReason } from "./locked";

const tabs: [string, string][] = [
  ["", words.tabs.rules],
  ["exposures", words.tabs.exposures],
  ["people", words.tabs.people],
  ["history", words.tabs.history],
  ["schedule", words.tabs.schedule],
  ["code", words.tabs.code],
];

/** Loads a flag and shows a tab below its frame. */
export function flagPage(params: Params, tab: string, show: (flag: Signal<Flag>, reload: () => Promise<void>) => Child): Child {
  // While a form has unsaved changes, changes by others are only announced.
  const theirs = signal<Flag | undefined>(undefined);
  const request = async () => {
    const now = await get<Flag>(projectPath(`feature_flags/${params.id}/`));
    theirs.set(now); // a draft may set the flag to an earlier version
    return now;
  };
  const record = loadRecord(request);
  onChange("FeatureFlag", (c) => {
    const now = record.data.peek();
    if (c.item_id !== params.id || (c.version ?? Infinity) <= (now?.version ?? 0)) return;
    if (!now) return void record.reload(); // the response that is expected may be older
    if (guard.leave) return void request().catch(() => undefined);
    void record.reload().then(() => announce(words.savedBy(c.user ?? words.theServer, record.data.peek()?.version ?? 0)));
  });
  const at = `p/${project.peek()}/flags/${params.id}`;
  return recordPage<Flag>({
    record,
    title: (flag) => flag.key,
    list: { label: words.flags, path: "flags" },
    actions: tools,
    tabs: tabLinks(words.flag, tabs, at, tab),
    show: (flag) => [() => (theirs() && theirs()!.version > flag().version ? strip(flag, theirs()!) : null), show(flag, record.reload)],
  });
}

/** Returns the notice that another person has saved the flag. */
function strip(flag: Signal<Flag>, theirs: Flag): HTMLElement {
  const show = () => dialog<void>({ title: words.theirChanges, wide: true, cancel: words.close }, () => ({ content: changesTable(diffFlags(flag.peek(), theirs)), buttons: null }));
  return h("div", { class: "read-only", role: "status" }, words.savedBy(theirs.last_modified_by?.email ?? words.theServer, theirs.version), " ", button(words.showChanges, { kind: "small", run: show }));
}

function tools(flag: Signal<Flag>): Child {
  const disabledReason = () => lockReason(flag());
  const state = () => stateOf(flag());
  const put = (got: Row | undefined) => got && flag.set({ ...flag.peek(), ...got } as Flag);
  return [
    h("span", { class: () => `state ${state()}`, "data-mark": state }, () => stateWords[state()]),
    toggle(() => words.enabled(flag().key), () => flag().active, () => change.active(flag.peek() as Row).then(put, showRefusal), disabledReason),
    () => (flag().definitions_file ? fileTag(flag().definitions_file!) : null),
    h("span", { class: "meta" }, () => [words.version(flag().version), " · ", flag().last_modified_by?.first_name ?? "", " ", time(flag().updated_at)]),
    hasPage(`p/${project.peek()}/why`) ? h("a", { href: () => href(`p/${project()}/why`, { flag: flag().key }) }, words.why) : null,
    moreMenu(() => words.moreAbout(flag.peek().key), () => [
      { label: words.copyKey, run: () => void copyText(flag.peek().key).then(() => announce(words.copied)) },
      { label: words.copy, disabled: makeDisabledReason(), run: () => void go(`p/${project.peek()}/flags/new`, { from: String(flag.peek().id) }) },
      { label: words.copyToProject, disabled: copyDisabledReason(), run: () => void copyToProject(flag.peek()) },
      { label: words.access, run: () => void openAccess(flag.peek().key, projectPath(`feature_flags/${flag.peek().id}/`)) },
      { label: flag.peek().archived ? words.unarchive : words.archive, disabled: disabledReason(), run: () => void change.archived(flag.peek() as Row).then(put, showRefusal) },
      { label: words.delete, danger: true, line: true, disabled: disabledReason(), run: () => void change.deleted(flag.peek() as Row, () => undefined).then((gone) => (gone ? go(`p/${project.peek()}/flags`) : undefined), showRefusal) },
    ]),
  ];
}
