// A paged list and its states.
import { h, when, type Child } from "./dom";
import { button, empty, showResource } from "./parts";
import type { Pages } from "./pages";
import { param, setParams } from "../router";
import { words } from "../words";

/** Shows the table of a list with a button to load more, or none if the list is empty. */
export function listOf<T>(list: Pages<T>, none: () => Child, table: (rows: () => T[]) => Child): Child {
  return showResource(list, (data) => [
    when(() => data().length === 0 && !list.next(), none),
    when(() => data().length > 0, () => table(data)),
    more(list),
  ]);
}

/** Says how much of a list is shown, with a button to load more, while there is more. */
export function more<T>(list: Pages<T>): Child {
  const text = () => {
    const [n, total] = [list.data()?.length ?? 0, list.total()];
    return n === 0 ? "" : total === undefined ? words.shownFirst(n) : words.shownOf(n, total);
  };
  return when(list.next, () => h("p", { class: "choices gap-above" }, button(words.loadMore, { run: list.more }), h("span", { class: "meta" }, text)));
}

/** Returns the empty state of a list that parameters of the URL filter. With filters, it has a button that clears them. */
export function noneOf(filters: string[], unmatched: string, title: string, text: string, ...actions: Child[]): Child {
  const clear = () => setParams(Object.fromEntries(filters.map((n) => [n, ""])));
  return () => (filters.some((n) => param(n)) ? empty(unmatched, words.noFlagsMatchText, button(words.clearFilters, { run: clear })) : empty(title, text, ...actions));
}
