import { setImmediate } from "node:timers";
import { encodeFrame, type Frame } from "./frame.ts";
import { newId } from "./ids.ts";

/**
 * Characters that one WebSocket message carries, unless one frame is larger. Deno writes what has 1 KiB and more in
 * two pieces, and the second waits 40 ms for somebody to acknowledge the first.
 */
const maxBatch = "Deno" in globalThis ? 900 : 256 << 10;
const maxQueued = 1 << 20; // characters to be written before a streaming handler is held back
const openWithin = 10_000;
const lookEvery = 1_000;
const drainPoll = 5;

/** Why a link ended. */
export interface Lost {
  /** The WebSocket's close code; 1012 = the gateway restarts, and said so. */
  code: number;
  reason: string;
  /** The gateway has taken the connection before it was lost. */
  opened: boolean;
}

/** What Node 22, Bun and Deno take, though the web has no such thing. */
type SocketWithHeaders = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

/**
 * One WebSocket to the gateway. Whoever sends only queues; what has gathered by the end of the event loop's
 * round is written at once.
 */
export class Link {
  /** Resolves when the link is dead. */
  readonly lost: Promise<Lost>;
  /** The gateway has said hello. */
  greeted = false;
  /** How often the gateway promised to give a sign of life, in milliseconds. */
  heartbeat = openWithin;

  readonly #socket: WebSocket;
  readonly #onFrame: (link: Link, line: string) => void;
  #end!: (lost: Lost) => void;
  #dead = false;
  #opened = false;
  #heard = Date.now();
  #probed = 0;
  #queue: string[] = [];
  #queued = 0;
  #scheduled = false;
  #waiting: (() => void)[] = [];

  constructor(request: { url: string; headers: Record<string, string> }, onFrame: (link: Link, line: string) => void) {
    this.#onFrame = onFrame;
    this.lost = new Promise((resolve) => (this.#end = resolve));
    this.#socket = new (WebSocket as unknown as SocketWithHeaders)(request.url, { headers: request.headers });
    const look = setInterval(() => this.#checkSilence(), lookEvery);
    void this.lost.then(() => clearInterval(look));
    this.#socket.onopen = () => {
      this.#opened = true;
      this.#heard = Date.now();
    };
    this.#socket.onmessage = (event) => this.#read(String(event.data));
    this.#socket.onclose = (event) => this.#die(event.code, event.reason);
    this.#socket.onerror = (event) => this.#die(1006, (event as { message?: string }).message || "the connection failed");
  }

  /** Queues one frame. */
  send(line: string): void {
    if (this.#dead) return;
    this.#queue.push(line);
    this.#queued += line.length + 1;
    this.#schedule();
  }

  /** Resolves when there is room for more, or no point in waiting; undefined when there is room now. */
  room(): Promise<void> | undefined {
    if (this.#dead || this.#queued <= maxQueued) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Says goodbye and ends the link. What was queued is written first. */
  close(reason: string): void {
    if (this.#dead) return;
    this.#write();
    this.#hangUp(reason);
    this.#die(1000, reason);
  }

  #hangUp(reason: string): void {
    try {
      this.#socket.close(1000, reason);
    } catch {
      // it is over either way
    }
  }

  #die(code: number, reason: string): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#queue = [];
    this.#queued = 0;
    this.#release();
    this.#end({ code, reason, opened: this.#opened });
  }

  #read(data: string): void {
    this.#heard = Date.now();
    for (const line of data.split("\n")) {
      if (this.#dead) return;
      if (line.trim()) this.#onFrame(this, line);
    }
  }

  /**
   * Ends the link when the gateway has been silent for three heartbeats. Programs do not get to see the pings
   * of a WebSocket, so a gateway that has nothing to say is asked something: about a turn that nobody knows,
   * which it answers by saying that it has ended.
   */
  #checkSilence(): void {
    const now = Date.now();
    const silent = now - this.#heard;
    if (silent > 3 * this.heartbeat || (!this.#opened && silent > openWithin)) {
      this.#hangUp("silent"); // on a dead line nobody answers that; nobody waits for it either
      this.#die(1006, this.#opened ? "the gateway is silent" : "the gateway does not answer");
    } else if (this.greeted && silent > this.heartbeat && now - this.#probed > this.heartbeat) {
      this.#probed = now;
      this.send(encodeFrame({ type: "working", message_id: newId() } satisfies Frame));
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  /** Writes what is queued, unless the socket has more than enough to do; then a little later. */
  #flush(): void {
    this.#scheduled = false;
    if (this.#dead || this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#socket.bufferedAmount > maxQueued) {
      this.#scheduled = true;
      setTimeout(() => this.#flush(), drainPoll);
      return;
    }
    this.#write();
    this.#release();
  }

  #write(): void {
    const frames = this.#queue;
    this.#queue = [];
    this.#queued = 0;
    for (let next = 0; next < frames.length && this.#socket.readyState === WebSocket.OPEN; ) {
      let batch = "";
      do batch += frames[next++]! + "\n";
      while (next < frames.length && batch.length + frames[next]!.length < maxBatch);
      this.#socket.send(batch);
    }
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
