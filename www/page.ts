/** What several sections need: finding elements, dropped files, downloads, keeping the focus. */

/** The element that a selector finds. */
export const find = <E extends HTMLElement = HTMLElement>(selector: string, within: ParentNode = document): E =>
  within.querySelector<E>(selector)!;

const isFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;

/**
 * Calls a function with each file that is dropped onto an element, unless a fieldset around it is disabled. The element
 * has the class `over` under a file.
 */
export function onDrop(zone: HTMLElement, take: (file: File) => void) {
  const may = (event: DragEvent) => isFile(event) && !zone.closest(":disabled");
  zone.addEventListener("dragover", (event) => {
    if (!may(event)) return;
    event.preventDefault(); // so that it may be dropped
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    zone.classList.remove("over");
    if (!may(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
}

// A file that is dropped anywhere else would replace the page.
addEventListener("dragover", (event) => {
  if (!isFile(event) || event.defaultPrevented) return;
  event.preventDefault();
  event.dataTransfer!.dropEffect = "none";
});
addEventListener("drop", (event) => isFile(event) && event.preventDefault());

/** Calls a function with the file that is chosen by a button and its hidden input. */
export function onChoose(button: HTMLElement, input: HTMLInputElement, take: (file: File) => void) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = ""; // or the same file could not be chosen again
    if (file) take(file);
  });
}

/** Hands the visitor a file. */
export function download(name: string, content: BlobPart) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  // Not at once: Firefox may not have begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Makes a change. If it hides or disables the element that has the focus, another one gets it. */
export function keepFocus(change: () => void, next: () => HTMLElement) {
  const focused = document.activeElement;
  change();
  if (focused && focused !== document.body && (focused.matches(":disabled") || !focused.checkVisibility()))
    next().focus({ preventScroll: true });
}

/** Runs a function that reads a form: now, and again when the browser has restored what the visitor chose before. */
export function onForm(read: () => void) {
  read();
  addEventListener("pageshow", read);
}

/** Runs something once an element is less than half a screen away. */
export function whenNear(element: Element, run: () => void) {
  const observe = ([entry]: IntersectionObserverEntry[], observer: IntersectionObserver) => {
    if (!entry!.isIntersecting) return;
    observer.disconnect();
    run();
  };
  new IntersectionObserver(observe, { rootMargin: "50%" }).observe(element);
}

/** Lets the page react to the visitor before it goes on with long work. */
export const breathe = () => new Promise<void>((resolve) => setTimeout(resolve));
