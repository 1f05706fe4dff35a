// The page of an error: its details, status and assignee.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { partsOf, saveParts } from "../../ui/conflict";
import { confirmBeforeLeave, lackOf, onSaveKey, readOnlyNote } from "../../ui/form";
import { saveDraft, loadDraft } from "../../ui/drafts";
import { button, field, linkButton, problem, select } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
import { fullTime } from "../../ui/time";
import { get, send } from "../../api/client";
import { issueName, owners, type Issue } from "../../api/errors";
import { href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { number, words } from "../../words";
import { errorWords } from "../../words/errors";
import { showRefusal } from "../flags/actions";

const scope = "error_tracking:write";
type Change = Partial<Pick<Issue, "name" | "description" | "status" | "assignee">>;

export default function issuePage(params: Params): Child {
  const path = projectPath(`error_tracking/issues/${params.id}/`);
  const toggleStatus = async (issue: Signal<Issue>) => {
    const open = issue.peek().status !== "active";
    issue.set(await send<Issue>("PATCH", path, { status: open ? "active" : "resolved" }));
    announce((open ? errorWords.reopened : errorWords.resolved)(issueName(issue.peek())));
  };
  return recordPage<Issue>({
    record: loadRecord(() => get<Issue>(path)),
    title: issueName,
    list: { label: words.errors, path: "errors" },
    actions: (issue) => [
      linkButton(errorWords.exceptions, href(`p/${project.peek()}/events`, { event: "$exception" })),
      () => button(issue().status === "active" ? errorWords.resolve : errorWords.reopen, { scope, run: () => toggleStatus(issue).catch(showRefusal) }),
    ],
    show: (issue) => [facts(issue), form(issue, path)],
  });
}

function facts(issue: Signal<Issue>): HTMLElement {
  const row = (name: string, value: () => Child) => [h("dt", null, name), h("dd", null, h("bdi", null, value))];
  return h(
    "dl",
    { class: "facts gap" },
    row(errorWords.count, () => number(issue().count)),
    row(words.firstSeen, () => fullTime(issue().first_seen)),
    row(words.lastSeen, () => fullTime(issue().last_seen)),
    row(errorWords.fingerprint, () => h("span", { class: "code" }, issue().fingerprint)),
  );
}

const labels = { name: errorWords.name, description: words.description, status: words.status, assignee: errorWords.assigned };

/** Returns the form of an error. Only the changed fields are sent. */
function form(issue: Signal<Issue>, path: string): HTMLElement {
  const record = `issue:${issue.peek().id}`;
  const was = loadDraft<{ change: Change; base: Change }>(record);
  const change = signal<Change>(was?.change ?? {});
  let base: Change = was?.base ?? {}; // the values that the changed members had
  const other = signal<unknown>(undefined);
  const allOwners = owners();
  const locked = () => !hasScope(scope);
  const now = <K extends keyof Change>(member: K) => (member in change() ? change()[member] : issue()[member]) as Issue[K];
  const put = (c: Change) => {
    base = { ...Object.fromEntries(Object.keys(c).map((k) => [k, issue.peek()[k as keyof Change]])), ...base };
    change.update((was) => ({ ...was, ...c }));
  };
  const changed = () => Object.fromEntries(Object.entries(change()).filter(([k, v]) => v !== issue()[k as keyof Change]));
  const dirty = () => Object.keys(changed()).length > 0;
  if (was && dirty()) announce(words.draftRestored);
  saveDraft(record, () => ({ change: change(), base }), dirty);
  confirmBeforeLeave(dirty);
  const save = async () => {
    other.set(undefined);
    try {
      const got = await saveParts(path, partsOf({ ...issue.peek(), ...base }, changed(), labels));
      if (!got) return;
      issue.set(got);
      change.set({});
      base = {};
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, disabled: locked, value: () => now("name"), oninput: () => put({ name: name.value }) });
  const text: HTMLTextAreaElement = h("textarea", { rows: 4, maxlength: 4000, disabled: locked, value: () => now("description"), oninput: () => put({ description: text.value }) });
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": errorWords.issue },
    () => (other() ? problem(words.notDone, other()) : null),
    readOnlyNote(() => lackOf(scope)),
    field(name, { label: errorWords.name }),
    field(text, { label: words.description }),
    field(select(() => now("status"), () => Object.entries(errorWords.status), (status) => put({ status }), { disabled: locked }), { label: words.status, hint: errorWords.statusHint }),
    field(select(() => now("assignee") ?? "", () => allOwners.options(issue().assignee), (id) => put({ assignee: id || null }), { disabled: locked }), { label: errorWords.assigned }),
    h("div", null, button(words.save, { kind: "primary", scope, run: save })),
  );
}
