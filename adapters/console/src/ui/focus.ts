// Keeps the focus (console.md §2.1). When the focused element is removed or disabled, the focus moves to
// the nearest element, or else to the heading.

const focusable = "a[href], button, input, select, textarea, [tabindex]";
let lastFocused: Element | null = null;
let ancestors: Element[] = []; // the ancestors of lastFocused, innermost first

const isFocusable = (el: Element) => el.isConnected && !el.matches(":disabled") && el.getClientRects().length > 0;

function remember(e: FocusEvent): void {
  lastFocused = e.target as Element;
  ancestors = [];
  for (let up = lastFocused.parentElement; up && up.tagName !== "MAIN"; up = up.parentElement) ancestors.push(up);
}

/** Returns the next focusable element if was is still in the document, or else the first one in its nearest ancestor. */
function nearestFocusable(was: Element): Element | undefined {
  for (const box of ancestors) {
    if (!box.isConnected) continue;
    const near = [...box.querySelectorAll(focusable)].filter(isFocusable);
    const after = was.isConnected ? near.find((el) => was.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING) : undefined;
    if (after ?? near[0]) return after ?? near[0];
  }
  return document.querySelector("h1") ?? undefined;
}

function restoreFocus(): void {
  if (document.activeElement !== document.body || !lastFocused || isFocusable(lastFocused)) return;
  const next = nearestFocusable(lastFocused);
  lastFocused = null;
  const inTable = ancestors.some((box) => box.tagName === "TBODY"); // scrolling may have removed the row
  (next as HTMLElement | undefined)?.focus({ preventScroll: inTable });
}

export function startFocus(): void {
  document.addEventListener("focusin", remember);
  new MutationObserver(restoreFocus).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] });
}
