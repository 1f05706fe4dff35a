// The page of an error: its details, status and assignee.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { saveDraft, loadDraft } from "../../ui/drafts";
import { loadingBars, button, field, heading, linkButton, problem, select } from "../../ui/parts";
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
  const got = signal<Issue | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const load = () => get<Issue>(path).then((i) => (got.set(i), fault.set(undefined)), (e: unknown) => fault.set(e));
  void load();
  const issue = got as Signal<Issue>;
  const toggleStatus = async () => {
    const open = issue.peek().status !== "active";
    issue.set(await send<Issue>("PATCH", path, { status: open ? "active" : "resolved" }));
    announce((open ? errorWords.reopened : errorWords.resolved)(issueName(issue.peek())));
  };
  return [
    heading(() => (got() ? issueName(got()!) : "…"), linkButton(errorWords.exceptions, href(`p/${project.peek()}/events`, { event: "$exception" })), when(got, () => () => button(issue().status === "active" ? errorWords.resolve : errorWords.reopen, { scope, run: () => toggleStatus().catch(showRefusal) }))),
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => !got() && !fault(), () => loadingBars()),
    when(got, () => [facts(issue), form(issue, path)]),
  ];
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

/** Returns the form of an error. Only the changed fields are sent. */
function form(issue: Signal<Issue>, path: string): HTMLElement {
  const record = `issue:${issue.peek().id}`;
  const was = loadDraft<Change>(record);
  const change = signal<Change>(was ?? {});
  const other = signal<unknown>(undefined);
  const allOwners = owners();
  const locked = () => !hasScope(scope);
  const now = <K extends keyof Change>(member: K) => (member in change() ? change()[member] : issue()[member]) as Issue[K];
  const put = (c: Change) => change.update((was) => ({ ...was, ...c }));
  const changed = () => Object.fromEntries(Object.entries(change()).filter(([k, v]) => v !== issue()[k as keyof Change]));
  const dirty = () => Object.keys(changed()).length > 0;
  if (was && dirty()) announce(words.draftRestored);
  saveDraft(record, change, dirty);
  confirmBeforeLeave(dirty);
  const save = async () => {
    other.set(undefined);
    try {
      issue.set(await send<Issue>("PATCH", path, changed()));
      change.set({});
      announce(words.saved);
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
    field(name, { label: errorWords.name }),
    field(text, { label: words.description }),
    field(select(() => now("status"), () => Object.entries(errorWords.status), (status) => put({ status }), { disabled: locked }), { label: words.status, hint: errorWords.statusHint }),
    field(select(() => now("assignee") ?? "", () => allOwners.options(issue().assignee), (id) => put({ assignee: id || null }), { disabled: locked }), { label: errorWords.assigned }),
    h("div", null, button(words.save, { kind: "primary", scope, run: save })),
  );
}
