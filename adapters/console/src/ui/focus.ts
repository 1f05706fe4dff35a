// The focus is never lost (console.md §2.1): when what had it goes away or is disabled, it goes
// to what is nearest, else to the heading.

const focusable = "a[href], button, input, select, textarea, [tabindex]";
let lastFocused: Element | null = null;
let ancestors: Element[] = []; // what it stood in, from the inside out

const isFocusable = (el: Element) => el.isConnected && !el.matches(":disabled") && el.getClientRects().length > 0;

function remember(e: FocusEvent): void {
  lastFocused = e.target as Element;
  ancestors = [];
  for (let up = lastFocused.parentElement; up && up.tagName !== "MAIN"; up = up.parentElement) ancestors.push(up);
}

/** What comes after it where it still is, else the first thing near where it was. */
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
  const inTable = ancestors.some((box) => box.tagName === "TBODY"); // a row may be gone because somebody scrolls
  (next as HTMLElement | undefined)?.focus({ preventScroll: inTable });
}

export function startFocus(): void {
  document.addEventListener("focusin", remember);
  new MutationObserver(restoreFocus).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] });
}
