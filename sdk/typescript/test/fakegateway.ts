/** A gateway that a test plays by hand: it sees every request and every frame of the agent, in order. */
import { createHash, createPublicKey, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import type { Frame, JsonObject } from "../src/frame.ts";

/** What the agent sent: a request, which may want to become a WebSocket, or a frame. */
export type Entry = HttpEntry | { kind: "frame"; frame: Frame };

export interface HttpEntry {
  kind: "http";
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
  /** Answers as HTTP does. */
  answer(status: number, body: string): void;
  /** Answers by becoming a WebSocket; undefined = the agent did not ask for one. */
  accept?: () => Promise<void>;
}

export class FakeGateway {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 8 << 20 });
  readonly #entries: Entry[] = [];
  #wake: (() => void) | undefined;
  #socket: WebSocket | undefined;
  publicKey = "";

  static async start(): Promise<FakeGateway> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FakeGateway(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => {
      void readBody(request).then((body) => {
        this.#add(requestEntry(request, body, (status, text) => response.writeHead(status).end(text)));
      });
    });
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const refuse = (status: number, text: string) =>
        socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`);
      const accept = () => new Promise<void>((resolve) => this.#sockets.handleUpgrade(request, socket, head, (ws) => resolve(this.#use(ws))));
      this.#add({ ...requestEntry(request, "", refuse), accept });
    });
  }

  #use(socket: WebSocket): void {
    this.#socket = socket;
    socket.on("message", (data) => {
      for (const line of String(data as Buffer).split("\n")) {
        if (line.trim()) this.#add({ kind: "frame", frame: JSON.parse(line) as Frame });
      }
    });
  }

  #add(entry: Entry): void {
    this.#entries.push(entry);
    this.#wake?.();
  }

  /** What the agent sent next. */
  async next(within = 10_000): Promise<Entry> {
    for (;;) {
      const entry = this.#entries.shift();
      if (entry) return entry;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(() => reject(new Error("the agent sends nothing")), within);
      this.#wake = resolve;
      await promise;
      clearTimeout(timer);
    }
  }

  async nextHttp(): Promise<HttpEntry> {
    const entry = await this.next();
    if (entry.kind !== "http") throw new Error(`want a request, got the frame ${JSON.stringify(entry.frame)}`);
    return entry;
  }

  async nextFrame(): Promise<Frame> {
    const entry = await this.next();
    if (entry.kind !== "frame") throw new Error(`want a frame, got ${entry.method} ${entry.path}`);
    return entry.frame;
  }

  /** What the agent has sent and nobody looked at. */
  get left(): Entry[] {
    return this.#entries;
  }

  send(...frames: (Frame | JsonObject | string)[]): void {
    this.#socket!.send(frames.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame))).join("\n"));
  }

  /** Lets the agent join, declare itself and connect. Returns what it declared. */
  async welcome(name: string): Promise<JsonObject> {
    let declared: JsonObject = {};
    for (;;) {
      const entry = await this.nextHttp();
      if (entry.accept) {
        this.checkSignature(entry);
        await entry.accept();
        this.send({ type: "hello", agents: { [name]: "agent_1" }, heartbeat_ms: 10_000 });
        return declared;
      }
      if (entry.path.endsWith("/join")) {
        this.publicKey = (JSON.parse(entry.body) as { public_key: string }).public_key;
        entry.answer(200, `{"success":true,"data":{"instance_id":"inst_1"}}`);
      } else {
        this.checkSignature(entry);
        declared = (JSON.parse(entry.body) as { agents: JsonObject[] }).agents[0]!;
        entry.answer(200, `{"success":true,"data":{}}`);
      }
    }
  }

  /** Throws unless the request was signed by the key that joined. */
  checkSignature({ method, path, body, headers }: HttpEntry): void {
    const [, keyId, time, nonce, signature] = /^Ed25519 ([^:]+):(\d+):([^:]+):(.+)$/.exec(headers.authorization ?? "") ?? [];
    const text = [method, path, createHash("sha256").update(body).digest("hex"), time, nonce].join("\n");
    const x = Buffer.from(this.publicKey, "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    if (!keyId || !signature || !verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"))) {
      throw new Error(`${method} ${path} is not signed by the key that joined: ${headers.authorization}`);
    }
  }

  /** Reads nothing until it resumes. */
  pause(): void {
    this.#socket!.pause();
  }

  resume(): void {
    this.#socket!.resume();
  }

  /** Cuts the connection without a goodbye. */
  breakConnection(): void {
    this.#socket?.terminate();
  }

  closeConnection(code: number): void {
    this.#socket?.close(code, "the gateway is restarting");
  }

  stop(): void {
    this.breakConnection();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function requestEntry(request: IncomingMessage, body: string, answer: HttpEntry["answer"]): HttpEntry {
  return { kind: "http", method: request.method!, path: request.url!, headers: request.headers, body, answer };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
