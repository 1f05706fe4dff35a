// A switch that acts when its dialog says so; without the right it is there and says why.
import { h, newID } from "./dom";

export function toggle(name: () => string, on: () => boolean, run: () => unknown, barred: () => string | null = () => null): HTMLElement {
  const why = newID();
  return h("span", null, [
    h("button", {
      type: "button",
      role: "switch",
      class: "switch",
      "aria-label": name,
      "aria-checked": on,
      disabled: () => barred() !== null,
      title: barred,
      "aria-describedby": () => (barred() ? why : null),
      onclick: run as () => unknown,
    }),
    () => (barred() ? h("span", { id: why, class: "hidden" }, barred()) : null),
  ]);
}
