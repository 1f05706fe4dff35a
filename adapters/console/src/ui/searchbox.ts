// The search field of a list, and the distinct ids of a person in a row.
import { effect, h } from "./dom";
import { param, setParams } from "../router";
import { words } from "../words";

/** Returns a search field whose text is in the URL. */
export function searchBox(label: string): HTMLElement {
  let timer = 0;
  const input: HTMLInputElement = h("input", {
    type: "search",
    "aria-label": label,
    placeholder: label,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => setParams({ search: input.value }), 150);
    },
  });
  effect(() => {
    const search = param("search");
    if (document.activeElement !== input) input.value = search;
  });
  return input;
}

const shownIDs = 3;

/** Returns the first distinct ids of a person in one line, and the number of the others. */
export function idsText(ids: readonly string[]): string {
  return [ids.slice(0, shownIDs).join(", "), ids.length > shownIDs ? words.moreValues(ids.length - shownIDs) : ""].filter(Boolean).join(" ");
}
