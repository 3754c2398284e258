import type { Agent } from "./agent.ts";
import { Answer, type Outlet } from "./answer.ts";
import { Aborted, describe, Fault, isCrash, messageOf, Refusal } from "./errors.ts";
import { encodeFrame, type Frame } from "./frame.ts";
import type { Definition, Gateway } from "./gateway.ts";
import { Link, type Lost } from "./link.ts";
import type { Logger } from "./log.ts";
import { readMessage, type Message } from "./message.ts";
import { Continuations, Questions } from "./questions.ts";
import { Recent } from "./recent.ts";
import { Turn } from "./turn.ts";

const drainFor = 10_000; // how long running handlers may take to finish at shutdown
const minPause = 200;
const maxPause = 15_000;
const serviceRestart = 1012;
const longestTimer = 2 ** 31 - 1;

/** Answers one turn. What it throws becomes the answer. */
export type Handler = (turn: Turn) => Promise<void>;

/** What a worker is told by its agent. */
export interface Work {
  agent: Agent;
  name: string;
  definition(): Definition;
  handlerFor(message: Message): Handler;
  concurrency: number;
  onConnected?: ((id: string) => void) | undefined;
  onRestart?: (() => void) | undefined;
}

/** A turn that this process has in hand. */
interface OpenTurn {
  message: Message;
  answer: Answer;
  continuations: Continuations;
  controller: AbortController;
  deadline: NodeJS.Timeout | undefined;
  retries: number; // how often the gateway could not take the answer
  refused: boolean; // the gateway will never take what the handler made
}

/**
 * Serves an agent: keeps a link to the gateway, hands every message to a handler and sees to it that its answer
 * arrives. Whatever breaks, it connects again; an answer that the gateway has not acknowledged is sent again.
 */
export class Worker implements Outlet {
  readonly #work: Work;
  readonly #gateway: Gateway;
  readonly #log: Logger;
  readonly #questions = new Questions(this);
  readonly #turns = new Map<string, OpenTurn>();
  readonly #answered = new Recent(); // turns whose answer the gateway has
  readonly #over = new AbortController(); // draining is over
  #waiting: OpenTurn[] = []; // received, over the concurrency limit
  #active = 0;
  #link: Link | undefined;
  #draining = false;
  #settled: (() => void) | undefined;
  id = "";

  constructor(work: Work, gateway: Gateway, log: Logger) {
    this.#work = work;
    this.#gateway = gateway;
    this.#log = log;
  }

  // The connection.

  get connected(): boolean {
    return this.#link !== undefined;
  }

  send(line: string): void {
    this.#link?.send(line);
  }

  room(): Promise<void> | undefined {
    return this.#link?.room();
  }

  /** Keeps a link up until the worker is stopped, or trying again is pointless. */
  async run(): Promise<void> {
    let pause = minPause;
    while (!this.#over.signal.aborted) {
      const { greeted, error, quiet } = await this.#connectOnce();
      if (this.#over.signal.aborted) return;
      if (error instanceof Refusal) throw new Refusal(error, `agent ${this.#work.name}: `);
      if (greeted) pause = minPause;
      const wait = pause / 2 + Math.random() * pause;
      this.#log[quiet ? "info" : "warn"]("not connected; trying again", { gateway: this.#gateway.base, in: `${Math.round(wait)}ms`, err: messageOf(error) });
      await this.#sleep(wait);
      pause = Math.min(2 * pause, maxPause);
    }
  }

  /** Asks for no more work, waits for the answers in hand, then ends the connection. */
  async stop(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    for (const turn of this.#waiting) this.#forget(turn); // never begun: the gateway gives it to another instance
    this.#waiting = [];
    this.send(encodeFrame({ type: "drain" }));
    if (this.#turns.size > 0) {
      const settled = await this.#waitUntilSettled();
      if (!settled) this.#log.warn("stopping with unfinished answers", { after: `${drainFor}ms` });
    }
    for (const turn of this.#turns.values()) turn.controller.abort(new Aborted("stopping"));
    this.#over.abort(new Aborted("stopping"));
    this.#link?.close("bye");
  }

  #waitUntilSettled(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), drainFor);
      this.#settled = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Joins and declares the agent where that is needed, connects, and serves the connection until it breaks. */
  async #connectOnce(): Promise<{ greeted: boolean; error: unknown; quiet: boolean }> {
    let link: Link;
    try {
      await this.#gateway.ensureDeclared(this.#work.definition(), this.#over.signal);
      if (this.#over.signal.aborted) return { greeted: false, error: undefined, quiet: true };
      link = new Link(this.#gateway.socketRequest(this.#work.name), (from, line) => this.#receive(from, line));
    } catch (error) {
      return { greeted: false, error, quiet: false };
    }
    const hangUp = () => link.close("bye");
    this.#over.signal.addEventListener("abort", hangUp);
    const lost = await link.lost;
    this.#over.signal.removeEventListener("abort", hangUp);
    this.#onLost(link, lost);
    return { greeted: link.greeted, error: new Error(`connect: ${lost.reason || `closed with ${lost.code}`}`), quiet: lost.code === serviceRestart };
  }

  #onLost(link: Link, lost: Lost): void {
    // A WebSocket does not say why it was refused. Declaring the agent again does.
    if (!lost.opened) this.#gateway.declareAgain();
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#questions.dropWithConnection();
  }

  /** Acts on one frame from the gateway. */
  #receive(link: Link, line: string): void {
    let frame: Frame;
    try {
      frame = JSON.parse(line) as Frame;
    } catch (error) {
      this.#log.warn("a frame from the gateway is not JSON", { err: messageOf(error) });
      return;
    }
    const turn = this.#turns.get(frame.message_id ?? "");
    switch (frame.type) {
      case "hello":
        return this.#onHello(link, frame);
      case "chat_message":
        return this.#beginTurn(frame);
      case "chat_cancel":
        return turn?.controller.abort(new Aborted("cancelled", frame.reason));
      case "working":
        return turn && this.#sendAgain(turn);
      case "user.continue":
      case "user.auth_grant":
        if (turn && !turn.continuations.add(frame)) this.#log.warn("nobody waits for what the user said", { message: frame.message_id });
        return;
      case "answer":
      case "decision":
        return this.#questions.answer(frame);
      case "ack":
        return turn && this.#onAck(turn, frame);
      case "restart":
        return this.#onRestart(link);
      case "error":
        if (!frame.error) return;
        this.#questions.answer(frame); // if it is about a question, that has failed
        this.#log.warn("the gateway could not use a frame", frame.error);
    }
  }

  /** Makes this the current link and sends what an earlier one could not bring. */
  #onHello(link: Link, frame: Frame): void {
    const id = frame.agents?.[this.#work.name];
    if (frame.heartbeat_ms) link.heartbeat = frame.heartbeat_ms;
    if (id) this.id = id;
    this.#link = link;
    if (link.greeted) {
      // again: what this connection serves has changed
      if (!id) this.#log.warn("this agent was deactivated; it gets no messages until it is declared again");
      return;
    }
    link.greeted = true;
    this.#gateway.noteAccepted();
    if (this.#draining) link.send(encodeFrame({ type: "drain" }));
    this.#takeOver(link);
    if (!id) {
      this.#reconnect(link, "not declared"); // declared by somebody else since, or deactivated
      return;
    }
    this.#log.info("connected", { gateway: this.#gateway.base, id });
    this.#work.onConnected?.(id);
  }

  /** Brings the answers that have ended, and says which ones go on. */
  #takeOver(link: Link): void {
    const turns = [...this.#turns.values()];
    for (const turn of turns) {
      if (turn.answer.ended) turn.answer.sendAgain();
    }
    for (const turn of turns) {
      if (!turn.answer.ended) link.send(encodeFrame({ type: "working", message_id: turn.message.id }));
    }
  }

  /** The owner asks for a restart. Answers in the making go on, and are brought over the new connection. */
  #onRestart(link: Link): void {
    this.#log.info("the owner asks for a restart");
    if (this.#work.onRestart) this.#work.onRestart();
    else this.#reconnect(link, "restarting");
  }

  #reconnect(link: Link, reason: string): void {
    this.#gateway.declareAgain();
    link.close(reason);
  }

  tellResourceUpdated(uri: string): void {
    this.send(encodeFrame({ type: "resource_updated", agent_id: this.id, uri }));
  }

  // Turns.

  /**
   * Starts the handler for a message, or lets it wait for its turn. A message that this process is answering
   * already comes again when the gateway lost the connection in between: the work goes on, only its words are
   * said again.
   */
  #beginTurn(frame: Frame): void {
    let message: Message;
    try {
      message = readMessage(frame);
    } catch (error) {
      this.#log.warn("a message cannot be read", { err: messageOf(error) });
      this.send(encodeFrame({ type: "error", message_id: frame.message_id ?? "", body: `the agent could not read the message: ${messageOf(error)}` }));
      return;
    }
    const known = this.#turns.get(message.id);
    if (known) return this.#sendAgain(known);
    if (this.#answered.has(message.id)) {
      // Handed out again before the answer was known everywhere: refused, and the matter is closed.
      return this.send(encodeFrame({ type: "reply", message_id: message.id }));
    }
    if (this.#draining) return; // the gateway gives it to another instance when this one is gone
    const turn = this.#openTurn(message);
    if (this.#work.concurrency > 0 && this.#active >= this.#work.concurrency) {
      this.#waiting.push(turn);
      return;
    }
    this.#active++;
    void this.#runHandlers(turn);
  }

  #openTurn(message: Message): OpenTurn {
    const controller = new AbortController();
    const turn: OpenTurn = {
      message,
      answer: new Answer(message, this),
      continuations: new Continuations(),
      controller,
      deadline: undefined,
      retries: 0,
      refused: false,
    };
    if (message.deadline) {
      const left = message.deadline.getTime() - Date.now();
      const giveUp = () => controller.abort(new Aborted("deadline"));
      if (left > 0) turn.deadline = setTimeout(giveUp, Math.min(left, longestTimer));
      else giveUp();
    }
    this.#turns.set(message.id, turn);
    return turn;
  }

  /** Runs the handler of a turn and of what waits behind it. */
  async #runHandlers(first: OpenTurn): Promise<void> {
    for (let turn: OpenTurn | undefined = first; turn; turn = this.#waiting.shift()) {
      await this.#answer(turn);
      clearTimeout(turn.deadline);
    }
    this.#active--;
  }

  /** Runs the handler and sees to it that the answer ends. */
  async #answer(turn: OpenTurn): Promise<void> {
    const { answer, message } = turn;
    try {
      await this.#callHandler(turn);
      if (!answer.ended) answer.send("");
    } catch (error) {
      if (answer.ended) this.#log.warn("the handler failed after its answer had ended", { message: message.id, err: messageOf(error) });
      else this.#endFailed(turn, error);
    }
  }

  #callHandler(turn: OpenTurn): Promise<void> {
    const { message, answer, continuations, controller } = turn;
    controller.signal.throwIfAborted(); // it waited for its turn, and nobody wants its answer any more
    const parts = { agent: this.#work.agent, message, answer, signal: controller.signal, gateway: this.#gateway, questions: this.#questions, continuations };
    return this.#work.handlerFor(message)(new Turn(parts));
  }

  #endFailed(turn: OpenTurn, error: unknown): void {
    const { answer, message } = turn;
    const reason: unknown = turn.controller.signal.reason;
    const why = reason instanceof Aborted ? reason.why : undefined;
    if (why === "stopping") {
      this.#log.info("stopping before the answer has ended; another instance may get the message", { message: message.id });
    } else if (why === "cancelled") {
      answer.end({ type: "error", body: "the answer was cancelled", stop_reason: "user_stop" });
    } else if (why === "deadline") {
      answer.end({ type: "error", body: "the answer took too long", stop_reason: "timeout" });
    } else {
      this.#endWithError(turn, error);
    }
  }

  #endWithError({ answer, message }: OpenTurn, error: unknown): void {
    if (isCrash(error)) {
      this.#log.error("the handler crashed", { message: message.id, stack: (error as Error).stack });
      answer.fail("the agent crashed over this message; its log has the details");
      return;
    }
    this.#log.warn("the handler failed", { message: message.id, err: describe(error) });
    const fault = faultOf(error);
    if (fault) answer.endFault(fault);
    else answer.fail(describe(error));
  }

  /** Forgets an answer that the gateway has, and tries another time with one that it could not take now. */
  #onAck(turn: OpenTurn, { error }: Frame): void {
    const { message } = turn;
    if (error?.code === "agent_service_unavailable") return this.#retryLater(turn);
    if (error && error.code !== "message_terminal") {
      this.#log.error("the gateway refused the answer", { message: message.id, code: error.code, reason: error.message });
      if (!turn.refused) {
        // The caller must not wait for an answer that the gateway will never take.
        turn.refused = true;
        turn.answer.replace(error.message);
        turn.answer.sendAgain();
        return;
      }
    } else {
      this.#answered.add(message.id);
    }
    this.#forget(turn);
  }

  #forget(turn: OpenTurn): void {
    clearTimeout(turn.deadline);
    this.#turns.delete(turn.message.id);
    if (this.#draining && this.#turns.size === 0) this.#settled?.();
  }

  #sendAgain(turn: OpenTurn): void {
    turn.answer.sendAgain();
    if (turn.answer.ended) return;
    for (const line of this.#questions.lastingOf(turn.message.id)) this.send(line);
  }

  /** Sends the answer again after a pause that grows to ten seconds. */
  #retryLater(turn: OpenTurn): void {
    const pause = Math.min(200 << Math.min(turn.retries++, 6), 10_000);
    setTimeout(
      () => {
        if (this.#turns.get(turn.message.id) === turn) this.#sendAgain(turn);
      },
      pause / 2 + (Math.random() * pause) / 2,
    );
  }

  /** Waits, or until the worker is stopped. */
  #sleep(ms: number): Promise<void> {
    const { signal } = this.#over;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
    });
  }
}

/** What an error tells the caller's program; undefined = it is for the model to read. */
function faultOf(error: unknown): Fault | undefined {
  for (let e = error; e instanceof Error; e = e.cause) {
    if (e instanceof Fault) return e;
  }
  return undefined;
}
