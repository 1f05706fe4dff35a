// A list that comes page by page, with its states.
import { h, when, type Child } from "./dom";
import { button, showResource } from "./parts";
import type { Pages } from "./pages";
import { words } from "../words";

/** What is said where there is none, else the table; and the button for more. */
export function listOf<T>(list: Pages<T>, none: () => Child, table: (rows: () => T[]) => Child): Child {
  return showResource(list, (data) => [
    when(() => data().length === 0 && !list.next(), none),
    when(() => data().length > 0, () => table(data)),
    when(list.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: list.more }))),
  ]);
}
