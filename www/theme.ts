/** The button that switches between light and dark. theme.js has applied the remembered theme before the first paint. */

const KEY = "bloom-wasm-theme"; // as in theme.js
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.querySelector<HTMLButtonElement>("#theme")!;
const listeners = new Set<() => void>();

/** Whether the page is dark. */
export const dark = () => root.classList.contains("dark") || (system.matches && !root.classList.contains("light"));

/** Calls a function whenever the theme has changed, for what isn't drawn by CSS. */
export function onTheme(listener: () => void) {
  listeners.add(listener);
}

function changed() {
  button.setAttribute("aria-pressed", String(dark()));
  for (const listener of listeners) listener();
}

button.addEventListener("click", () => {
  const theme = dark() ? "light" : "dark";
  // A choice that is the system's isn't remembered, so that the page keeps following the system.
  const auto = (theme === "dark") === system.matches;
  root.classList.remove("dark", "light");
  if (!auto) root.classList.add(theme);
  try {
    localStorage.setItem(KEY, auto ? "auto" : theme);
  } catch {} // where storage is forbidden, the theme lasts as long as the page
  changed();
});
system.addEventListener("change", changed);
changed();
