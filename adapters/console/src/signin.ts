// Controls to sign in. They are used on the page Sign in, in the dialog after a session has ended, and
// in the dialog that asks for a new proof of identity.
import { h, signal, type Child } from "./ui/dom";
import { announce } from "./ui/announce";
import { dialog } from "./ui/dialog";
import { once } from "./ui/once";
import { button, faultAlert, field, linkButton } from "./ui/parts";
import { ApiError, prompts, get, send, url } from "./api/client";
import { loadSession, session } from "./session";
import { askPasskey, havePasskeys } from "./passkeys";
import { guard } from "./router";
import { words } from "./words";
import { passkeyWords } from "./words/passkeys";

interface Methods {
  link: boolean;
  key: boolean;
  mail: boolean;
  passkey: boolean;
  oidc: { id: string; name: string }[];
  secure: boolean;
}

const methods = signal<Methods | null>(null);

/** Reports whether people sign in with this server, and not with a service that embeds it. */
const hasOwnSignIn = (m: Methods): boolean => m.link || m.key || m.oidc.length > 0;

async function loadMethods(): Promise<void> {
  if (methods.peek()) return;
  methods.set(await get<Methods>("session/methods/").catch(() => ({ link: true, key: true, mail: false, passkey: false, oidc: [], secure: true })));
}

/** Returns the controls for all enabled methods. in is called after a successful sign-in. */
export function signInControls(o: { submit: string; path: string; next: string; in: () => unknown }): Child {
  void loadMethods();
  const fault = signal<string | undefined>(undefined);
  const key = h("input", { type: "password", autocomplete: "off", spellcheck: "false", "data-first": "", required: true });
  const withKey = async () => {
    fault.set(undefined);
    try {
      await send("POST", o.path, { key: key.value.trim() });
      key.value = "";
      await o.in();
    } catch (e) {
      fault.set(e instanceof ApiError && [400, 401, 403].includes(e.status) ? words.badKey : String((e as Error).message));
      key.focus();
    }
  };
  const withPasskey = async () => {
    fault.set(undefined);
    try {
      await send("POST", o.path, { passkey: await askPasskey() });
      await o.in();
    } catch (e) {
      fault.set(e instanceof DOMException ? passkeyWords.notUsed : e instanceof ApiError && e.status === 401 ? passkeyWords.notKnown : String((e as Error).message));
    }
  };
  const form = h("form", { class: "stack", novalidate: true, onsubmit: (e: Event) => (e.preventDefault(), void once(withKey)) }, field(key, { label: words.personalKey, hint: words.personalKeyHint }), button(o.submit, { kind: "primary wide", submit: true }));
  return [
    () => (methods() && hasOwnSignIn(methods()!) && !methods()!.secure ? h("p", { class: "problem", role: "alert" }, words.needHTTPS) : null),
    () => (methods() && !hasOwnSignIn(methods()!) ? h("p", null, words.signInElsewhere) : null),
    faultAlert(fault),
    () => (methods()?.key === false ? null : form),
    () => (methods()?.passkey && havePasskeys() ? button(passkeyWords.signIn, { kind: "wide", run: withPasskey }) : null),
    () => (methods()?.mail ? mail(o.next) : null),
    () => (methods()?.oidc ?? []).map((p) => linkButton(words.signInWith(p.name), url(`session/oidc/${encodeURIComponent(p.id)}/`, { next: o.next }), "wide")),
  ];
}

function mail(next: string): HTMLElement {
  const email = h("input", { type: "email", autocomplete: "email" });
  const ask = async () => {
    await send("POST", "session/mail/", { email: email.value.trim(), next });
    announce(words.linkSent);
  };
  return h("form", { class: "stack", novalidate: true, onsubmit: (e: Event) => (e.preventDefault(), void once(ask)) }, field(email, { label: words.email }), button(words.sendLink, { kind: "wide", submit: true }));
}

let open: Promise<boolean> | undefined;

/** Opens a dialog to sign in. Concurrent requests share one dialog. */
function askToSignIn(title: string, text: string, submit: string, path: string): Promise<boolean> {
  open ??= dialog<boolean>({ title }, (d) => ({
    content: [h("p", null, text), signInControls({ submit, path, next: "", in: () => d.close(true) })],
    buttons: null,
  })).then((done) => {
    open = undefined;
    return done === true;
  });
  return open;
}

export function startSignIn(): void {
  prompts.signIn = async () => {
    if (!session.peek()) return false;
    const before = session.peek()!.user.uuid;
    if (!(await askToSignIn(words.signInAgain, words.signInAgainText, words.signInWithKey, "session/"))) return false;
    await loadSession();
    if (session.peek()?.user.uuid === before) return true;
    guard.leave = null; // another person signed in: nothing of the previous one is kept or sent
    location.reload();
    return new Promise<boolean>(() => undefined);
  };
  prompts.proof = () => askToSignIn(words.confirmYou, words.confirmText, words.confirm, "session/proof/");
}
