// Settings of a project: its name and zone, its keys, who has to approve changes of flags.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, copyText, field, heading, select, shown } from "../../ui/parts";
import type { Approvals } from "../../api/approvals";
import { answer, stale, type Answer } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { go } from "../../router";
import { loadSession, project } from "../../session";
import { w } from "../../words";
import { ws } from "../../words/settings";

interface Project {
  id: number;
  name: string;
  timezone: string;
  api_token: string;
  secret_api_token: string | null;
  flag_approvals: Approvals;
}

const scope = "project:write";
const path = () => `projects/${project.peek()}/`;

export default function settingsPage(): Child {
  const got = answer<Project>(() => ({ path: `projects/${project()}/` }));
  return [heading(ws.projectSettings), shown(got, (data) => {
      const was = got.data.peek()!; // a form keeps what is typed when the answer is another one
      return [general(was, got), keys(data, got), approvals(was), danger(data)];
    })];
}

/** A region whose button does something, and says what was refused. */
function region(name: string, content: Child, ...actions: ((run: (work: () => Promise<unknown>) => Promise<void>) => Child)[]): HTMLElement {
  const fault = signal("");
  const run = async (work: () => Promise<unknown>) => {
    fault.set("");
    await work().catch((e: unknown) => fault.set(e instanceof ApiError ? e.detail : String(e)));
  };
  return h("section", { class: "card", "aria-label": name }, h("h2", { class: "gap" }, name), h("div", { class: "stack" }, content), () => (fault() ? h("p", { class: "problem", role: "alert" }, fault()) : null), h("div", { class: "choices gap-above" }, actions.map((a) => a(run))));
}

async function change(body: object): Promise<void> {
  await send<Project>("PATCH", path(), body);
  stale(path());
  announce(w.saved);
}

function general(p: Project, got: Answer<Project>): HTMLElement {
  const name = h("input", { type: "text", maxlength: 200, value: p.name });
  const zone = signal(p.timezone);
  const zones = [...new Set(["UTC", p.timezone, ...Intl.supportedValuesOf("timeZone")])].map((z) => [z, z] as const);
  const save = async () => {
    await change({ name: name.value.trim(), timezone: zone.peek() });
    got.reload();
    await loadSession();
  };
  return region(ws.general, [field(name, { label: ws.name }), field(select(zone, () => zones, zone.set), { label: ws.timeZone })], (run) => button(w.save, { kind: "primary", scope, run: () => run(save) }));
}

function keys(p: () => Project, got: Answer<Project>): HTMLElement {
  const key = h("input", { type: "text", class: "code", readonly: true, value: () => p().api_token });
  const rotate = async () => {
    if (!(await confirm(ws.rotateAsk, ws.rotateText, ws.rotate))) return;
    const { secret_api_token: secret } = await send<Project>("PATCH", `${path()}rotate_secret_token/`);
    const once = h("input", { type: "text", class: "code", readonly: true, value: secret ?? "", "data-first": "" });
    await dialog<void>({ title: ws.newSecret, cancel: null }, (d) => ({
      content: field(once, { label: w.key, hint: w.keyOnce }),
      buttons: [button(w.copyKey, { run: () => copyText(secret ?? "").then(() => announce(w.copied)) }), button(w.doneButton, { kind: "primary", run: () => d.close() })],
    }));
    got.reload();
  };
  const replace = async () => {
    if (!(await confirm(ws.replaceAsk, ws.replaceText, ws.replace))) return;
    await send("PATCH", `${path()}reset_token/`);
    got.reload();
    announce(ws.replaced);
  };
  return region(
    ws.keys,
    [field(key, { label: ws.projectKey, hint: ws.projectKeyHint }), h("p", { class: "meta" }, () => ws.secretKey(p().secret_api_token))],
    () => button(ws.copyProjectKey, { run: () => copyText(p().api_token).then(() => announce(w.copied)) }),
    (run) => button(ws.rotateSecret, { scope, run: () => run(rotate) }),
    (run) => button(ws.replaceKey, { kind: "danger", scope, run: () => run(replace) }),
  );
}

function approvals({ flag_approvals: a }: Project): HTMLElement {
  const needed = h("input", { type: "number", min: 0, max: 5, step: 1, value: String(a.needed) });
  const tags = h("input", { type: "text", value: a.tags.join(", ") });
  const free = h("input", { type: "checkbox", checked: a.switch_off_free });
  const list = () => tags.value.split(",").map((t) => t.trim()).filter(Boolean);
  return region(
    w.approvals,
    [field(needed, { label: ws.needed, hint: ws.neededHint }), field(tags, { label: ws.onlyTags, hint: ws.onlyTagsHint }), h("label", { class: "check" }, free, ws.offFree)],
    (run) => button(ws.saveApprovals, { kind: "primary", scope, run: () => run(() => change({ flag_approvals: { needed: Number(needed.value), tags: list(), switch_off_free: free.checked } })) }),
  );
}

function danger(p: () => Project): HTMLElement {
  const gone = async () => {
    const { name } = p();
    const word = signal("");
    const typed: HTMLInputElement = h("input", { type: "text", autocomplete: "off", oninput: () => word.set(typed.value.trim()) });
    const yes = await dialog<boolean>({ title: ws.deleteAsk(name), alert: true }, (d) => ({
      content: [h("p", null, ws.deleteText), field(typed, { label: ws.typeName(name) })],
      buttons: h("button", { type: "button", class: "button danger", disabled: () => word() !== name.trim(), onclick: () => d.close(true) }, ws.deleteProject),
    }));
    if (!yes) return;
    await send("DELETE", path());
    await loadSession();
    await go("");
    announce(w.deleted(name));
  };
  return region(ws.danger, h("p", null, ws.dangerText), (run) => button(ws.deleteProject, { kind: "danger", scope, run: () => run(gone) }));
}
