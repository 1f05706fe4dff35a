// The page Domains: the domains of the organization and their verification.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, empty, field, heading, showResource } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { resource, invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { words } from "../../words";
import { organizationWords } from "../../words/organization";
import { showRefusal } from "../flags/actions";

interface Domain {
  id: string;
  domain: string;
  is_verified: boolean;
  verification_challenge: string;
}

const base = "organizations/@current/domains/";
const write = "organization:write";

export default function domainsPage(): Child {
  const list = resource<{ results: Domain[] }>(() => ({ path: base, query: { limit: 200 } }));
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
  const record = (d: Signal<Domain>) => {
    const text = (value: string, label: string) => field(h("input", { type: "text", class: "code", readonly: true, value }), { label });
    return h("div", { class: "stack" }, text(`_posthog-challenge.${d.peek().domain}`, organizationWords.txtName(d.peek().domain)), text(d.peek().verification_challenge, organizationWords.txtValue(d.peek().domain)));
  };
  return [
    heading(organizationWords.domains, button(organizationWords.addDomain, { kind: "primary", scope: write, run: () => add().then((done) => done && (again(), announce(words.saved)), showRefusal) })),
    showResource(list, (data) => [
      when(() => data().results.length === 0, () => empty(organizationWords.noDomains, organizationWords.noDomainsText)),
      when(() => data().results.length > 0, () =>
        recordTable<Domain>(
          organizationWords.domains,
          [
            { label: organizationWords.domain, cell: (d) => [h("bdi", null, () => d().domain), when(() => !d().is_verified, () => record(d))], class: "long" },
            { label: organizationWords.state, cell: (d) => () => (d().is_verified ? organizationWords.verified : organizationWords.unverified) },
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
          () => data().results,
          (d) => d.id,
        ),
      ),
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
