// JavaScript client of sklearn-dprank: a voter's device for browsers and Node. It needs no other file.
//
// It validates a protocol, keeps the budget of one browser for all polls of a site, and creates one randomised report
// for each poll. Randomizers: "rr", "laplace", "gaussian", "rr-assigned", "rr-shown", and "rr-shuffled" with hidden or
// shown pairs. The ballot stays on the device.
// Documentation: user guide, pages "JavaScript client" and "The wire format" (version 3).

const GRID = 2n ** 52n;
const SCALE = 10n ** 80n; // fixed-point numbers have 80 decimal places
const LARGEST_INTEGER = Number.MAX_SAFE_INTEGER;
const MOST_WORDS = 8192; // of one call of getRandomValues: 65,536 bytes
const AMOUNT = /^(0|[1-9][0-9]{0,19})(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?$/;
const MOST_QUERIES = 2 ** 16; // pairs of one voter
const MOST_HASHES = 2 ** 17; // expected number for the public pairs of one voter
const RECORD = "dprank"; // the name of the one stored record
const DIGITS = /^[0-9a-f]{32}$/;
const DAMAGED = "what this browser stored about its polls is damaged, so it answers no poll.";
const FIELDS = {
  rr: ["n_queries", "flip"],
  laplace: ["n_queries", "flip"],
  gaussian: ["n_queries", "flip"],
  "rr-assigned": ["n_queries", "flip", "n_voters", "assignment_seed"],
  "rr-shown": ["n_queries", "flip"],
  "rr-shuffled": ["n_queries", "flip", "pairs", "min_reports", "central_epsilon", "central_delta"],
};

// The device does not report. The message gives the reason, and never the ballot.
export class Refused extends Error {
  name = "Refused";
}

// The protocol is valid, but the allowance of this browser does not cover it.
export class BudgetExhausted extends Refused {
  name = "BudgetExhausted";
}

// --- protocols: text, digest, validation and epsilon

// The canonical text that is hashed (RFC 8785, without fractions).
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

// The digest that every report carries: 16 hexadecimal digits.
export async function digest(protocol) {
  return (await sha256(canonical(protocol))).slice(0, 16);
}

// Parses the text of a protocol; JavaScript takes 1.0 for the integer 1, and the wire format does not.
export function readProtocol(text) {
  let protocol, withoutTexts;
  try {
    protocol = JSON.parse(text);
    withoutTexts = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  } catch {  // also of a value that is no text, or of a text of millions of characters
    throw new Refused("the protocol is not JSON.");
  }
  refuseUnless(!/[0-9][.eE]/.test(withoutTexts), "every number", "an integer");
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

// Returns whether a value is a positive decimal number as text, also if it is less than 1 / SCALE.
function isAmount(text) {
  return typeof text === "string" && text.length <= 64 && AMOUNT.test(text) && /[1-9]/.test(text.split("e")[0]);
}

// A positive decimal number as text, in units of 1 / SCALE, rounded down.
function amount(text) {
  if (!isAmount(text)) return 0n;
  const [number, exponent = "0"] = text.split("e");
  const [whole, fraction = ""] = number.split(".");
  const shift = 80 - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

// ln(high / low) of positive integers in units of 1 / SCALE, too large by at most one part in 10^49.
function logRatio(high, low) {
  if (high === low) return 0n;
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

// Returns whether a device holds comparisons [first, second, outcome] in place of a ballot.
function asksComparisons(protocol) {
  return protocol.randomizer === "rr-shown" || protocol.pairs === "shown";
}

// Throws `Refused` unless a protocol has the exact form and spends at most what it states and at most `maxEpsilon`.
export function checkProtocol(protocol, maxEpsilon = null) {
  refuseUnless(isObject(protocol), "it", "a JSON object");
  const isKnown = typeof protocol.randomizer === "string" && Object.hasOwn(FIELDS, protocol.randomizer);
  const own = isKnown ? FIELDS[protocol.randomizer] : null;
  refuseUnless(own !== null, "randomizer", `one that this device knows (${Object.keys(FIELDS).join(", ")})`);
  const expected = ["version", "randomizer", "items", "epsilon", ...own].sort();
  const exact = canonical(Object.keys(protocol).sort()) === canonical(expected);
  refuseUnless(exact, "its set of fields", "exact");
  refuseUnless(protocol.version === 3, "version", 3);
  refuseUnless(areItems(protocol.items), "items", "a list of 2 to 65,534 distinct names");
  refuseUnless(isAmount(protocol.epsilon), "epsilon", "a positive decimal number as text");
  const one = nPairs(protocol) > 2 ** 27 || asksComparisons(protocol);
  const most = one ? 1 : Math.min(nPairs(protocol), MOST_QUERIES);
  refuseUnless(isWhole(protocol.n_queries, 1, most), "n_queries", "the number of pairs of a voter, at most 65,536");
  const { flip } = protocol;
  const flips = Array.isArray(flip) && flip.length === 2 && isWhole(flip[0], 1, 2 ** 51) && flip[1] === 2 ** 52;
  refuseUnless(flips, "flip", "[1 to 2^51, 2^52]");
  if (protocol.randomizer === "rr-assigned") {
    refuseUnless(isWhole(protocol.n_voters, 1), "n_voters", "at least 1");
    const seed = protocol.assignment_seed;
    refuseUnless(typeof seed === "string" && DIGITS.test(seed), "assignment_seed", "32 hexadecimal digits");
    refuseUnless(expectedHashes(protocol) <= MOST_HASHES, "n_queries", "so small that 131,072 hashes find its pairs");
  }
  if (protocol.randomizer === "rr-shuffled") {
    refuseUnless(["hidden", "assigned", "shown"].includes(protocol.pairs), "pairs", "hidden, assigned or shown");
    refuseUnless(isWhole(protocol.min_reports, 1), "min_reports", "at least 1");
    for (const name of ["central_epsilon", "central_delta"]) { // the curator's claim: only its form is checked
      refuseUnless(isAmount(protocol[name]), name, "a positive decimal number as text");
    }
  }
  const spends = price(protocol);
  refuseUnless(spends <= amount(protocol.epsilon), "epsilon", "at least what its numbers spend");
  if (maxEpsilon === null) return;
  refuseUnless(spends <= amount(String(maxEpsilon)), "what it spends", `at most ${maxEpsilon}`);
}

// Returns a bound on the expected number of hashes that `publicPairs` needs: each draws one of 2^b numbers, and counts
// if it is one of the pairs that are left.
function expectedHashes(protocol) {
  const [count, range] = [nPairs(protocol), 2 ** Math.ceil(Math.log2(nPairs(protocol)))];
  let hashes = 0;
  for (let found = 0; found < protocol.n_queries; found += 1) hashes += Math.ceil(range / (count - found));
  return hashes;
}

// What one voter's report spends without a shuffler, in units of 1 / SCALE.
function price(protocol) {
  return flipsCost(protocol.flip[0], protocol.n_queries);
}

// The local epsilon of one report, as a number to show. Decisions use exact integers.
export function epsilonOf(protocol) {
  return readable(price(protocol));
}

function readable(units) {
  return Number(units / 10n ** 68n) / 1e12;
}

// --- uniform words, and what is drawn from them

// Uniform 64-bit words from the secure source of the browser or of Node.
export class SecureWords {
  take(n) {
    const words = new BigUint64Array(n);
    for (let k = 0; k < n; k += MOST_WORDS) crypto.getRandomValues(words.subarray(k, k + MOST_WORDS));
    return Array.from(words);
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

// A random number of the report: the shuffler counts each number once.
function reportNumber(assignment) {
  return assignment.take(2).map((word) => word.toString(16).padStart(16, "0")).join("");
}

function drawnPairs(protocol, assignment) {
  const [m, count, k] = [protocol.items.length, nPairs(protocol), protocol.n_queries];
  if (protocol.randomizer === "rr-shuffled") {
    return integers(assignment, BigInt(count), k).map((number) => pairOf(Number(number), m));
  }
  const drawn = new Set(); // Floyd's method: k different ones
  for (let top = count - k; top < count; top += 1) {
    const pick = Number(integers(assignment, BigInt(top + 1))[0]);
    drawn.add(drawn.has(pick) ? top : pick);
  }
  return Array.from(drawn, (number) => pairOf(number, m));
}

// The public pairs of a registered voter: the first different numbers of the voter's own sequence.
export async function publicPairs(protocol, voter) {
  const known = isWhole(voter, 0, protocol.n_voters - 1);
  if (!known) throw new Refused("this poll is for registered voters: it needs the voter's number.");
  const [m, count, drawn] = [protocol.items.length, nPairs(protocol), new Set()];
  const mask = (1n << BigInt((count - 1).toString(2).length * Number(count > 1))) - 1n;
  for (let step = 0; drawn.size < protocol.n_queries; step += 1) {
    const hash = await sha256(`${protocol.assignment_seed}/${voter}/${step}`);
    const number = Number(BigInt(`0x${hash.slice(0, 16)}`) & mask);
    if (number < count) drawn.add(number);
  }
  return Array.from(drawn, (number) => pairOf(number, m));
}

// Draws one of a person's comparisons; returns its pair, and positions of the two items by their numbers.
function drawnComparison(comparisons, assignment) {
  const [number] = integers(assignment, BigInt(comparisons.length));
  const [first, second, outcome] = comparisons[Number(number)];
  const pair = first < second ? [first, second] : [second, first];
  return [pair, { [first]: Number(outcome === 0), [second]: Number(outcome === 1) }];
}

// Creates a report from given words, without a budget: for test vectors only. `streams` has the fields noise, coins and
// assignment. A ballot has a position for each item: smaller is better, null is no opinion. For shown pairs, it is a
// list of comparisons [first, second, outcome]: two items, and 1 if the first won, 0 if the second won, null for a tie.
export async function draw(protocol, ballot, streams, assigned = null, voter = null) {
  const pairs = protocol.randomizer === "rr-assigned" ? await publicPairs(protocol, voter) : assigned;
  return drawNamed(await digest(protocol), protocol, ballot, streams, pairs, voter);
}

function drawNamed(name, protocol, given, streams, assigned, voter) {
  const [shown, both] = asksComparisons(protocol) ? drawnComparison(given, streams.assignment) : [null, null];
  const [pairs, ballot] = shown ? [[shown], both] : [assigned ?? drawnPairs(protocol, streams.assignment), given];
  const tossed = coins(streams.coins, pairs.length);
  const flips = integers(streams.noise, GRID, pairs.length);
  const answers = pairs.map(([i, j], k) => {
    const [first, second] = [ballot[i], ballot[j]];
    const silent = first === null || second === null || first === second;
    const says = silent ? tossed[k] : Number(first < second);
    return says ^ Number(flips[k] < BigInt(protocol.flip[0]));
  });
  if (protocol.randomizer === "rr-assigned") return { protocol: name, voter, pairs, answers };
  if (protocol.randomizer !== "rr-shuffled") return { protocol: name, pairs, answers };
  const hidden = protocol.pairs === "hidden";
  const messages = pairs.map((pair, k) => ({ shuffle: hidden ? k : 0, pair, answer: answers[k] }));
  return { protocol: name, report: reportNumber(streams.assignment), messages };
}

// --- what a browser stores: its reports, and what they cost

// The store of a browser, IndexedDB: one for all pages of an origin. A transaction runs alone in all of them. What it
// changed is on the disk before `update` ends, so a browser that is killed later does not forget it.
export class BrowserStore {
  #database;

  constructor(name = "dprank") {
    if (!globalThis.indexedDB) throw new Refused("this browser has no IndexedDB, so it could answer twice.");
    this.#database = new Promise((resolve, reject) => {
      const asked = indexedDB.open(name, 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  }

  // Replaces the value of a name by `change(value)`, in one transaction; undefined stands for no value. Returns the new
  // value when it is on the disk. If `change` throws, nothing changes.
  async update(name, change) {
    const database = await this.#database;
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("kept", "readwrite", { durability: "strict" });
      const kept = transaction.objectStore("kept");
      const asked = kept.get(name);
      let [made, failure] = [undefined, null];
      asked.onsuccess = () => {
        try {
          made = change(asked.result);
          if (made !== asked.result) kept.put(made, name);
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(made);
      transaction.onabort = () => reject(failure ?? transaction.error);
    });
  }
}

// Returns a stored record: the prices and the reports of all polls, by the digest of the protocol and the poll's id. A
// damaged record is not an empty one.
function checkedRecord(value) {
  if (value === undefined) return { epsilon: {}, reports: {} };
  const { epsilon, reports } = isObject(value) ? value : {};
  const isKept = ([name, kept]) =>
    Object.hasOwn(epsilon, name) && isObject(kept) && isObject(kept.report) && DIGITS.test(kept.ticket);
  const isWhole = isObject(epsilon) && isObject(reports) && Object.entries(reports).every(isKept);
  const isPaired = isWhole && Object.keys(epsilon).every((name) => Object.hasOwn(reports, name));
  if (!isPaired || !Object.values(epsilon).every((price) => amount(price) > 0n)) throw new Refused(DAMAGED);
  return value;
}

// What one browser spends in all polls of an origin. The store keeps a price for each poll, as a decimal text that is
// rounded up, and the report that it paid for.
export class Allowance {
  constructor(epsilon, store) {
    if (amount(epsilon) === 0n) throw new Refused("an allowance must be a positive decimal number as text.");
    if (typeof store?.update !== "function") throw new Refused("the store of an allowance must have update().");
    this.epsilon = epsilon;
    this.store = store;
  }

  // Returns the epsilon that all polls have spent, as a number to show.
  async spent() {
    return readable(sumOf((await this.read()).epsilon));
  }

  // Returns the stored record.
  async read() {
    let record = null;
    await this.store.update(RECORD, (value) => {
      record = checkedRecord(value);
      return value;
    });
    return record;
  }

  // Returns all prices with that of one more poll. Throws `BudgetExhausted` if they exceed the allowance.
  charged(prices, name, price) {
    const others = { ...prices, [name]: decimalAbove(price) };
    if (sumOf(others) > amount(this.epsilon)) {
      const left = amount(this.epsilon) - sumOf(prices);
      throw new BudgetExhausted(
        `this poll spends epsilon = ${readable(price).toPrecision(3)}. This browser has ` +
          `${readable(left > 0n ? left : 0n).toPrecision(3)} of ${this.epsilon} left for all polls of this site.`,
      );
    }
    return others;
  }
}

function sumOf(prices) {
  return Object.values(prices).reduce((sum, price) => sum + amount(price), 0n);
}

// Returns the least positive number with 12 decimal places that is not below an amount, as text.
function decimalAbove(units) {
  const rounded = (units + 10n ** 68n - 1n) / 10n ** 68n || 1n;
  return `${rounded / 10n ** 12n}.${String(rounded % 10n ** 12n).padStart(12, "0")}`;
}

// One voter's device. The store of `allowance` keeps its one report: all pages with this store are one device, and get
// the same report, also for another ballot. It stores nothing else that depends on the ballot. With two stores, a lost
// report would give a second one that is not paid for. `poll` is the id of the poll: two questions can share a
// protocol, but no report. `voter` is the number of a registered voter, for "rr-assigned" only.
export class Device {
  constructor(protocol, options) {
    const { poll, allowance, maxEpsilon = null, voter = null, words = new SecureWords() } = options;
    checkProtocol(protocol, maxEpsilon);
    refuseUnless(typeof poll === "string" && DIGITS.test(poll), "the poll's id", "32 hexadecimal digits");
    if (!(allowance instanceof Allowance)) throw new Refused("this device needs an allowance for all polls.");
    if (protocol.pairs === "assigned") throw new Refused("this client does not support a shuffler that assigns pairs.");
    this.protocol = structuredClone(protocol); // the caller may change its own
    this.poll = poll;
    this.voter = voter;
    this.allowance = allowance;
    this.words = words;
  }

  // Returns the report that this device has created for the poll, or null.
  async storedReport() {
    return (await this.#kept())?.report ?? null;
  }

  // Returns the random number of the report, 32 hexadecimal digits, or null before there is one. With it, a collector
  // counts a report that comes again once.
  async ticket() {
    return (await this.#kept())?.ticket ?? null;
  }

  // Returns the name of the poll in the store: the digest of the protocol, and the poll's id.
  async name() {
    return `${await digest(this.protocol)} ${this.poll}`;
  }

  // Throws `BudgetExhausted` if the allowance does not cover this poll. Charges nothing.
  async checkAllowance() {
    const [record, name] = [await this.allowance.read(), await this.name()];
    if (!Object.hasOwn(record.reports, name)) this.allowance.charged(record.epsilon, name, price(this.protocol));
  }

  // Charges the allowance, then creates and stores the report, all in one transaction: nobody has a report before its
  // price is on the disk. Later calls return the stored report.
  async report(ballot) {
    const places = Array.isArray(ballot) ? Array.from(ballot, (row) => (Array.isArray(row) ? [...row] : row)) : [];
    if (asksComparisons(this.protocol)) {
      if (places.length === 0 || !places.every((row) => this.#isComparison(row))) {
        throw new Refused("a ballot must list comparisons [first, second, outcome]: two items, and 1, 0 or null.");
      }
    } else {
      const isPlace = (place) => place === null || Number.isFinite(place);
      if (places.length !== this.protocol.items.length || !places.every(isPlace)) {
        throw new Refused("a ballot must be a list with a number, or null, for each item.");
      }
    }
    const name = await this.name();
    const pairs = this.protocol.randomizer === "rr-assigned" ? await publicPairs(this.protocol, this.voter) : null;
    const record = await this.allowance.store.update(RECORD, (value) => this.#once(value, name, places, pairs));
    return record.reports[name].report;
  }

  #isComparison(row) {
    const isItem = (item) => isWhole(item, 0, this.protocol.items.length - 1);
    const isRow = Array.isArray(row) && row.length === 3 && row.slice(0, 2).every(isItem) && row[0] !== row[1];
    return isRow && [1, 0, null].includes(row[2]);
  }

  async #kept() {
    return (await this.allowance.read()).reports[await this.name()];
  }

  #once(value, name, ballot, pairs) {
    const { epsilon, reports } = checkedRecord(value);
    if (Object.hasOwn(reports, name)) return value;
    const prices = this.allowance.charged(epsilon, name, price(this.protocol));
    const streams = { noise: this.words, coins: this.words, assignment: this.words };
    const report = drawNamed(name.split(" ")[0], this.protocol, ballot, streams, pairs, this.voter);
    return { epsilon: prices, reports: { ...reports, [name]: { report, ticket: reportNumber(this.words) } } };
  }
}
