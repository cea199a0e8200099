// Runs before the first paint. Without a choice the page is as the system is. VitePress keeps its choice in the same place.
try {
  const theme = localStorage.getItem("vitepress-theme-appearance");
  if (theme === "dark" || theme === "light") document.documentElement.classList.add(theme);
} catch {} // where storage is forbidden
