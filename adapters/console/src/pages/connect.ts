// The page Connect a program: a person allows a program that shows a code.
import { h, signal, type Child } from "../ui/dom";
import { button, faultAlert, field, heading, select } from "../ui/parts";
import { ApiError, send } from "../api/client";
import { param } from "../router";
import { homeProject, session } from "../session";
import { words } from "../words";
import { connectWords } from "../words/connect";

interface Program {
  client: string;
  scopes: string[];
}

/** Describes a scope. */
function describeScope(scope: string): string {
  const [object = "", action] = scope.split(":");
  if (scope === "*") return connectWords.all;
  return (action === "write" ? connectWords.write : connectWords.read)(object.replaceAll("_", " "));
}

export default function connect(): Child {
  const code = h("input", { type: "text", class: "code", maxlength: 40, autocomplete: "off", value: param("code") });
  const program = signal<Program | undefined>(undefined);
  const notes = signal<string[]>([]);
  const fault = signal<string | undefined>(undefined);
  const chosen = signal(String(homeProject()));
  const attempt = async (work: () => Promise<void>) => {
    fault.set(undefined);
    try {
      await work();
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  const loadProgram = () =>
    attempt(async () => {
      if (!code.value.trim()) return fault.set(connectWords.codeWanted);
      program.set(await send<Program>("POST", "cli-auth/look/", { user_code: code.value }));
    });
  const allow = () =>
    attempt(async () => {
      const made = await send<{ label: string }>("POST", "cli-auth/authorize/", { user_code: code.value, project_id: Number(chosen.peek()) });
      notes.set([connectWords.allowed, connectWords.allowedText(made.label)]);
    });
  const refuse = () =>
    attempt(async () => {
      await send("POST", "cli-auth/refuse/", { user_code: code.value });
      notes.set([connectWords.refused]);
    });
  const projects = () => (session()?.projects ?? []).map((p) => [String(p.id), p.name] as const);
  const request = (p: Program) =>
    h(
      "section",
      { class: "card", "aria-label": connectWords.request },
      h("p", { class: "code gap" }, code.value),
      h("p", null, h("bdi", null, connectWords.asks(p.client))),
      h("ul", null, p.scopes.map((s) => h("li", null, describeScope(s)))),
      field(select(chosen, projects, (v) => chosen.set(v)), { label: connectWords.project }),
      faultAlert(fault),
      h("div", { class: "actions" }, button(connectWords.allow, { kind: "primary", run: allow }), button(connectWords.refuse, { run: refuse }), button(connectWords.other, { run: () => (fault.set(undefined), program.set(undefined)) })),
    );
  const form = () => h("form", { class: "card", onsubmit: (e: Event) => (e.preventDefault(), void loadProgram()) }, field(code, { label: connectWords.code, hint: connectWords.codeHint, fault }), button(connectWords.next, { kind: "primary", submit: true }));
  return [
    heading(words.connectProgram),
    () => {
      if (notes().length) return h("section", { class: "card", role: "status" }, notes().map((t) => h("p", null, t)));
      const p = program();
      return [h("p", { class: "meta gap" }, connectWords.text), p ? request(p) : form()];
    },
  ];
}
