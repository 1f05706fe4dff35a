// The page of one record: its heading and content, and what is shown while the record is loaded, if it
// cannot be loaded, and if it does not exist.
import { computed, h, signal, when, type Child, type Signal } from "./dom";
import { heading, loadingBars, problem } from "./parts";
import { ApiError } from "../api/client";
import { href } from "../router";
import { homeProject, project } from "../session";
import { words } from "../words";

/** A record that is loaded. Resources have this form too. */
export interface Loaded<T> {
  /** The record; undefined until it is loaded. */
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  reload(): unknown;
}

interface LoadedRecord<T> extends Loaded<T> {
  reload(): Promise<void>;
}

/** Loads a record now, and again with reload. Of several requests, only the response to the last one counts. */
export function loadRecord<T>(request: () => Promise<T>): LoadedRecord<T> {
  const data = signal<T | undefined>(undefined);
  const error = signal<unknown>(undefined);
  let last = 0;
  const reload = () => {
    const mine = ++last;
    return request().then(
      (record) => {
        if (mine !== last) return;
        data.set(record);
        error.set(undefined);
      },
      (e: unknown) => {
        if (mine === last) error.set(e);
      },
    );
  };
  void reload();
  return { data, error, reload };
}

export interface RecordPage<T> {
  record: Loaded<T>;
  title: (record: T) => string;
  /** The label of the list that contains the record, and its path below the project. */
  list: { label: string; path: string };
  /** The buttons next to the heading. */
  actions?: (record: Signal<T>) => Child;
  /** The line below the heading. */
  facts?: (record: Signal<T>) => Child;
  /** The links to the tabs of the record, which are shown while it is loaded. */
  tabs?: Child;
  show: (record: Signal<T>) => Child;
}

/** Returns the links to the tabs of a record. tabs are pairs of a path below the record and a label. */
export function tabLinks(name: string, tabs: [string, string][], at: string, current: string): HTMLElement {
  const nav = h("nav", { "aria-label": name, class: "tabs" }, tabs.map(([path, label]) => h("a", { href: href(path ? `${at}/${path}` : at), "aria-current": path === current ? "page" : null }, label)));
  // On a small screen the present tab may be beyond the edge.
  requestAnimationFrame(() => {
    const tab = nav.querySelector<HTMLElement>("[aria-current]");
    if (tab) nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
  });
  return nav;
}

export const isMissing = (e: unknown): boolean => e instanceof ApiError && e.status === 404;

/** Reports whether the server refused the id of a record, because no record can have it. */
const isMalformed = (e: unknown) => e instanceof ApiError && e.status === 400;

/** Shows a record. If it was deleted while the page shows it, the page stays, since its form may have unsaved changes. */
export function recordPage<T>(p: RecordPage<T>): Child {
  const { data, error } = p.record;
  const record = data as Signal<T>;
  const there = computed(() => data() !== undefined);
  const missing = computed(() => !there() && (isMissing(error()) || isMalformed(error())));
  const title = () => (there() ? p.title(record()) : error() ? p.list.label : "…");
  const fault = () => (isMissing(error()) ? h("div", { role: "alert", class: "problem" }, h("p", null, h("strong", null, words.deletedMeanwhile), " ", words.deletedMeanwhileText)) : problem(words.failed, error(), () => void p.record.reload()));
  return () => {
    if (missing()) return notFound(p.list);
    return [
      heading(title, when(there, () => p.actions?.(record))),
      p.facts ? when(there, () => p.facts!(record)) : null,
      p.tabs ?? null,
      () => (error() ? fault() : null),
      when(() => !there() && !error(), () => loadingBars(8)),
      when(there, () => p.show(record)),
    ];
  };
}

/** Shows that there is no page or record at this address, with links to its list and to Home. */
export function notFound(list?: RecordPage<unknown>["list"]): Child {
  return [
    heading(words.notFound),
    h("p", null, list ? words.noRecordText : words.notFoundText),
    h("p", { class: "choices gap-above" }, list ? h("a", { href: href(`p/${project.peek()}/${list.path}`) }, list.label) : null, h("a", { href: href(`p/${homeProject()}`) }, words.home)),
  ];
}
