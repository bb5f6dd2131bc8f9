// Types of device.js. The user guide, page "JavaScript client", describes what the functions do.

// --- protocols, ballots and reports: the page "The wire format"

interface Common {
  version: 3;
  items: (string | number)[];
  epsilon: string;
  n_queries: number;
  flip: [numerator: number, denominator: number];
}

export interface PairsProtocol extends Common {
  randomizer: "rr" | "laplace" | "gaussian" | "rr-shown";
}

export interface AssignedProtocol extends Common {
  randomizer: "rr-assigned";
  n_voters: number;
  assignment_seed: string;
}

export interface ShuffledProtocol extends Common {
  randomizer: "rr-shuffled";
  pairs: "hidden" | "assigned" | "shown";
  min_reports: number;
  central_epsilon: string;
  central_delta: string;
}

export type Protocol = PairsProtocol | AssignedProtocol | ShuffledProtocol;

/** The position of an item: smaller is better, equal numbers are a tie, and null is no opinion. */
export type Position = number | null;

/** Two items, and 1 if the first won, 0 if the second won, null for a tie. */
export type Comparison = readonly [first: number, second: number, outcome: 1 | 0 | null];

/** A position for each item, or for shown pairs all comparisons of a person. */
export type Ballot = readonly Position[] | readonly Comparison[];

export type Pair = [first: number, second: number];

export interface PairsReport {
  protocol: string;
  pairs: Pair[];
  answers: number[];
  /** Number of a registered voter, for "rr-assigned" only. */
  voter?: number;
}

/** For the shuffler only. */
export interface Submission {
  protocol: string;
  report: string;
  messages: { shuffle: number; pair: Pair; answer: number }[];
}

export type Report = PairsReport | Submission;

// --- errors

/** The device does not report. The message gives the reason, and never the ballot. */
export class Refused extends Error {}

/** The protocol is valid, but the allowance of this browser does not cover it. */
export class BudgetExhausted extends Refused {}

// --- protocols

export function canonical(value: unknown): string;
export function digest(protocol: Protocol): Promise<string>;
/** Parses the text of a protocol, without a check of its form. */
export function readProtocol(text: string): unknown;
export function checkProtocol(protocol: unknown, maxEpsilon?: number | string | null): asserts protocol is Protocol;
export function epsilonOf(protocol: Protocol): number;
export function publicPairs(protocol: AssignedProtocol, voter: number): Promise<Pair[]>;

// --- the device and its budget

/** Everything that one browser keeps, by the digest of a protocol, a space and the id of a poll. */
export interface StoredRecord {
  epsilon: Record<string, string>;
  reports: Record<string, { report: Report; ticket: string }>;
}

/** `update` is one transaction: it reads the value of a name, and stores and returns what `change` makes of it. */
export interface Store {
  update(
    name: string,
    change: (value: StoredRecord | undefined) => StoredRecord | undefined,
  ): Promise<StoredRecord | undefined>;
}

export class BrowserStore implements Store {
  constructor(name?: string);
  update: Store["update"];
}

export class Allowance {
  constructor(epsilon: string, store: Store);
  epsilon: string;
  store: Store;
  spent(): Promise<number>;
  read(): Promise<StoredRecord>;
  charged(prices: Record<string, string>, name: string, price: bigint): Record<string, string>;
}

/** A source of uniform 64-bit words. */
export interface Words {
  take(n: number): bigint[];
}

export class SecureWords implements Words {
  take(n: number): bigint[];
}

export interface DeviceOptions {
  /** Id of the poll: 32 hexadecimal digits in lower case. */
  poll: string;
  allowance: Allowance;
  maxEpsilon?: number | string | null;
  /** Number of a registered voter, for "rr-assigned" only. */
  voter?: number | null;
  /** For tests only. */
  words?: Words;
}

export class Device {
  constructor(protocol: unknown, options: DeviceOptions);
  protocol: Protocol;
  poll: string;
  voter: number | null;
  allowance: Allowance;
  words: Words;
  report(ballot: Ballot): Promise<Report>;
  storedReport(): Promise<Report | null>;
  ticket(): Promise<string | null>;
  name(): Promise<string>;
  checkAllowance(): Promise<void>;
}

// --- test vectors

/** Creates a report from given words, without a budget: for test vectors only. */
export function draw(
  protocol: Protocol,
  ballot: Ballot,
  streams: { noise: Words; coins: Words; assignment: Words },
  assigned?: readonly Pair[] | null,
  voter?: number | null,
): Promise<Report>;
