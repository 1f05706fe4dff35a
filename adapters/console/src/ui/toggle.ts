// A switch that acts after its dialog is confirmed. Without the right, it is disabled and described by the reason.
import { assign, effect, h, newID } from "./dom";

export function toggle(name: () => string, on: () => boolean, run: () => unknown, disabledReason: () => string | null = () => null): HTMLElement {
  const button = h("button", { type: "button", role: "switch", class: "switch", onclick: run as () => unknown });
  const box = h("span", null, button);
  const why = newID();
  const text = h("span", { id: why, class: "hidden" });
  // One effect instead of one for each attribute: lists have many switches.
  effect(() => {
    const reason = disabledReason();
    assign(button, "aria-label", name());
    assign(button, "aria-checked", on());
    button.disabled = reason !== null;
    assign(button, "title", reason);
    assign(button, "aria-describedby", reason === null ? null : why);
    text.textContent = reason;
    if (reason === null) text.remove();
    else box.append(text);
  });
  return box;
}
