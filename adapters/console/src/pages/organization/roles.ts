// The part of the page Members about roles: their names and members.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { combobox } from "../../ui/combobox";
import { confirm, dialog } from "../../ui/dialog";
import { button, faultAlert, field } from "../../ui/parts";
import { listOf } from "../../ui/list";
import type { Pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { toggle } from "../../ui/toggle";
import type { Member, Role, RoleMember } from "../../api/access";
import { ApiError, get, send } from "../../api/client";
import { hasScope, isAdministrator } from "../../session";
import { words } from "../../words";
import { organizationWords } from "../../words/organization";
import { showRefusal } from "../flags/actions";

const base = "organizations/@current/";
const scope = "organization:write";
const disabledReason = () => (isAdministrator() ? null : organizationWords.needsAdministrator);

/** Returns the section Roles. again is called after each change. */
export function rolesSection(list: Pages<Role>, again: () => void): Child {
  const ask = (work: () => Promise<boolean>) => () => work().then((done) => done && again(), showRefusal);
  const tools = (r: Signal<Role>) =>
    h("div", { class: "choices" }, [
      button(organizationWords.members, { kind: "small", "aria-label": () => organizationWords.membersOf(r().name), run: () => membersOf(r.peek()).then((changed) => changed && again(), showRefusal) }),
      button(organizationWords.rename, { kind: "small", "aria-label": () => organizationWords.renameRole(r().name), scope, disabledReason, run: ask(() => nameRole(r.peek())) }),
      button(words.delete, { kind: "small", "aria-label": () => organizationWords.deleteRole(r().name), scope, disabledReason, run: ask(() => remove(r.peek())) }),
    ]);
  return [
    h("div", { class: "between gap-above gap" }, h("h2", null, organizationWords.roles), button(organizationWords.newRole, { scope, disabledReason, run: ask(() => nameRole()) })),
    h("p", { class: "meta gap" }, organizationWords.rolesText),
    listOf(list, () => h("p", { class: "meta" }, organizationWords.noRoles), (rows) =>
      recordTable<Role>(
        organizationWords.roles,
        [
          { label: organizationWords.role, cell: (r) => h("bdi", null, () => r().name) },
          { label: organizationWords.members, cell: (r) => () => organizationWords.nMembers(r().members.length), class: "meta" },
          { label: organizationWords.newMembers, cell: (r) => toggle(() => organizationWords.newMembersGet(r().name), () => r().is_default, ask(() => setDefault(r.peek())), () => (hasScope(scope) ? disabledReason() : words.needs(scope))) },
          { label: "", cell: tools, class: "tight" },
        ],
        rows,
        (r) => r.id,
      ),
    ),
  ];
}

/** Asks for the name of a new role, or for another name of a role. It reports whether it was saved. */
async function nameRole(role?: Role): Promise<boolean> {
  const name = h("input", { type: "text", autocomplete: "off", maxlength: 200, value: role?.name ?? "", "data-first": "" });
  const fault = signal<string | undefined>(undefined);
  const done = await dialog<boolean>({ title: role ? organizationWords.renameRole(role.name) : organizationWords.newRole }, (d) => ({
    content: field(name, { label: organizationWords.name, fault }),
    buttons: button(role ? words.save : organizationWords.makeRole, {
      kind: "primary",
      run: async () => {
        try {
          await send(role ? "PATCH" : "POST", role ? `${base}roles/${role.id}/` : `${base}roles/`, { name: name.value.trim() });
          d.close(true);
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
          name.focus();
        }
      },
    }),
  }));
  if (done) announce(words.saved);
  return done === true;
}

/** Makes a role the one that new members get, or none if it is that role. */
async function setDefault(r: Role): Promise<boolean> {
  await send("PATCH", base, { default_role_id: r.is_default ? null : r.id });
  announce(words.saved);
  return true;
}

async function remove(r: Role): Promise<boolean> {
  if (!(await confirm(words.deleteAsk(r.name), organizationWords.deleteRoleText, words.delete))) return false;
  await send("DELETE", `${base}roles/${r.id}/`);
  announce(words.deleted(r.name));
  return true;
}

/** Opens the dialog with the members of a role. It reports whether they were changed. */
async function membersOf(role: Role): Promise<boolean> {
  const path = `${base}roles/${role.id}/`;
  const list = signal<RoleMember[]>(role.members);
  const email = signal("");
  const fault = signal<string | undefined>(undefined);
  let changed = false;
  const run = async (work: () => Promise<unknown>, said: string) => {
    fault.set(undefined);
    try {
      await work();
      changed = true;
      announce(said);
      list.set((await get<Role>(path)).members);
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  const add = async () => {
    const wanted = email.peek().trim();
    const found = (await findMembers(wanted)).find((m) => m.user.email.toLowerCase() === wanted.toLowerCase());
    if (!found) return fault.set(organizationWords.noMember(wanted));
    await run(() => send("POST", `${path}role_memberships/`, { user_uuid: found.user.uuid }), organizationWords.addedTo(found.user.email, role.name));
    email.set("");
  };
  await dialog<void>({ title: organizationWords.membersOf(role.name), cancel: words.close }, () => ({
    content: h("div", { class: "stack" }, [
      when(() => !list().length, () => h("p", { class: "meta" }, organizationWords.noMembers)),
      () => (list().length ? h("ul", { class: "rows", "aria-label": organizationWords.membersOf(role.name) }, list().map((m) => row(m))) : null),
      h("div", { class: "fields" }, [
        h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, organizationWords.member), combobox({ label: organizationWords.member, value: email, options: (typed) => findMembers(typed).then((all) => all.map((m) => ({ value: m.user.email, text: m.user.email, note: m.user.first_name }))), change: email.set, free: true, disabled: () => !isAdministrator() })),
        button(organizationWords.addMember, { scope, disabledReason, run: add }),
      ]),
      faultAlert(fault, "fault"),
    ]),
    buttons: null,
  }));
  return changed;

  function row(m: RoleMember): HTMLElement {
    const drop = () => run(() => send("DELETE", `${path}role_memberships/${m.id}/`), organizationWords.removedFrom(m.user.email, role.name));
    return h("li", null, h("bdi", null, m.user.email), h("span", { class: "space" }), button(organizationWords.remove, { kind: "small", "aria-label": organizationWords.removeFrom(m.user.email, role.name), scope, disabledReason, run: drop }));
  }
}

const findMembers = (typed: string): Promise<Member[]> => get<{ results: Member[] }>(`${base}members/`, { search: typed, limit: 20 }).then((l) => l.results);
