/** Refuses common passwords while the user types. The password stays in the page until the form is submitted. */
import { load } from "bloom-wasm/nano";

const COMMON = "This password is on every attacker's list. Please choose another one.";
const PAUSE = 500; // ms without typing before a verdict is shown, and read aloud

const password = document.querySelector("#password");
const verdict = document.querySelector("#verdict");
const notice = document.querySelector("#notice");

let filter; // undefined until it is loaded; until then every password is accepted
let timer;

/** Tells the browser at once. It then refuses to submit the form with a common password, and says why. */
function check() {
  const common = filter?.hasPassword(password.value);
  password.setCustomValidity(common ? COMMON : "");
  if (!common) show(); // a verdict that is no longer true disappears at once
  clearTimeout(timer);
  timer = setTimeout(show, PAUSE);
}

/** Shows the verdict. A screen reader reads the text whenever it is set, so it is set only when it changes. */
function show() {
  const text = password.validity.customError ? COMMON : "";
  if (verdict.textContent === text) return;
  verdict.textContent = text;
  password.setAttribute("aria-invalid", String(text !== ""));
}

password.addEventListener("input", check);
password.addEventListener("invalid", show); // when the user tries to submit the form

try {
  filter = await load("passwords.bloom");
  check(); // what the user has typed meanwhile
} catch (error) {
  console.warn(error);
  notice.textContent = "We can't check passwords right now. Please choose one that you use nowhere else.";
}
