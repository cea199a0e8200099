/** The blocking page: says what was blocked, and goes back or on. */
const { url, key } = Object.fromEntries(new URLSearchParams(location.search));
const element = (id) => document.getElementById(id);

element("url").textContent = url;
element("key").textContent = key;

element("back").addEventListener("click", async () => {
  const { id } = await chrome.tabs.getCurrent();
  const arrived = `arrived ${id}`;
  const pages = (await chrome.storage.session.get(arrived))[arrived] ? 2 : 1;
  if (history.length > pages) return history.go(-pages);
  // There is nothing to go back to.
  await chrome.tabs.create({});
  await chrome.tabs.remove(id);
});

element("continue").addEventListener("click", async () => {
  await chrome.storage.session.set({ [`allowed ${key}`]: true });
  location.replace(url);
});
