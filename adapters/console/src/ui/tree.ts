// A tree with keyboard navigation: up and down move, right expands and left collapses.
import { h, newID } from "./dom";

export interface Branch {
  label: string;
  open?: boolean;
  items?: Branch[];
}

export function tree(name: string, branches: Branch[]): HTMLElement {
  const root = h("ul", { role: "tree", "aria-label": name, class: "tree", onkeydown: keys }, branches.map(item));
  root.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
  return root;
}

/** Expands all branches of a tree. */
export function expandAll(root: HTMLElement): void {
  root.querySelectorAll<HTMLElement>("[aria-expanded]").forEach((li) => set(li, true));
}

function item(b: Branch): HTMLElement {
  const id = newID();
  const li: HTMLElement = h(
    "li",
    { role: "treeitem", tabindex: -1, "aria-labelledby": id, "aria-expanded": b.items?.length ? String(Boolean(b.open)) : null },
    h("span", { id, class: "branch", onclick: () => (set(li, li.getAttribute("aria-expanded") !== "true"), focus(li)) }, h("bdi", null, b.label)),
    b.items?.length ? h("ul", { role: "group", hidden: !b.open }, b.items.map(item)) : null,
  );
  return li;
}

function set(li: HTMLElement, open: boolean): void {
  if (!li.hasAttribute("aria-expanded")) return;
  li.setAttribute("aria-expanded", String(open));
  (li.lastElementChild as HTMLElement).hidden = !open;
}

function focus(li: HTMLElement | null | undefined): void {
  if (!li) return;
  li.closest("[role=tree]")!.querySelectorAll("[tabindex='0']").forEach((x) => x.setAttribute("tabindex", "-1"));
  li.setAttribute("tabindex", "0");
  li.focus();
}

function keys(e: KeyboardEvent): void {
  const root = e.currentTarget as HTMLElement;
  const here = (e.target as Element).closest<HTMLElement>("[role=treeitem]");
  if (!here) return;
  const seen = [...root.querySelectorAll<HTMLElement>("[role=treeitem]")].filter((li) => !li.parentElement!.closest("[hidden]"));
  const at = seen.indexOf(here);
  const expanded = here.getAttribute("aria-expanded");
  const does: Record<string, () => void> = {
    ArrowDown: () => focus(seen[at + 1]),
    ArrowUp: () => focus(seen[at - 1]),
    Home: () => focus(seen[0]),
    End: () => focus(seen.at(-1)),
    ArrowRight: () => (expanded === "false" ? set(here, true) : expanded && focus(seen[at + 1])),
    ArrowLeft: () => (expanded === "true" ? set(here, false) : focus(here.parentElement!.closest<HTMLElement>("[role=treeitem]"))),
    Enter: () => set(here, expanded !== "true"),
  };
  if (!does[e.key]) return;
  e.preventDefault();
  does[e.key]!();
}
