/** Refuses common passwords while the user types. The password stays in the page until the form is submitted. */
import { load } from "bloom-wasm/reader";

const COMMON = "This password is on every attacker's list. Please choose another one.";
const PAUSE = 500; // ms without typing before a verdict is shown, and read aloud

const password = document.querySelector("#password");
const verdict = document.querySelector("#verdict");
const notice = document.querySelector("#notice");

let filter; // undefined until it is loaded; until then every password is accepted
let loading = false;
let timer;

/** Tells the browser at once. It then refuses to submit the form with a common password, and says why. */
function check() {
  const common = filter?.hasPassword(password.value);
  password.setCustomValidity(common ? COMMON : "");
  if (!common) show(); // a verdict that is no longer true disappears at once
  clearTimeout(timer);
  timer = setTimeout(pause, PAUSE);
}

function pause() {
  show();
  if (!filter && !loading) open();
}

function show() {
  say(verdict, password.validity.customError ? COMMON : "");
  password.setAttribute("aria-invalid", String(password.validity.customError));
}

/** A screen reader reads a text whenever it is set, so it is set only when it changes. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Loads the filter. If that fails, the next pause in typing tries again. */
async function open() {
  loading = true;
  try {
    filter = await load("passwords.bloom");
    say(notice, "");
    check(); // what the user has typed meanwhile
  } catch (error) {
    console.warn(error);
    say(notice, "We can't check passwords right now. Please choose one that you use nowhere else.");
  }
  loading = false;
}

password.addEventListener("input", check);
password.addEventListener("invalid", show); // when the user tries to submit the form

open();
