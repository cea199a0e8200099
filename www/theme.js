// Runs before the first paint. Without a choice the page is as the system is.
try {
  const theme = localStorage.getItem("bloom-wasm-theme");
  if (theme === "dark" || theme === "light") document.documentElement.classList.add(theme);
} catch {} // where storage is forbidden
