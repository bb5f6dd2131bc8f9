import { Allowance, Device, readProtocol } from "./device.mjs";

class MemoryStore {
  values = new Map();
  async update(name, change) {
    const made = change(this.values.get(name));
    this.values.set(name, made);
    return made;
  }
}

const site = "http://127.0.0.1:8000/";
const protocol = readProtocol(await (await fetch(`${site}protocol.json`)).text());
for (let voter = 0; voter < 200; voter += 1) {
  const allowance = new Allowance("4", new MemoryStore()); // one for each voter
  const device = new Device(protocol, { poll: "0".repeat(32), allowance });
  const report = await device.report([2, 1, 3]); // coffee, then tea, then water
  await fetch(`${site}reports`, { method: "POST", body: JSON.stringify({ voter, report }) });
}
