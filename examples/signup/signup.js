/** Refuses common passwords as one types. What is typed stays in the page until the form is sent. */
import { load } from "bloom-wasm/reader";

const COMMON = "This password is on every attacker's list. Please choose another one.";
const PAUSE = 500; // ms without a key before a verdict is shown, and read aloud

const password = document.querySelector("#password");
const verdict = document.querySelector("#verdict");
const notice = document.querySelector("#notice");

let filter; // undefined until it has arrived, and every password is good till then
let timer;

/** Tells the browser at once, which doesn't send the form with such a password and says why. */
function check() {
  const common = filter?.hasPassword(password.value);
  password.setCustomValidity(common ? COMMON : "");
  if (!common) show(); // what is no longer true goes at once
  clearTimeout(timer);
  timer = setTimeout(show, PAUSE);
}

/** Shows the verdict. A screen reader reads the text when it changes, so it stays if it is the same. */
function show() {
  const text = password.validity.customError ? COMMON : "";
  if (verdict.textContent === text) return;
  verdict.textContent = text;
  password.setAttribute("aria-invalid", String(text !== ""));
}

password.addEventListener("input", check);
password.addEventListener("invalid", show); // at the attempt to send the form

try {
  filter = await load("passwords.bloom");
  check(); // what was typed meanwhile
} catch (error) {
  console.warn(error);
  notice.textContent = "We can't check passwords just now. Please choose one that you use nowhere else.";
}
