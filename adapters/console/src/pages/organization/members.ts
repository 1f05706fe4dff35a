// The page Members: members, invitations and roles of the organization.
import { h, signal, when, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, copyText, field, heading, select, showResource } from "../../ui/parts";
import { more } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import type { Member, Role } from "../../api/access";
import { invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { hasScope, session } from "../../session";
import { list, words } from "../../words";
import { organizationWords } from "../../words/organization";
import { showRefusal } from "../flags/actions";
import { rolesSection } from "./roles";

interface Invite {
  id: string;
  target_email: string;
  level: number;
  created_at: string;
  is_expired: boolean;
  emailing_attempt_made: boolean;
  accept_url?: string;
}

const base = "organizations/@current/";
const write = "organization_member:write";
const levels = () => Object.entries(organizationWords.levels).filter(([level]) => Number(level) <= (session()?.organization.level ?? 0));

export default function membersPage(): Child {
  const members = pages<Member>(() => ({ path: `${base}members/`, query: { limit: 100 } }));
  const invites = pages<Invite>(() => ({ path: `${base}invites/`, query: { limit: 100 } }));
  const roles = pages<Role>(() => ({ path: `${base}roles/`, query: { limit: 100 } }));
  const rolesOf = (m: Member) => (roles.data() ?? []).filter((r) => r.members.some((x) => x.user.uuid === m.user.uuid)).map((r) => r.name);
  const again = () => (invalidate("organizations/@current"), members.reload(), invites.reload(), roles.reload());
  const above = (level: number) => level > (session()?.organization.level ?? 0);
  const change = async (m: Member, level: number) => {
    await send("PATCH", `${base}members/${m.user.uuid}/`, { level }).finally(again);
    announce(words.saved);
  };
  const remove = async (m: Member) => {
    if (!(await confirm(organizationWords.removeAsk(m.user.email), organizationWords.removeText, organizationWords.remove))) return;
    await send("DELETE", `${base}members/${m.user.uuid}/`);
    again();
    announce(organizationWords.removed(m.user.email));
  };
  const cancel = async (i: Invite) => {
    if (!(await confirm(`${organizationWords.cancelInvitation(i.target_email)}?`, organizationWords.cancelInvitationText, organizationWords.remove))) return;
    await send("DELETE", `${base}invites/${i.id}/`);
    again();
    announce(organizationWords.removed(i.target_email));
  };
  return [
    heading(organizationWords.members, button(organizationWords.invite, { kind: "primary", scope: write, run: () => invite().then((done) => done && again(), showRefusal) })),
    showResource(members, (data) =>
      recordTable<Member>(
        organizationWords.members,
        [
          { label: organizationWords.email, cell: (m) => h("bdi", null, () => m().user.email) },
          { label: organizationWords.level, cell: (m) => select(() => String(m().level), () => (above(m().level) ? Object.entries(organizationWords.levels) : levels()), (v) => void change(m.peek(), Number(v)).catch(showRefusal), { "aria-label": organizationWords.levelOf(m.peek().user.email), disabled: () => !hasScope(write) || above(m().level) }) },
          { label: organizationWords.roles, cell: (m) => h("bdi", null, () => list(rolesOf(m()))), class: "meta" },
          { label: organizationWords.joined, cell: (m) => () => time(m().joined_at), class: "meta" },
          { label: "", cell: (m) => button(organizationWords.remove, { kind: "small", "aria-label": organizationWords.removeMember(m.peek().user.email), scope: write, run: () => remove(m.peek()).catch(showRefusal) }), class: "tight" },
        ],
        data,
        (m) => m.id,
      ),
    ),
    more(members),
    rolesSection(roles, again),
    h("h2", { class: "gap-above gap" }, organizationWords.invitations),
    showResource(invites, (data) => [
      when(() => data().length === 0, () => h("p", { class: "meta" }, organizationWords.noInvitations)),
      when(() => data().length > 0, () =>
        recordTable<Invite>(
          organizationWords.invitations,
          [
            { label: organizationWords.email, cell: (i) => h("bdi", null, () => i().target_email) },
            { label: organizationWords.level, cell: (i) => () => organizationWords.levels[i().level] ?? String(i().level) },
            { label: organizationWords.sent, cell: (i) => [() => time(i().created_at), () => (i().is_expired ? ` ${organizationWords.expired}` : "")], class: "meta" },
            { label: "", cell: (i) => button(words.cancel, { kind: "small", "aria-label": organizationWords.cancelInvitation(i.peek().target_email), scope: write, run: () => cancel(i.peek()).catch(showRefusal) }), class: "tight" },
          ],
          data,
          (i) => i.id,
        ),
      ),
      more(invites),
    ]),
  ];
}

/** Opens the dialog Invite. If no mail was sent, it shows the link. */
async function invite(): Promise<boolean> {
  const email = h("input", { type: "email", autocomplete: "off", "data-first": "" });
  const message = h("textarea", { rows: 3, maxlength: 1000 });
  const level = signal("1");
  const fault = signal<string | undefined>(undefined);
  const made = await dialog<Invite>({ title: organizationWords.invite }, (d) => ({
    content: [field(email, { label: organizationWords.email, fault }), field(select(level, levels, (v) => level.set(v)), { label: organizationWords.level }), field(message, { label: organizationWords.message, hint: organizationWords.messageHint })],
    buttons: button(organizationWords.sendInvitation, {
      kind: "primary",
      run: async () => {
        try {
          d.close(await send<Invite>("POST", `${base}invites/`, { target_email: email.value.trim(), level: Number(level.peek()), message: message.value.trim() || null }));
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
          email.focus();
        }
      },
    }),
  }));
  if (!made) return false;
  if (!made.emailing_attempt_made && made.accept_url) {
    const link = h("input", { type: "text", class: "code", readonly: true, value: made.accept_url, "data-first": "" });
    await dialog<void>({ title: organizationWords.invite, cancel: null }, (d) => ({
      content: field(link, { label: organizationWords.invitationLink, hint: organizationWords.invitationLinkHint }),
      buttons: [button(organizationWords.copyLink, { run: () => copyText(made.accept_url!).then(() => announce(words.copied)) }), button(words.doneButton, { kind: "primary", run: () => d.close() })],
    }));
  }
  announce(organizationWords.invited(made.target_email));
  return true;
}
