// The focus is never lost (console.md §2.1): when what had it goes away or is disabled, it goes
// to what is nearest, else to the heading.

const takes = "a[href], button, input, select, textarea, [tabindex]";
let last: Element | null = null;
let around: Element[] = []; // what it stood in, from the inside out

const able = (el: Element) => el.isConnected && !el.matches(":disabled") && el.getClientRects().length > 0;

function remember(e: FocusEvent): void {
  last = e.target as Element;
  around = [];
  for (let up = last.parentElement; up && up.tagName !== "MAIN"; up = up.parentElement) around.push(up);
}

/** What comes after it where it still is, else the first thing near where it was. */
function nearest(was: Element): Element | undefined {
  for (const box of around) {
    if (!box.isConnected) continue;
    const near = [...box.querySelectorAll(takes)].filter(able);
    const after = was.isConnected ? near.find((el) => was.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING) : undefined;
    if (after ?? near[0]) return after ?? near[0];
  }
  return document.querySelector("h1") ?? undefined;
}

function mend(): void {
  if (document.activeElement !== document.body || !last || able(last)) return;
  const next = nearest(last);
  last = null;
  const rolled = around.some((box) => box.tagName === "TBODY"); // a row may be gone because somebody scrolls
  (next as HTMLElement | undefined)?.focus({ preventScroll: rolled });
}

export function startFocus(): void {
  document.addEventListener("focusin", remember);
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] });
}
