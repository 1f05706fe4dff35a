// The theme: light, dark or that of the system. The choice is stored in this browser.
import { effect, signal } from "./ui/dom";

export type Theme = "light" | "dark" | "system";

export const theme = signal<Theme>((localStorage.getItem("bunting.theme") as Theme | null) ?? "system");

export function setTheme(t: Theme): void {
  localStorage.setItem("bunting.theme", t);
  theme.set(t);
}

export function startTheme(): void {
  effect(() => {
    const t = theme();
    if (t === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", t);
  });
}
