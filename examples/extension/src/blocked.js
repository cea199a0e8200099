/** The blocking page: says what was blocked, and goes back or continues. */
const { url, key, kinds } = Object.fromEntries(new URLSearchParams(location.search));
const element = (id) => document.getElementById(id);

element("url").textContent = url;
element("key").textContent = key;
element("kinds").textContent = kinds;
element("kinds").parentElement.hidden = kinds === "";

// The blocked page is the entry before this one in the tab's history.
element("back").addEventListener("click", async () => {
  if (history.length > 2) return history.go(-2);
  // There is nothing to go back to.
  const { id } = await chrome.tabs.getCurrent();
  await chrome.tabs.create({});
  await chrome.tabs.remove(id);
});

element("continue").addEventListener("click", async () => {
  await chrome.storage.session.set({ [`allowed ${key}`]: true });
  history.back();
});
