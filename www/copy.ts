/** Buttons that copy a text, and say so for a moment. */
export function copyButton(button: HTMLButtonElement, text: () => string) {
  const label = button.textContent!;
  let timer = 0;
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      said = "Not allowed here"; // without HTTPS, or without the permission
    }
    button.textContent = said;
    clearTimeout(timer);
    timer = window.setTimeout(() => (button.textContent = label), 2000);
  });
}
