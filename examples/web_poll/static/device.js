// A voter's device, from the page "The wire format": randomised response on a few pairs ("rr") and the hidden-pair
// shuffle ("rr-shuffled"). It runs where the ballot is, draws from the browser's secure source, checks what a protocol
// spends before it follows it, and says one thing once.

const GRID = 2n ** 52n;
const SCALE = 10n ** 80n; // fixed-point numbers have 80 decimal places
const LARGEST_INTEGER = Number.MAX_SAFE_INTEGER;
const AMOUNT = /^(0|[1-9][0-9]{0,19})(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?$/;
const FIELDS = {
  rr: ["n_queries", "flip"],
  "rr-shuffled": ["n_queries", "flip", "pairs", "delta", "local_epsilon", "min_reports"],
};

export class Refused extends Error {}

// --- the protocol's text, name and price

export function canonical(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.keys(value).sort();
    return `{${fields.map((field) => `${canonical(field)}:${canonical(value[field])}`).join(",")}}`;
  }
  return String(value);
}

async function sha256(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function digest(protocol) {
  return (await sha256(canonical(protocol))).slice(0, 16);
}

// Parses the text of a protocol; JavaScript takes 1.0 for the integer 1, and the wire format does not.
export function readProtocol(text) {
  let protocol;
  try {
    protocol = JSON.parse(text);
  } catch {
    throw new Refused("the protocol is not JSON.");
  }
  const withoutTexts = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  refuseUnless(!/[0-9][.eE]/.test(withoutTexts) && !withoutTexts.includes("-0"), "every number", "an integer");
  return protocol;
}

function refuseUnless(valid, name, rule) {
  if (!valid) throw new Refused(`this device does not follow the protocol: ${name} must be ${rule}.`);
}

function isWhole(value, low, high = LARGEST_INTEGER) {
  return Number.isSafeInteger(value) && low <= value && value <= high;
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isName(item) {
  if (typeof item !== "string") return isWhole(item, -LARGEST_INTEGER);
  return [...item].length <= 1000 && item.isWellFormed();
}

function areItems(items) {
  if (!Array.isArray(items) || items.length < 2 || items.length > 65534 || !items.every(isName)) return false;
  return new Set(items.map((item) => `${typeof item} ${item}`)).size === items.length;
}

// A positive decimal number as text, in units of 1 / SCALE, rounded down.
function amount(text) {
  if (typeof text !== "string" || text.length > 64 || !AMOUNT.test(text)) return 0n;
  const [number, exponent = "0"] = text.split("e");
  const [whole, fraction = ""] = number.split(".");
  const shift = 80 - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

// ln(high / low) of positive integers in units of 1 / SCALE, too large by at most one part in 10^49.
export function logRatio(high, low) {
  let doublings = 0n;
  while (high >= 2n * low) [low, doublings] = [2n * low, doublings + 1n];
  const found = twiceArtanh(high - low, high + low) + doublings * twiceArtanh(1n, 3n);
  return found + found / 10n ** 50n + 1n;
}

// 2 artanh(a / b) for 0 <= a / b <= 1/3, by its series, rounded up.
function twiceArtanh(a, b) {
  let [power, sum] = [(SCALE * a) / b, 0n];
  for (let k = 1n; power > 0n; k += 2n) {
    sum += power / k + 1n;
    power = (power * a * a) / (b * b) + 1n;
    if (power <= 1n) break;
  }
  return 2n * (sum + 2n);
}

function flipsCost(flip, times) {
  return BigInt(times) * logRatio(GRID - BigInt(flip), BigInt(flip));
}

function nPairs(protocol) {
  const m = protocol.items.length;
  return (m * (m - 1)) / 2;
}

// Raises `Refused` unless a protocol is of the exact form and spends no more than it states and its owner allows.
export function check(protocol, maxEpsilon) {
  refuseUnless(isObject(protocol), "it", "a JSON object");
  const own = Object.hasOwn(FIELDS, protocol.randomizer) ? FIELDS[protocol.randomizer] : null;
  refuseUnless(own !== null, "randomizer", "one that this device knows, rr or rr-shuffled");
  const expected = ["version", "randomizer", "items", "epsilon", ...own].sort();
  const found = Object.keys(protocol).sort();
  refuseUnless(found.length === expected.length && found.every((f, k) => f === expected[k]), "its set of fields", "exact");
  refuseUnless(protocol.version === 2, "version", 2);
  refuseUnless(areItems(protocol.items), "items", "a list of 2 to 65,534 distinct names");
  refuseUnless(amount(protocol.epsilon) > 0n, "epsilon", "a positive decimal number as text");
  const most = nPairs(protocol) > 2 ** 27 ? 1 : nPairs(protocol);
  refuseUnless(isWhole(protocol.n_queries, 1, most), "n_queries", "the number of pairs of a voter");
  const { flip } = protocol;
  const flips = Array.isArray(flip) && flip.length === 2 && isWhole(flip[0], 1, 2 ** 51) && flip[1] === 2 ** 52;
  refuseUnless(flips, "flip", "[1 to 2^51, 2^52]");
  let stated = amount(protocol.epsilon);
  if (protocol.randomizer === "rr-shuffled") {
    refuseUnless(["hidden", "assigned"].includes(protocol.pairs), "pairs", "hidden or assigned");
    refuseUnless(amount(protocol.delta) > 0n, "delta", "a positive decimal number as text");
    refuseUnless(amount(protocol.local_epsilon) > 0n, "local_epsilon", "a positive decimal number as text");
    refuseUnless(isWhole(protocol.min_reports, 1), "min_reports", "at least 1");
    stated = amount(protocol.local_epsilon);
  }
  const spent = flipsCost(flip[0], protocol.n_queries);
  refuseUnless(spent <= stated, "epsilon", "at least what its numbers spend");
  if (maxEpsilon !== null) refuseUnless(spent <= amount(String(maxEpsilon)), "what it spends", `at most ${maxEpsilon}`);
}

// What one voter's report spends without a shuffler, as a number for people to read.
export function spent(protocol) {
  return Number(flipsCost(protocol.flip[0], protocol.n_queries) / 10n ** 68n) / 1e12;
}

// --- uniform words, and what is drawn from them

export class SecureWords {
  take(n) {
    return Array.from(crypto.getRandomValues(new BigUint64Array(n)));
  }
}

function coins(words, n) {
  const flat = words.take(Math.ceil(n / 64));
  return Array.from({ length: n }, (_, k) => {
    const byte = (flat[Math.floor(k / 64)] >> BigInt(8 * Math.floor((k % 64) / 8))) & 255n;
    return Number((byte >> BigInt(7 - (k % 8))) & 1n);
  });
}

function integers(words, bound, n = 1) {
  const mask = (1n << BigInt((bound - 1n).toString(2).length * Number(bound > 1n))) - 1n;
  const drawn = words.take(n).map((word) => word & mask);
  for (;;) {
    const waiting = [...drawn.keys()].filter((k) => drawn[k] >= bound);
    if (waiting.length === 0) return drawn;
    const again = words.take(waiting.length);
    waiting.forEach((k, place) => (drawn[k] = again[place] & mask));
  }
}

// --- a ballot's report

// The pair with this number, counted (0, 1), (0, 2), ..., (1, 2), ...
function pairOf(number, m) {
  let i = 0;
  for (let row = m - 1; number >= row; row -= 1, i += 1) number -= row;
  return [i, i + 1 + number];
}

function drawnPairs(protocol, assignment) {
  const [m, count, k] = [protocol.items.length, nPairs(protocol), protocol.n_queries];
  if (protocol.randomizer === "rr-shuffled") {
    return integers(assignment, BigInt(count), k).map((number) => pairOf(Number(number), m));
  }
  const drawn = []; // Floyd's method: k different ones
  for (let top = count - k; top < count; top += 1) {
    const pick = Number(integers(assignment, BigInt(top + 1))[0]);
    drawn.push(drawn.includes(pick) ? top : pick);
  }
  return drawn.map((number) => pairOf(number, m));
}

// Draws the report of a ballot (a position for each item, smaller is better, null for no opinion) as the wire format
// says; `streams` are the words for noise, coins and assignment.
export async function draw(protocol, ballot, streams, assigned = null) {
  const name = await digest(protocol);
  const pairs = assigned ?? drawnPairs(protocol, streams.assignment);
  const tossed = coins(streams.coins, pairs.length);
  const flips = integers(streams.noise, GRID, pairs.length);
  const answers = pairs.map(([i, j], k) => {
    const [first, second] = [ballot[i], ballot[j]];
    const silent = first === null || second === null || first === second;
    const says = silent ? tossed[k] : Number(first < second);
    return says ^ Number(flips[k] < BigInt(protocol.flip[0]));
  });
  if (protocol.randomizer === "rr") return { protocol: name, pairs, answers };
  const hidden = protocol.pairs === "hidden";
  return pairs.map((pair, k) => ({ protocol: name, shuffle: hidden ? k : 0, pair, answer: answers[k] }));
}

// One voter's device. `store` keeps its one report (the browser's local storage does); the same store gives the same
// report for the same ballot for ever, and refuses another ballot.
export class Device {
  constructor(protocol, { maxEpsilon = null, store, words = new SecureWords() }) {
    check(protocol, maxEpsilon);
    this.protocol = protocol;
    this.store = store;
    this.words = words;
  }

  // What this device has said, or null.
  async said() {
    return JSON.parse(this.store.getItem(`dprank ${await digest(this.protocol)}`) ?? "null")?.report ?? null;
  }

  async report(ballot) {
    if (this.protocol.pairs === "assigned") throw new Refused("this device draws its pairs itself.");
    const isPlace = (place) => place === null || Number.isFinite(place);
    if (!Array.isArray(ballot) || ballot.length !== this.protocol.items.length || !ballot.every(isPlace)) {
      throw new Refused("a ballot must have a position, or null, for each item.");
    }
    const key = `dprank ${await digest(this.protocol)}`;
    const locked = globalThis.navigator?.locks; // two tabs are one device
    return locked ? locked.request(key, () => this.#once(key, ballot)) : this.#once(key, ballot);
  }

  async #once(key, ballot) {
    const kept = JSON.parse(this.store.getItem(key) ?? "null");
    if (kept !== null) {
      if (kept.ballot !== (await sha256(kept.salt + canonical(ballot)))) {
        throw new Refused("this device has answered; another ballot would be a second vote.");
      }
      return kept.report;
    }
    const salt = crypto.randomUUID();
    const streams = { noise: this.words, coins: this.words, assignment: this.words };
    const report = await draw(this.protocol, ballot, streams);
    this.store.setItem(key, JSON.stringify({ salt, ballot: await sha256(salt + canonical(ballot)), report }));
    return report;
  }
}
