import { randomBytes } from "node:crypto";

let lastTick = 0n;

/** A UUIDv7. Ids of one process rise, also within a millisecond. */
export function newId(): string {
  const now = BigInt(Date.now()) << 12n;
  lastTick = now > lastTick ? now : lastTick + 1n;
  const time = (lastTick >> 12n).toString(16).padStart(12, "0");
  const rest = randomBytes(8);
  rest[0] = (rest[0]! & 0x3f) | 0x80;
  const hex = time + "7" + (lastTick & 0xfffn).toString(16).padStart(3, "0") + rest.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
