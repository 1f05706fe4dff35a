// The dialog Search: finds pages by name and, after a delay, flags, cohorts, dashboards and people.
import { effect, h, signal, untracked } from "./ui/dom";
import { dialog } from "./ui/dialog";
import { get } from "./api/client";
import { go } from "./router";
import { routes } from "./routes";
import { projectPath, project } from "./session";
import { words } from "./words";

interface Found {
  text: string;
  kind: string;
  to: string;
}

function pages(query: string): Found[] {
  const wanted = query.toLowerCase();
  return routes.filter((r) => r.nav && r.nav.toLowerCase().includes(wanted)).map((r) => ({ text: r.nav!, kind: "", to: r.path.replace(":project", String(project.peek())) }));
}

type List<T> = { results: T[]; next: string | null };

async function records(query: string, cancel: AbortSignal): Promise<Found[]> {
  const p = project.peek();
  const q = { search: query, limit: 6 };
  const none = () => [] as Found[];
  type Record = { id: number; key?: string; uuid?: string; name: string | null };
  const allIn = (page: string, kind: string): Found => ({ kind, text: words.allMatches, to: `p/${p}/${page}?search=${encodeURIComponent(query)}` });
  const searchIn = (path: string, kind: string, found: (r: Record) => { text: string; to: string }, page = path) =>
    get<List<Record>>(projectPath(path + "/"), q, cancel).then((a) => [...a.results.map((r) => ({ kind, ...found(r) })), ...(a.next ? [allIn(page, kind)] : [])], none);
  const searchByName = (path: string, kind: string) => searchIn(path, kind, (r) => ({ text: r.name || `#${r.id}`, to: `p/${p}/${path}/${r.id}` }));
  const lists = await Promise.all([
    searchIn("feature_flags", words.flags, (f) => ({ text: f.key!, to: `p/${p}/flags/${f.id}` }), "flags"),
    searchByName("cohorts", words.cohorts),
    searchByName("dashboards", words.dashboards),
    searchIn("persons", words.people, (x) => ({ text: x.name!, to: `p/${p}/people/${x.uuid}` }), "people"),
  ]);
  return lists.flat();
}

export function openSearch(): void {
  void dialog<Found>({ title: words.search, cancel: words.close }, (d) => {
    const text = signal("");
    const found = signal<Found[]>(pages(""));
    const activeIndex = signal(0);
    let timer = 0;
    let cancel: AbortController | undefined;
    effect(() => {
      const typed = text().trim();
      untracked(() => {
        found.set(pages(typed));
        activeIndex.set(0);
        clearTimeout(timer);
        cancel?.abort();
        if (!typed) return;
        const mine = (cancel = new AbortController());
        timer = setTimeout(() => void records(typed, mine.signal).then((list) => mine.signal.aborted || found.update((f) => [...f, ...list])), 150);
      });
    });
    const input: HTMLInputElement = h("input", {
      type: "search",
      role: "combobox",
      "aria-label": words.search,
      "aria-expanded": true,
      "aria-controls": "found",
      "aria-autocomplete": "list",
      "aria-activedescendant": () => (found().length ? `found-${activeIndex()}` : null),
      placeholder: words.searchAll,
      "data-first": "",
      oninput: () => text.set(input.value),
      onkeydown: (e: KeyboardEvent) => {
        const n = found.peek().length;
        if (e.key === "ArrowDown") activeIndex.update((i) => (i + 1) % n);
        else if (e.key === "ArrowUp") activeIndex.update((i) => (i - 1 + n) % n);
        else if (e.key === "Enter" && n) d.close(found.peek()[activeIndex.peek()]);
        else return;
        e.preventDefault();
      },
    });
    const options = h("div", { role: "listbox", id: "found", class: "options", "aria-label": words.search }, () =>
      found().map((f, i) =>
        h("div", { role: "option", id: `found-${i}`, "aria-selected": () => activeIndex() === i, onclick: () => d.close(f) }, h("bdi", null, f.text), f.kind ? h("span", { class: "meta" }, f.kind) : null),
      ),
    );
    return { content: [input, options], buttons: null };
  }).then((f) => f && go(f.to));
}
