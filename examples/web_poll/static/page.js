// The page of the poll: a list that is ordered by pointer or keyboard, and the device that answers for it.

import { Device, Refused, readProtocol, spent } from "./device.js";

const MOST_EPSILON = 8; // what this page ever lets a poll ask of a browser
const list = document.querySelector("#ballot");
const send = document.querySelector("#send");
const say = (id, text) => (document.querySelector(`#${id}`).textContent = text);

function shuffled(count) {
  const keys = Array.from(crypto.getRandomValues(new Uint32Array(count)), (key, item) => [key, item]);
  return keys.sort((a, b) => a[0] - b[0]).map(([, item]) => item);
}

function show(items) {
  for (const item of shuffled(items.length)) { // no item is on top because the poll listed it first
    const row = document.createElement("li");
    row.dataset.item = item;
    row.tabIndex = 0;
    row.append(String(items[item]));
    list.append(row);
  }
}

function move(row, to) {
  const rows = [...list.children].filter((other) => other !== row);
  list.insertBefore(row, rows[Math.max(0, Math.min(to, rows.length))] ?? null);
}

function byKeyboard() {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined || list.classList.contains("sent")) return;
    event.preventDefault();
    const row = event.target.closest("li");
    move(row, [...list.children].indexOf(row) + step);
    row.focus();
    say("status", `${row.textContent} is number ${[...list.children].indexOf(row) + 1}`);
  });
}

function byPointer() {
  let held = null;
  list.addEventListener("pointerdown", (event) => {
    if (list.classList.contains("sent") || event.button !== 0) return;
    held = event.target.closest("li");
    held?.classList.add("held");
    if (held) list.setPointerCapture(event.pointerId);
  });
  list.addEventListener("pointermove", (event) => {
    if (!held) return;
    const middle = (row) => row.getBoundingClientRect().top + row.offsetHeight / 2;
    const above = [...list.children].filter((row) => row !== held && middle(row) < event.clientY).length;
    if ([...list.children].indexOf(held) !== above) move(held, above);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    list.addEventListener(end, () => {
      held?.classList.remove("held");
      held = null;
    });
  }
}

function ballot(count) {
  const positions = new Array(count);
  [...list.children].forEach((row, place) => (positions[Number(row.dataset.item)] = place));
  return positions;
}

// One number for this browser's one report, so that a second try is not a second vote.
function ticket() {
  const kept = localStorage.getItem("dprank ticket");
  if (kept) return kept;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  localStorage.setItem("dprank ticket", made);
  return made;
}

function sent(device, report) {
  list.classList.add("sent");
  send.disabled = true;
  const { items } = device.protocol;
  const messages = Array.isArray(report) ? report : report.pairs.map((pair, k) => ({ pair, answer: report.answers[k] }));
  const words = messages.map(({ pair: [i, j], answer }) => (answer ? [i, j] : [j, i]).map((k) => items[k]).join(" before "));
  say("said", `What was sent: ${words.join("; ")}. It may have been turned round by chance.`);
  say("status", "Thank you. Your answer has arrived.");
}

async function answer(device) {
  send.disabled = true;
  say("status", "Sending …");
  try {
    const report = await device.report(ballot(device.protocol.items.length));
    const body = JSON.stringify({ ticket: ticket(), report });
    const reply = await fetch("reports", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!reply.ok) throw new Error(await reply.text());
    sent(device, report);
  } catch (error) {
    say("status", error instanceof Refused ? error.message : `It did not arrive (${error.message}). Try again.`);
    send.disabled = error instanceof Refused;
  }
}

function promise(protocol) {
  const [alone, factor] = [spent(protocol), Math.exp(spent(protocol))].map((x) => (Math.ceil(x * 100) / 100).toFixed(2));
  say(
    "promise",
    `Epsilon = ${alone}: whatever is made of your answer, no outcome is more than ${factor} times as probable with your ` +
      "order as with any other. This holds although nobody is trusted.",
  );
  say(
    "shuffler",
    protocol.randomizer === "rr-shuffled"
      ? `If somebody whom you trust mixes the answers of at least ${protocol.min_reports} voters before the collector sees ` +
          `them, epsilon is ${protocol.epsilon} (delta ${protocol.delta}). This collector mixes nothing before it looks.`
      : "A shuffler between you and the collector would protect you further. There is none here.",
  );
}

try {
  const reply = await fetch("protocol");
  const { question, protocol } = JSON.parse(await reply.text());
  const device = new Device(readProtocol(protocol), { maxEpsilon: MOST_EPSILON, store: localStorage });
  say("question", question);
  document.title = question;
  promise(device.protocol);
  show(device.protocol.items);
  byKeyboard();
  byPointer();
  send.disabled = false;
  send.addEventListener("click", () => answer(device));
} catch (error) {
  say("status", `There is nothing to answer: ${error.message}`);
}
