// Light or dark: as the system has it, until somebody chooses.

import { find, say } from "./page.js";

const KEPT_AS = "ostrakon-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function offerThemes() {
  const button = find("#theme");
  const root = document.documentElement;
  const present = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const other = () => (present() === "dark" ? "light" : "dark");
  const label = () => say(button, other() === "dark" ? "Dark" : "Light");
  const kept = localStorage.getItem(KEPT_AS);
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  button.addEventListener("click", () => {
    root.dataset.theme = other();
    localStorage.setItem(KEPT_AS, root.dataset.theme);
    label();
  });
  dark.addEventListener("change", label);
  label();
}
