// The page Organization settings: name, rights of members, new projects, and deletion.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, faultAlert, field, heading, showResource } from "../../ui/parts";
import { resource, invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { go } from "../../router";
import { loadSession, hasScope } from "../../session";
import { words } from "../../words";
import { organizationWords } from "../../words/organization";

interface Organization {
  name: string;
  membership_level: number;
  members_can_invite: boolean;
  members_can_use_personal_api_keys: boolean;
  is_member_join_email_enabled: boolean;
}

const at = "organizations/@current/";
const write = "organization:write";

export default function organizationPage(): Child {
  const got = resource<Organization>(() => ({ path: at }));
  return [heading(words.organizationSettings, button(organizationWords.newProject, { scope: "project:write", run: newProject })), showResource(got, (data) => {
    const o = signal(data());
    return [general(o), danger(o)];
  })];
}

function general(o: Signal<Organization>): HTMLElement {
  const fault = signal("");
  const off = () => !hasScope(write) || o().membership_level < 8;
  const name = h("input", { type: "text", value: o.peek().name, maxlength: 64, disabled: off });
  const check = (member: "members_can_invite" | "members_can_use_personal_api_keys" | "is_member_join_email_enabled") => h("input", { type: "checkbox", checked: o.peek()[member], disabled: off });
  const [invite, keys, mails] = [check("members_can_invite"), check("members_can_use_personal_api_keys"), check("is_member_join_email_enabled")];
  const save = async () => {
    fault.set("");
    try {
      o.set(await send<Organization>("PATCH", at, { name: name.value.trim(), members_can_invite: invite.checked, members_can_use_personal_api_keys: keys.checked, is_member_join_email_enabled: mails.checked }));
      invalidate(at);
      await loadSession();
      announce(words.saved);
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  return h("section", { class: "card", "aria-label": organizationWords.general }, [
    h("h2", null, organizationWords.general),
    faultAlert(fault),
    field(name, { label: organizationWords.name }),
    h("label", { class: "check" }, invite, organizationWords.membersInvite),
    h("label", { class: "check" }, keys, organizationWords.membersKeys),
    h("label", { class: "check" }, mails, organizationWords.joinMails),
    button(words.save, { kind: "primary", scope: write, disabledReason: () => (o().membership_level < 8 ? organizationWords.administratorsOnly : null), run: save }),
  ]);
}

function danger(o: Signal<Organization>): HTMLElement {
  const fault = signal("");
  const remove = async () => {
    if (!(await confirmByName(o.peek().name, organizationWords.deleteOrganization))) return;
    try {
      await send("DELETE", at);
      location.reload();
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  return h("section", { class: "card", "aria-label": organizationWords.danger }, [
    h("h2", null, organizationWords.danger),
    faultAlert(fault),
    h("p", { class: "meta" }, organizationWords.deleteText),
    button(organizationWords.deleteOrganization, { kind: "danger", scope: write, disabledReason: () => (o().membership_level < 15 ? organizationWords.ownersOnly : null), run: remove }),
  ]);
}

async function newProject(): Promise<void> {
  const name = h("input", { type: "text", maxlength: 200, "data-first": "" });
  const fault = signal<string | undefined>(undefined);
  const made = await dialog<{ id: number; name: string }>({ title: organizationWords.newProject }, (d) => ({
    content: field(name, { label: organizationWords.name, fault }),
    buttons: button(organizationWords.make, {
      kind: "primary",
      run: async () => {
        try {
          d.close(await send<{ id: number; name: string }>("POST", "projects/", { name: name.value.trim() }));
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
        }
      },
    }),
  }));
  if (!made) return;
  await loadSession();
  announce(organizationWords.madeProject(made.name));
  await go(`p/${made.id}`);
}

/** Asks the person to type a name before an action that cannot be undone. */
async function confirmByName(name: string, action: string): Promise<boolean> {
  const word = signal("");
  const input: HTMLInputElement = h("input", { type: "text", autocomplete: "off", oninput: () => word.set(input.value) });
  const done = await dialog<boolean>({ title: organizationWords.deleteAsk(name), alert: true }, (d) => ({
    content: [h("p", null, organizationWords.deleteText), field(input, { label: organizationWords.typeName(name) })],
    buttons: button(action, { kind: "danger", disabled: () => word().trim() !== name, run: () => d.close(true) }),
  }));
  return done === true;
}
