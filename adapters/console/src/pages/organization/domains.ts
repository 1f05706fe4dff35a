// The page Domains: the domains of the organization, their verification, and how their people sign in.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, empty, field, heading, showResource } from "../../ui/parts";
import { more } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { toggle } from "../../ui/toggle";
import { resource, invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { hasScope, isAdministrator } from "../../session";
import { words } from "../../words";
import { organizationWords } from "../../words/organization";
import { showRefusal } from "../flags/actions";

interface Domain {
  id: string;
  domain: string;
  is_verified: boolean;
  jit_provisioning_enabled: boolean;
  /** Not empty if people of the domain must sign in with single sign-on. */
  sso_enforcement: string;
  verification_challenge: string;
}

const base = "organizations/@current/domains/";
const write = "organization:write";

export default function domainsPage(): Child {
  const list = pages<Domain>(() => ({ path: base, query: { limit: 100 } }));
  const again = () => (invalidate("organizations/@current/domains"), list.reload());
  const verify = async (d: Domain) => {
    const got = await send<Domain>("POST", `${base}${d.id}/verify/`);
    again();
    announce(got.is_verified ? organizationWords.verified : organizationWords.notFoundYet);
  };
  const remove = async (d: Domain) => {
    if (!(await confirm(organizationWords.removeAsk(d.domain), organizationWords.removeDomainText, organizationWords.remove))) return;
    await send("DELETE", `${base}${d.id}/`);
    again();
    announce(organizationWords.removed(d.domain));
  };
  const methods = resource<{ oidc: { name: string }[] | null }>(() => ({ path: "session/methods/" }));
  const provider = () => methods.data()?.oidc?.[0]?.name;
  const change = async (d: Domain, body: object) => {
    await send("PATCH", `${base}${d.id}/`, body);
    again();
    announce(words.saved);
  };
  const requireSSO = async (d: Domain) => {
    const text = provider() ? organizationWords.onlySSOWarn(d.domain, provider()!) : organizationWords.onlySSOLocks(d.domain);
    if (d.sso_enforcement || (await confirm(organizationWords.onlySSOAsk(d.domain), text, organizationWords.requireSSO))) await change(d, { sso_enforcement: d.sso_enforcement ? "" : "oidc" });
  };
  const disabledReason = (d: Domain) => (!hasScope(write) ? words.needs(write) : !isAdministrator() ? organizationWords.needsAdministrator : d.is_verified ? null : organizationWords.verifyFirst);
  const record = (d: Signal<Domain>) => {
    const text = (value: string, label: string) => field(h("input", { type: "text", class: "code", readonly: true, value }), { label });
    return h("div", { class: "stack" }, text(`_posthog-challenge.${d.peek().domain}`, organizationWords.txtName(d.peek().domain)), text(d.peek().verification_challenge, organizationWords.txtValue(d.peek().domain)));
  };
  return [
    heading(organizationWords.domains, button(organizationWords.addDomain, { kind: "primary", scope: write, run: () => add().then((done) => done && (again(), announce(words.saved)), showRefusal) })),
    showResource(list, (data) => [
      when(() => data().length === 0, () => empty(organizationWords.noDomains, organizationWords.noDomainsText)),
      when(() => data().length > 0, () =>
        recordTable<Domain>(
          organizationWords.domains,
          [
            { label: organizationWords.domain, cell: (d) => [h("bdi", null, () => d().domain), when(() => !d().is_verified, () => record(d))], class: "long" },
            { label: organizationWords.state, cell: (d) => () => (d().is_verified ? organizationWords.verified : organizationWords.unverified) },
            { label: organizationWords.joins, cell: (d) => toggle(() => organizationWords.joinsOf(d().domain), () => d().jit_provisioning_enabled, () => change(d.peek(), { jit_provisioning_enabled: !d.peek().jit_provisioning_enabled }).catch(showRefusal), () => disabledReason(d())) },
            { label: organizationWords.onlySSO, cell: (d) => toggle(() => organizationWords.onlySSOOf(d().domain), () => d().sso_enforcement !== "", () => requireSSO(d.peek()).catch(showRefusal), () => disabledReason(d())) },
            {
              label: "",
              cell: (d) =>
                h("div", { class: "choices" }, [
                  when(() => !d().is_verified, () => button(organizationWords.verifyShort, { kind: "small", "aria-label": organizationWords.verify(d.peek().domain), scope: write, run: () => verify(d.peek()).catch(showRefusal) })),
                  button(organizationWords.remove, { kind: "small", "aria-label": organizationWords.removeDomain(d.peek().domain), scope: write, run: () => remove(d.peek()).catch(showRefusal) }),
                ]),
              class: "tight",
            },
          ],
          data,
          (d) => d.id,
        ),
      ),
      more(list),
      when(() => data().length > 0, () => h("p", { class: "meta gap-above" }, () => (provider() ? organizationWords.domainSwitchesText(provider()!) : organizationWords.noProvider))),
    ]),
  ];
}

async function add(): Promise<boolean> {
  const name = h("input", { type: "text", class: "code", autocomplete: "off", placeholder: "example.com", "data-first": "" });
  const fault = signal<string | undefined>(undefined);
  const done = await dialog<boolean>({ title: organizationWords.addDomain }, (d) => ({
    content: field(name, { label: organizationWords.domain, fault }),
    buttons: button(organizationWords.add, {
      kind: "primary",
      run: async () => {
        try {
          await send("POST", base, { domain: name.value.trim() });
          d.close(true);
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
          name.focus();
        }
      },
    }),
  }));
  return done === true;
}
