// A paged list and its states.
import { h, when, type Child } from "./dom";
import { button, showResource } from "./parts";
import type { Pages } from "./pages";
import { words } from "../words";

/** Shows the table of a list with a button to load more, or none if the list is empty. */
export function listOf<T>(list: Pages<T>, none: () => Child, table: (rows: () => T[]) => Child): Child {
  return showResource(list, (data) => [
    when(() => data().length === 0 && !list.next(), none),
    when(() => data().length > 0, () => table(data)),
    when(list.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: list.more }))),
  ]);
}
