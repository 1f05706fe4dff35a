// The frame of every page: banner, navigation, main element, notices and keyboard shortcuts.
import { append, effect, h, scope, signal, type Child } from "./ui/dom";
import { announcements } from "./ui/announce";
import { dialog } from "./ui/dialog";
import { icon } from "./ui/icons";
import { menu } from "./ui/menu";
import { forbidden, pendingResources, heading, problem } from "./ui/parts";
import { arrival, go, href, mayLeave, place } from "./router";
import { findRoute, routes, hasPage, scopeOf, type Page, type Route } from "./routes";
import { homeProject, hasOwnSession, hasScope, project, session, signOut } from "./session";
import { setTheme, theme, type Theme } from "./theme";
import { cancelRestore, restoreView } from "./ui/views";
import { openSearch } from "./search";
import { ApiError, prompts, checkServer } from "./api/client";
import { words } from "./words";

const strip = signal("");
prompts.offline = (s, busy) => strip.set(s === null ? "" : (busy ? words.tooMany : words.offline)(s));

const isLoadingPage = signal(false); // while the code of a page is loaded

/** Builds the document and returns its main element. */
export function frame(): HTMLElement {
  const main = h("main", { id: "main", tabindex: -1, "aria-busy": () => isLoadingPage() || pendingResources() > 0 || null });
  const bare = () => findRoute(place().path).route?.bare === true;
  append(document.body, [
    h("a", { class: "skip", href: "#main", onclick: (e: Event) => (e.preventDefault(), main.focus()) }, words.skip),
    () => (bare() ? null : banner()),
    () => (strip() ? h("div", { class: "strip", role: "alert" }, strip()) : null),
    h("div", { class: () => (bare() ? "bare" : "columns") }, () => (bare() ? null : h("nav", { "aria-label": words.main, class: "nav" }, navigation())), main),
    announcements(),
  ]);
  showPages(main);
  addEventListener("keydown", shortcuts);
  return main;
}

function banner(): HTMLElement {
  return h(
    "header",
    { class: "banner" },
    h("button", { type: "button", class: "button quiet small-only", onclick: openMenu, "aria-label": words.menu }, icon("menu")),
    h("a", { class: "brand", href: () => href(`p/${project() || homeProject()}`), "aria-label": words.bunting }, mark(), h("span", { class: "word" }, words.bunting)),
    projects(),
    h("span", { class: "space" }),
    h("button", { type: "button", class: "button quiet find", "aria-label": words.search, title: words.searchHint, onclick: openSearch }, icon("search"), h("span", { class: "wide-only" }, words.search), h("kbd", { class: "wide-only" }, words.searchHint)),
    account(),
  );
}

function mark(): SVGElement {
  const el = icon("flag");
  el.classList.add("mark");
  return el;
}

function projects(): HTMLElement {
  const name = () => session()?.projects.find((p) => p.id === project())?.name ?? session()?.projects[0]?.name ?? "";
  const box = h("span", null, () =>
    menu(
      words.projectIs(name()),
      [h("span", { class: "clip" }, name()), icon("down")],
      () => [
        ...(session.peek()?.projects ?? []).map((p) => ({ label: p.name, run: () => void go(`p/${p.id}`) })),
        { label: words.newProject, line: true, available: hasPage("organization/settings"), disabled: hasScope("project:write") ? null : words.needs("project:write"), run: () => void go("organization/settings") },
      ],
      "button quiet project",
    ),
  );
  return box;
}

function account(): HTMLElement {
  const themeItem = (t: Theme, label: string) => ({ label, checked: () => theme() === t, run: () => setTheme(t) });
  return menu(words.accountMenu, icon("user"), () => [
    { label: words.account, available: hasPage("account"), run: () => void go("account") },
    { label: words.shortcuts, run: openShortcuts },
    { label: words.documentation, available: session.peek()?.docs === true, href: href("../docs/") },
    { ...themeItem("light", words.light), line: true },
    themeItem("dark", words.dark),
    themeItem("system", words.system),
    { label: words.signOut, line: true, available: hasOwnSession(), run: () => void mayLeave().then((leaves) => (leaves ? signOut().then(() => go("sign-in", {}, true)) : undefined)) }, // the next person begins at Home
  ]);
}

const preload = (r: Route) => void r.page().catch(() => undefined); // opening the page shows the error

/** Returns the links of the navigation, in the order of the routes. */
function navigation(): Child {
  const link = (r: Route) => {
    const path = () => r.path.replace(":project", String(project() || homeProject()));
    const current = () => (findRoute(place().path).route?.nav ?? findRoute(place().path).route?.within) === (r.nav ?? null);
    return h("a", { href: () => href(path()), "aria-current": () => (current() ? "page" : null), onpointerenter: () => preload(r), onfocus: () => preload(r) }, icon(r.icon!), r.nav);
  };
  const rows = routes.filter((r) => r.nav);
  const [mine, all] = [rows.filter((r) => r.path.startsWith("p/")), rows.filter((r) => r.path.startsWith("organization"))];
  return [h("ul", null, mine.map((r) => h("li", null, link(r)))), all.length ? h("div", { class: "nav-head" }, words.organization) : null, h("ul", null, all.map((r) => h("li", null, link(r))))];
}

function openMenu(): void {
  void dialog({ title: words.menu, cancel: words.close }, (d) => ({ content: h("nav", { "aria-label": words.menu, class: "nav in-dialog", onclick: (e: Event) => (e.target as Element).closest("a") && d.close() }, navigation()), buttons: null }));
}

const keys: [string, string][] = [
  ["Ctrl K", words.search],
  ["Ctrl S", words.save],
  ["g f", words.flags],
  ["g p", words.people],
  ["/", words.search],
  ["?", words.shortcuts],
];

function openShortcuts(): void {
  void dialog({ title: words.shortcuts, cancel: words.close }, () => ({ content: h("dl", { class: "keys" }, keys.map(([k, text]) => [h("dt", null, h("kbd", null, k)), h("dd", null, text)])), buttons: null }));
}

let pressed = "";

function shortcuts(e: KeyboardEvent): void {
  const typing = (e.target as Element).closest("input, textarea, select, [contenteditable], dialog");
  if ((e.ctrlKey || e.metaKey) && e.key === "k") {
    e.preventDefault();
    if (!document.querySelector("dialog[open]")) openSearch();
    return;
  }
  if (typing || e.ctrlKey || e.metaKey || e.altKey || localStorage.getItem("bunting.keys") === "off") return;
  const to: Record<string, string> = { f: "flags", p: "people", w: "why", h: "", e: "events" };
  const target = `p/${project.peek()}/${to[e.key]}`.replace(/\/$/, "");
  if (pressed === "g" && e.key in to && hasPage(target)) void go(target);
  else if (e.key === "?") openShortcuts();
  else if (e.key === "/") {
    e.preventDefault();
    const box = document.querySelector<HTMLElement>("main input[type=search]");
    if (box) box.focus();
    else openSearch();
  }
  pressed = e.key;
}

/** Shows the page of the address, and moves the focus to it after navigation. */
function showPages(main: HTMLElement): void {
  let close: (() => void) | undefined;
  let shownPath = "";
  let first = true;
  effect(() => {
    const { path } = place();
    const who = session();
    const found = findRoute(path);
    const { params } = found;
    if (who === undefined) return;
    const isForeign = params.project !== undefined && who !== null && who.projects.length > 0 && !who.projects.some((p) => String(p.id) === params.project);
    const route = isForeign ? undefined : found.route;
    if (who === null && !route?.open) {
      void go("sign-in", { next: path + location.search }, true);
      return;
    }
    if (path === "") {
      void go(`p/${homeProject()}`, {}, true);
      return;
    }
    const id = isForeign ? 0 : Number(params.project);
    if (id) {
      project.set(id);
      localStorage.setItem("bunting.project", String(id));
    } else if (!project.peek()) project.set(homeProject());
    if (shownPath === path) return;
    shownPath = path;
    isLoadingPage.set(true);
    const mine = path;
    const arrive = !first;
    first = false;
    void loadPage(route).then((page) => {
      if (mine !== shownPath) return;
      close?.();
      main.replaceChildren();
      const [, end] = scope(() => append(main, renderPage(route, page, params)));
      close = end;
      isLoadingPage.set(false);
      placeFocus(main, arrive, () => isLoadingPage.peek() || pendingResources.peek() > 0);
    });
  });
}

function loadPage(route: Route | undefined): Promise<Page> {
  if (!route) return findRoute("not-found").route!.page().then((m) => m.default);
  return route.page().then(
    (m) => m.default,
    async () => {
      const is = await checkServer(); // if it is reachable, it serves another version of the pages
      const lost = new ApiError(0, "no_connection", is ? words.otherPages : words.noConnectionText, null, "");
      return () => [heading(route.title), problem(words.failed, lost, () => void checkServer().then((now) => now && location.reload()))];
    },
  );
}

/** Renders a page. If its scope is missing or if it throws, that is shown in its place. */
function renderPage(route: Route | undefined, page: Page, params: Record<string, string>): Child {
  const needed = scopeOf(route);
  if (needed && !hasScope(needed)) return [heading(route!.title), forbidden(words.needs(needed))]; // its requests would fail
  try {
    return page(params);
  } catch (e) {
    reportError(e);
    return [heading(words.notDone), problem(words.notDone, e)];
  }
}

function placeFocus(main: HTMLElement, arrive: boolean, isLoading: () => boolean): void {
  const target = main.querySelector<HTMLElement>("[data-first-focus]") ?? main.querySelector<HTMLElement>("h1");
  if (arrive || target?.hasAttribute("data-first-focus")) target?.focus({ preventScroll: true });
  if (arrival.view) return restoreView(arrival.view, isLoading);
  cancelRestore();
  scrollTo(0, 0);
}

