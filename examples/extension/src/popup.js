/** The popup: shows what the background script has put into storage, so it needn't wake the script. */
const { local, session, onChanged } = chrome.storage;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function ago(time) {
  if (time == null) return "unknown";
  const minutes = Math.round((time - Date.now()) / 60_000);
  if (minutes > -60) return relative.format(minutes, "minute");
  if (minutes > -48 * 60) return relative.format(Math.round(minutes / 60), "hour");
  return relative.format(Math.round(minutes / 60 / 24), "day");
}

async function show() {
  const { keys, generation, createdAt, updatedAt, problem } = await local.get();
  const { checks, blocked } = await session.get({ checks: 0, blocked: 0 });
  const texts = {
    keys: keys?.toLocaleString("en") ?? "none yet",
    generation: generation?.toLocaleString("en") ?? "none yet",
    published: ago(createdAt),
    updated: ago(updatedAt),
    checks: checks.toLocaleString("en"),
    blocked: blocked.toLocaleString("en"),
    problem: problem ? `The last update failed: ${problem}` : "",
  };
  for (const [id, text] of Object.entries(texts)) document.getElementById(id).textContent = text;
}

onChanged.addListener(show);
await show();
