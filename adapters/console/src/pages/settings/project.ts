// The page Project settings: name and time zone, keys, approvals of flag changes, code examples, and deletion.
import { h, signal, when, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, copyText, faultAlert, field, heading, linkButton, select, showResource } from "../../ui/parts";
import type { Approvals } from "../../api/approvals";
import { resource, invalidate, type Resource } from "../../api/cache";
import { ApiError, send, site } from "../../api/client";
import { go, href } from "../../router";
import { loadSession, project } from "../../session";
import { words } from "../../words";
import { projectWords } from "../../words/settings";
import { snippets } from "../flag/snippets";
import { experimentDefaults, type ExperimentsConfig } from "./experiments";

interface SnippetDefaults {
  language: string;
  host: string;
}

interface Project {
  id: number;
  name: string;
  timezone: string;
  api_token: string;
  secret_api_token: string | null;
  secret_api_token_backup: string | null;
  snippet_defaults: SnippetDefaults | null;
  flag_approvals: Approvals;
  experiments_config: ExperimentsConfig;
}

const scope = "project:write";
const path = () => `projects/${project.peek()}/`;

export default function settingsPage(): Child {
  const got = resource<Project>(() => ({ path: `projects/${project()}/` }));
  return [heading(projectWords.projectSettings, linkButton(words.access, href(`p/${project.peek()}/settings/access`))), showResource(got, (data) => {
      const was = got.data.peek()!; // not reactive, so that the form keeps what is typed when the project is loaded again
      return [general(was, got), keys(data, got), approvals(was), experimentDefaults(was.experiments_config), snippetDefaults(was), danger(data)];
    })];
}

/** Returns a region with buttons. Errors of their actions are shown in it. */
function region(name: string, content: Child, ...actions: ((run: (work: () => Promise<unknown>) => Promise<void>) => Child)[]): HTMLElement {
  const fault = signal("");
  const run = async (work: () => Promise<unknown>) => {
    fault.set("");
    await work().catch((e: unknown) => fault.set(e instanceof ApiError ? e.detail : String(e)));
  };
  return h("section", { class: "card", "aria-label": name }, h("h2", { class: "gap" }, name), h("div", { class: "stack" }, content), faultAlert(fault), h("div", { class: "choices gap-above" }, actions.map((a) => a(run))));
}

async function change(body: object): Promise<void> {
  await send<Project>("PATCH", path(), body);
  invalidate(path());
  announce(words.saved);
}

function general(p: Project, got: Resource<Project>): HTMLElement {
  const name = h("input", { type: "text", maxlength: 200, value: p.name });
  const zone = signal(p.timezone);
  const zones = [...new Set(["UTC", p.timezone, ...Intl.supportedValuesOf("timeZone")])].map((z) => [z, z] as const);
  const save = async () => {
    await change({ name: name.value.trim(), timezone: zone.peek() });
    got.reload();
    await loadSession();
  };
  return region(projectWords.general, [field(name, { label: projectWords.name }), field(select(zone, () => zones, zone.set), { label: projectWords.timeZone })], (run) => button(words.save, { kind: "primary", scope, run: () => run(save) }));
}

function keys(p: () => Project, got: Resource<Project>): HTMLElement {
  const key = h("input", { type: "text", class: "code", readonly: true, value: () => p().api_token });
  const rotate = async () => {
    if (!(await confirm(projectWords.rotateAsk, projectWords.rotateText, projectWords.rotate))) return;
    const { secret_api_token: secret } = await send<Project>("PATCH", `${path()}rotate_secret_token/`);
    const secretField = h("input", { type: "text", class: "code", readonly: true, value: secret ?? "", "data-first": "" });
    await dialog<void>({ title: projectWords.newSecret, cancel: null }, (d) => ({
      content: field(secretField, { label: words.key, hint: words.keyOnce }),
      buttons: [button(words.copyKey, { run: () => copyText(secret ?? "").then(() => announce(words.copied)) }), button(words.doneButton, { kind: "primary", run: () => d.close() })],
    }));
    got.reload();
  };
  const replace = async () => {
    if (!(await confirm(projectWords.replaceAsk, projectWords.replaceText, projectWords.replace))) return;
    await send("PATCH", `${path()}reset_token/`);
    got.reload();
    announce(projectWords.replaced);
  };
  const dropOld = async () => {
    const mask = p().secret_api_token_backup!;
    if (!(await confirm(projectWords.deleteOldAsk, projectWords.deleteOldText(mask), projectWords.deleteOldSecret))) return;
    await send("PATCH", `${path()}delete_secret_token_backup/`);
    got.reload();
    announce(projectWords.deletedOldSecret);
  };
  return region(
    projectWords.keys,
    [field(key, { label: projectWords.projectKey, hint: projectWords.projectKeyHint }), h("p", { class: "meta" }, () => projectWords.secretKey(p().secret_api_token)), when(() => p().secret_api_token_backup, () => h("p", { class: "meta" }, () => projectWords.oldSecret(p().secret_api_token_backup ?? "")))],
    () => button(projectWords.copyProjectKey, { run: () => copyText(p().api_token).then(() => announce(words.copied)) }),
    (run) => button(projectWords.rotateSecret, { scope, run: () => run(rotate) }),
    (run) => when(() => p().secret_api_token_backup, () => button(projectWords.deleteOldSecret, { scope, run: () => run(dropOld) })),
    (run) => button(projectWords.replaceKey, { kind: "danger", scope, run: () => run(replace) }),
  );
}

function approvals({ flag_approvals: a }: Project): HTMLElement {
  const needed = h("input", { type: "number", min: 0, max: 5, step: 1, value: String(a.needed) });
  const tags = h("input", { type: "text", value: a.tags.join(", ") });
  const free = h("input", { type: "checkbox", checked: a.switch_off_free });
  const list = () => tags.value.split(",").map((t) => t.trim()).filter(Boolean);
  return region(
    words.approvals,
    [field(needed, { label: projectWords.needed, hint: projectWords.neededHint }), field(tags, { label: projectWords.onlyTags, hint: projectWords.onlyTagsHint }), h("label", { class: "check" }, free, projectWords.offFree)],
    (run) => button(projectWords.saveApprovals, { kind: "primary", scope, run: () => run(() => change({ flag_approvals: { needed: Number(needed.value), tags: list(), switch_off_free: free.checked } })) }),
  );
}

function snippetDefaults({ snippet_defaults: was }: Project): HTMLElement {
  const language = signal(was?.language ?? "");
  const host = h("input", { type: "url", maxlength: 400, value: was?.host ?? "" });
  const languages = [["", projectWords.noLanguage], ...Object.keys(snippets).map((l) => [l, l])] as [string, string][];
  const save = () => change({ snippet_defaults: { language: language.peek(), host: host.value.trim().replace(/\/+$/, "") } });
  return region(
    projectWords.snippetDefaults,
    [h("p", { class: "meta" }, projectWords.snippetText), field(select(language, () => languages, language.set), { label: projectWords.language }), field(host, { label: projectWords.host, hint: projectWords.hostHint(site()) })],
    (run) => button(projectWords.saveSnippets, { kind: "primary", scope, run: () => run(save) }),
  );
}

function danger(p: () => Project): HTMLElement {
  const deleteProject = async () => {
    const { name } = p();
    const word = signal("");
    const typed: HTMLInputElement = h("input", { type: "text", autocomplete: "off", oninput: () => word.set(typed.value.trim()) });
    const yes = await dialog<boolean>({ title: projectWords.deleteAsk(name), alert: true }, (d) => ({
      content: [h("p", null, projectWords.deleteText), field(typed, { label: projectWords.typeName(name) })],
      buttons: h("button", { type: "button", class: "button danger", disabled: () => word() !== name.trim(), onclick: () => d.close(true) }, projectWords.deleteProject),
    }));
    if (!yes) return;
    await send("DELETE", path());
    await loadSession();
    await go("");
    announce(words.deleted(name));
  };
  return region(projectWords.danger, h("p", null, projectWords.dangerText), (run) => button(projectWords.deleteProject, { kind: "danger", scope, run: () => run(deleteProject) }));
}
