// The page Sign in: with the link of the first start, a personal key, or another enabled method.
import { h, signal, type Child } from "../ui/dom";
import { icon } from "../ui/icons";
import { button, heading } from "../ui/parts";
import { send } from "../api/client";
import { go, param } from "../router";
import { loadSession } from "../session";
import { signInControls } from "../signin";
import { words } from "../words";

/** Returns next if it is a path of the console, or else "". */
function safe(next: string): string {
  const bad = /\/\/|\\|[\x00-\x1f]|(^|\/)\.\.?(\/|$)/;
  let plain = next;
  try {
    plain = decodeURIComponent(next);
  } catch {
    return "";
  }
  return bad.test(plain) || next.startsWith("/") || /^[a-z]+:/i.test(plain) ? "" : next;
}

async function enter(): Promise<void> {
  const [path, query] = safe(param("next")).split("?");
  await loadSession();
  await go(path!, Object.fromEntries(new URLSearchParams(query)), true);
}

export default function signInPage(): Child {
  const token = location.hash.slice(1);
  if (token) history.replaceState(history.state, "", location.pathname + location.search);
  return h(
    "div",
    { class: "card sign-in" },
    h("div", { class: "brand large" }, icon("flag"), words.bunting),
    heading(words.signIn),
    h("p", { class: "meta" }, words.signInText),
    param("failed") ? h("p", { class: "problem", role: "alert" }, words.notSignedIn[param("failed")] ?? words.notSignedIn.refused) : null,
    token ? byLink(token) : signInControls({ submit: words.signInWithKey, path: "session/", next: param("next"), in: enter }),
  );
}

/** Shows the account of a sign-in link before it is used, so that a link cannot sign a person into another account unnoticed. */
function byLink(link: string): Child {
  const email = signal<string | null>(null);
  const spent = signal(false);
  send<{ email: string | null }>("POST", "session/link/look/", { link }).then(
    (a) => (email.set(a.email), spent.set(a.email === null)),
    () => spent.set(true),
  );
  const use = () => send("POST", "session/", { link }).then(enter, () => spent.set(true));
  return () =>
    spent()
      ? [h("p", { class: "problem", role: "alert" }, words.badLink), signInControls({ submit: words.signInWithKey, path: "session/", next: param("next"), in: enter })]
      : [button(words.signIn, { kind: "primary wide", run: use, disabled: () => email() === null }), h("p", { class: "meta center" }, () => (email() ? words.asWho(email()!) : ""))];
}
