// A switch that acts after its dialog is confirmed. Without the right, it is disabled and described by the reason.
import { h, newID } from "./dom";

export function toggle(name: () => string, on: () => boolean, run: () => unknown, disabledReason: () => string | null = () => null): HTMLElement {
  const why = newID();
  return h("span", null, [
    h("button", {
      type: "button",
      role: "switch",
      class: "switch",
      "aria-label": name,
      "aria-checked": on,
      disabled: () => disabledReason() !== null,
      title: disabledReason,
      "aria-describedby": () => (disabledReason() ? why : null),
      onclick: run as () => unknown,
    }),
    () => (disabledReason() ? h("span", { id: why, class: "hidden" }, disabledReason()) : null),
  ]);
}
