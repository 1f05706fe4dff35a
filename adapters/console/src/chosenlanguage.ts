// The language that an account has chosen. The server sends the pages in the language of a cookie, or
// without one in the first language of the browser that it has.
import { effect } from "./ui/dom";
import { language } from "./language";
import { session } from "./session";

const cookie = "bunting-language";
const year = 365 * 86_400; // seconds

/** Shows the pages in the language of the account, when a person signs in or chooses one. */
export function startLanguage(): void {
  effect(() => {
    const s = session();
    if (s) remember(s.language ?? "");
  });
}

const remembered = (): string => new RegExp(`(?:^|; )${cookie}=([^;]*)`).exec(document.cookie)?.[1] ?? "";

/** Remembers the language of the account for the next documents, and loads this one again if it has another language. */
function remember(chosen: string): void {
  if (remembered() === chosen) return;
  const path = new URL(document.baseURI).pathname;
  document.cookie = `${cookie}=${chosen}; path=${path}; max-age=${chosen ? year : 0}; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  const isAccepted = remembered() === chosen; // browsers can refuse cookies
  if (isAccepted && (chosen || languageOfBrowser()) !== language) location.reload();
}

/** Returns the language that the server chooses without a cookie. */
function languageOfBrowser(): string {
  return navigator.languages.map((l) => l.split("-")[0]!.toLowerCase()).find((l) => l === "en" || l === "de") ?? "en";
}
