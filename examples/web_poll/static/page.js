// The page of the poll: a list that voters order by pointer or keyboard, and the device that reports the order.

import { Allowance, BrowserStore, Device, Refused, epsilonOf, readProtocol } from "./device.js";

const MOST_EPSILON = "8"; // what one browser spends at most in all polls of this site together
const list = document.querySelector("#ballot");
const send = document.querySelector("#send");
const say = (id, text) => (document.querySelector(`#${id}`).textContent = text);

function shuffled(count) {
  const drawn = new Uint32Array(count);
  for (let k = 0; k < count; k += 16384) crypto.getRandomValues(drawn.subarray(k, k + 16384)); // at most 65,536 bytes
  const keys = Array.from(drawn, (key, item) => [key, item]);
  return keys.sort((a, b) => a[0] - b[0]).map(([, item]) => item);
}

function show(items) {
  for (const item of shuffled(items.length)) { // the poll's own order must not influence voters
    const row = document.createElement("li");
    row.dataset.item = item;
    row.tabIndex = 0;
    row.append(String(items[item]));
    const grip = document.createElement("span"); // empty: the style draws it, and screen readers skip it
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

function showReport(device, report) {
  const { items } = device.protocol;
  const messages = report.messages ?? report.pairs.map((pair, k) => ({ pair, answer: report.answers[k] }));
  // Thousands of long names in one text end the tab.
  const orders = messages.slice(0, 20).map(({ pair, answer }) => (answer ? pair : pair.toReversed()));
  const words = orders.map(([first, second]) => `${items[first]} before ${items[second]}`);
  if (messages.length > words.length) words.push(`${messages.length - words.length} more answers`);
  say("said", `Your report: ${words.join("; ")}. Chance may have reversed it.`);
}

async function sent(device, report) {
  list.classList.add("sent");
  send.disabled = true;
  showReport(device, report);
  await showSpent(device);
  say("status", "Thank you. Your answer has arrived.");
}

// This browser has answered before. The voter can only send the same report again.
function comesBack(device, report) {
  document.querySelector("#task").hidden = true;
  send.parentElement.before(document.querySelector("#status"));
  send.textContent = "Send the same answer again";
  showReport(device, report);
  say(
    "status",
    "This browser has answered this poll. If you are not sure that your answer arrived, send it again. It counts once.",
  );
}

async function answer(device) {
  send.disabled = true;
  say("status", "Sending …");
  try {
    const report = await device.report(ballot(device.protocol.items.length)); // the stored one, if there is one
    const body = JSON.stringify({ poll: device.poll, ticket: await device.ticket(), report });
    const reply = await fetch("reports", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!reply.ok) throw new Error(await reply.text());
    await sent(device, report);
  } catch (error) {
    const refused = error instanceof Refused;
    say("status", refused ? `Not sent: ${error.message}` : `It did not arrive (${error.message}). Try again.`);
    send.disabled = refused;
  }
}

const up = (x) => (Math.ceil(x * 100) / 100).toFixed(2);

async function showSpent(device) {
  const spent = up(await device.allowance.spent());
  say(
    "spent",
    "If you answer several polls, their epsilons add up. This browser spends at most epsilon = " +
      `${device.allowance.epsilon} in all polls of this site. So far it has spent ${spent}. ` +
      "It cannot count other sites or other browsers.",
  );
}

function showPromise(protocol) {
  const [alone, factor] = [epsilonOf(protocol), Math.exp(epsilonOf(protocol))].map(up);
  const { n_queries: answers, flip } = protocol;
  const reversed = ((100 * flip[0]) / flip[1]).toPrecision(2).replace(/\.0$/, "");
  const what = answers === 1 ? "one answer: which of two items" : `${answers} answers: each time, which of two items`;
  say(
    "leaves",
    `Your order stays in this browser. The browser sends ${what} you put higher. It draws the items at random. In ` +
      `${reversed} % of cases it reverses an answer by chance. So nobody can be sure how you voted.`,
  );
  say(
    "promise",
    `In numbers: epsilon = ${alone}. Each possible report is at most ${factor} times as likely with your order as ` +
      "with any other order.",
  );
  say(
    "shuffler",
    protocol.randomizer === "rr-shuffled"
      ? `This site mixes the answers of at least ${protocol.min_reports} voters before it computes a result. If you ` +
          `trust the site to do so, then for everybody else epsilon is ${up(Number(protocol.central_epsilon))} (delta ` +
          `${protocol.central_delta}).`
      : "",
  );
}

try {
  const reply = await fetch("protocol");
  const { poll, question, protocol } = JSON.parse(await reply.text());
  const allowance = new Allowance(MOST_EPSILON, new BrowserStore());
  const device = new Device(readProtocol(protocol), { poll, allowance });
  say("question", question);
  document.title = question;
  showPromise(device.protocol);
  await showSpent(device);
  show(device.protocol.items);
  byKeyboard();
  byPointer();
  const before = await device.storedReport();
  if (before !== null) comesBack(device, before);
  else await device.checkAllowance();
  send.disabled = false;
  send.addEventListener("click", () => answer(device));
} catch (error) {
  say("status", `There is nothing to answer: ${error.message}`);
}
