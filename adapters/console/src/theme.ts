// The look: the theme (light, dark or that of the system) and the height of rows. The choices are stored
// in this browser.
import { effect, signal } from "./ui/dom";

export type Theme = "light" | "dark" | "system";

export const theme = signal<Theme>((localStorage.getItem("bunting.theme") as Theme | null) ?? "system");

export function setTheme(t: Theme): void {
  localStorage.setItem("bunting.theme", t);
  theme.set(t);
}

/** Whether the rows of tables are higher. */
export const comfortableRows = signal(localStorage.getItem("bunting.rows") === "comfortable");

export function setComfortableRows(on: boolean): void {
  localStorage.setItem("bunting.rows", on ? "comfortable" : "compact");
  comfortableRows.set(on);
}

export function startTheme(): void {
  effect(() => {
    if (comfortableRows()) document.documentElement.setAttribute("data-rows", "comfortable");
    else document.documentElement.removeAttribute("data-rows");
  });
  effect(() => {
    const t = theme();
    if (t === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", t);
  });
}
