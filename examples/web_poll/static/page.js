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
    const grip = document.createElement("span"); // empty: what is seen of it is style, and nobody reads it aloud
    grip.className = "grip";
    row.append(grip);
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
    const byFinger = event.pointerType === "touch" && !event.target.classList.contains("grip"); // it scrolls the page
    held = byFinger ? null : event.target.closest("li");
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

// One number for this browser's one report, so that a second try is not a second vote; another for another poll, so that
// two polls cannot be told to have a voter in common.
function ticket(report) {
  const name = `dprank ticket ${(Array.isArray(report) ? report[0] : report).protocol}`;
  const kept = localStorage.getItem(name);
  if (kept) return kept;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  localStorage.setItem(name, made);
  return made;
}

function tell(device, report) {
  const { items } = device.protocol;
  const messages = Array.isArray(report) ? report : report.pairs.map((pair, k) => ({ pair, answer: report.answers[k] }));
  const words = messages.map(({ pair: [i, j], answer }) => (answer ? [i, j] : [j, i]).map((k) => items[k]).join(" before "));
  say("said", `What was sent: ${words.join("; ")}. Chance may have turned it round.`);
}

function sent(device, report) {
  list.classList.add("sent");
  send.disabled = true;
  tell(device, report);
  say("status", "Thank you. Your answer has arrived.");
}

// This browser was here before: nothing is left to order, but the same answer may be sent again.
function comesBack(device, report) {
  document.querySelector("#task").hidden = true;
  send.parentElement.before(document.querySelector("#status"));
  send.textContent = "Send the same answer again";
  tell(device, report);
  say("status", "This browser has answered this poll. If you are not sure that it arrived, send it again: it counts once.");
}

async function answer(device) {
  send.disabled = true;
  say("status", "Sending …");
  try {
    const report = (await device.said()) ?? (await device.report(ballot(device.protocol.items.length)));
    const body = JSON.stringify({ ticket: ticket(report), report });
    const reply = await fetch("reports", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!reply.ok) throw new Error(await reply.text());
    sent(device, report);
  } catch (error) {
    say("status", error instanceof Refused ? error.message : `It did not arrive (${error.message}). Try again.`);
    send.disabled = error instanceof Refused;
  }
}

function promise(protocol) {
  const up = (x) => (Math.ceil(x * 100) / 100).toFixed(2);
  const [alone, factor] = [spent(protocol), Math.exp(spent(protocol))].map(up);
  const { n_queries: answers, flip } = protocol;
  const turned = ((100 * flip[0]) / flip[1]).toPrecision(2).replace(/\.0$/, "");
  const what = answers === 1 ? "one answer, which of two items" : `${answers} answers, which of two items each time`;
  say(
    "leaves",
    `Your order stays in this browser. What leaves it is ${what} you put higher. The items are drawn by lot, and in ` +
      `${turned} % of cases chance turns an answer round before it is sent. So nobody can be sure how you voted.`,
  );
  say(
    "promise",
    `In numbers: epsilon = ${alone}. No outcome is more than ${factor} times as probable with your order as with any ` +
      "other, whatever is made of your answer. This holds although nobody is trusted.",
  );
  say(
    "shuffler",
    protocol.randomizer === "rr-shuffled"
      ? `If somebody whom you trust mixes the answers of at least ${protocol.min_reports} voters before the collector sees ` +
          `them, epsilon is ${up(Number(protocol.epsilon))} (delta ${protocol.delta}). This collector mixes nothing before it looks.`
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
  const before = await device.said();
  if (before !== null) comesBack(device, before);
  send.disabled = false;
  send.addEventListener("click", () => answer(device));
} catch (error) {
  say("status", `There is nothing to answer: ${error.message}`);
}
