import { randomBytes } from "node:crypto";
import { exceeds } from "./frame.ts";
import { messageOf } from "./errors.ts";
import { atSpan, type Trace } from "./trace.ts";

/** What a step does. */
export type StepKind = "tool" | "model" | "retrieval" | "other";

/** Tokens that went into a model and came out of it. */
export interface Tokens {
  input?: number;
  output?: number;
}

/** A step as it goes with the end of an answer. Times count from the moment at which the agent got the request. */
interface StepRecord {
  name: string;
  kind?: StepKind;
  parent?: number;
  after_us: number;
  took_us: number;
  error?: string;
  attributes?: Record<string, string>;
  model?: string;
  input_tokens?: number;
  output_tokens?: number;
  span_id?: string;
}

interface UsageRecord {
  model: string;
  input_tokens?: number;
  output_tokens?: number;
  cost_usd?: number;
}

/** What of an answer's steps is kept. */
const maxSteps = 200;
const maxStepBytes = 64 << 10;
const maxErrorBytes = 500;

/** Something that the agent does on its way to an answer. Its owner sees it on the page of the call. */
export class Step implements Disposable {
  readonly #steps: Steps;
  readonly #number: number; // in the list, from 1; 0 = it is not kept
  readonly #span: string | undefined;

  /** @internal */
  constructor(steps: Steps, number: number, span: string | undefined) {
    this.#steps = steps;
    this.#number = number;
    this.#span = span;
  }

  /** Begins a step that is part of this one. With `work` it ends when that has ended. */
  step(name: string, kind?: StepKind): Step;
  step<T>(name: string, kind: StepKind | undefined, work: (step: Step) => T | Promise<T>): Promise<T>;
  step<T>(name: string, kind?: StepKind, work?: (step: Step) => T | Promise<T>): Step | Promise<T> {
    const step = this.#steps.begin(name, kind, this.#number);
    return work ? runStep(step, work) : step;
  }

  /** Says more about the step: what was looked for, how much was found. Do not put secrets there. */
  set(name: string, value: string | number | boolean): this {
    this.#steps.change(this.#number, (record) => (record.attributes = { ...record.attributes, [name]: String(value) }));
    return this;
  }

  /** Says which model was asked, and what that took. */
  tokens(model: string, tokens: Tokens): this {
    this.#steps.countTokens(this.#number, model, tokens);
    return this;
  }

  /** Ends the step, with what went wrong if anything did. */
  end(error?: unknown): void {
    this.#steps.end(this.#number, error);
  }

  [Symbol.dispose](): void {
    this.end();
  }

  /** The place of the step in a distributed trace, or that of the turn where steps have none. */
  get trace(): Trace | undefined {
    const { trace } = this.#steps;
    return trace && this.#span ? atSpan(trace, this.#span) : trace;
  }
}

/** Ends a step with what comes of its work. */
export async function runStep<T>(step: Step, work: (step: Step) => T | Promise<T>): Promise<T> {
  try {
    const result = await work(step);
    step.end();
    return result;
  } catch (error) {
    step.end(error);
    throw error;
  }
}

/** The steps of one answer, and what it took of models. */
export class Steps {
  readonly trace: Trace | undefined;
  readonly #spans: boolean;
  readonly #began = performance.now();
  #records: StepRecord[] = [];
  #usage: UsageRecord[] = []; // as the author says it
  #beyond: UsageRecord[] = []; // of steps that are too many to be kept
  #closed = false;

  constructor(trace: Trace | undefined, spans: boolean) {
    this.trace = trace;
    this.#spans = spans;
  }

  begin(name: string, kind: StepKind | undefined, parent: number): Step {
    if (this.#closed || this.#records.length >= maxSteps) return new Step(this, 0, undefined);
    const record: StepRecord = { name, ...(kind && { kind }), after_us: this.#now(), took_us: -1 };
    if (parent) record.parent = parent;
    if (this.#spans) record.span_id = newSpanId();
    return new Step(this, this.#records.push(record), record.span_id);
  }

  change(number: number, apply: (record: StepRecord) => void): void {
    const record = this.#records[number - 1];
    if (record && !this.#closed) apply(record);
  }

  end(number: number, error: unknown): void {
    this.change(number, (record) => {
      if (record.took_us < 0) record.took_us = Math.max(0, this.#now() - record.after_us);
      if (error !== undefined && error !== null) record.error = shorten(messageOf(error), maxErrorBytes);
    });
  }

  countTokens(number: number, model: string, { input = 0, output = 0 }: Tokens): void {
    if (number === 0) {
      addUsage(this.#beyond, { model, input_tokens: input, output_tokens: output }); // it counts all the same
      return;
    }
    this.change(number, (record) => Object.assign(record, { model, input_tokens: input, output_tokens: output }));
  }

  addUsage(model: string, { input = 0, output = 0 }: Tokens, costUSD: number): void {
    const cost = Number.isFinite(costUSD) ? costUSD : 0;
    if (!this.#closed) addUsage(this.#usage, { model, input_tokens: input, output_tokens: output, cost_usd: cost });
  }

  /**
   * What goes with the end of an answer: as many steps as the gateway keeps, and what the answer took where
   * they do not say it.
   */
  tell(): { steps?: StepRecord[]; usage?: UsageRecord[] } {
    this.#closed = true;
    const now = this.#now();
    for (const record of this.#records) {
      if (record.took_us < 0) record.took_us = Math.max(0, now - record.after_us);
    }
    for (let list = this.#records.map(tidy); list.length > 0; list = list.slice(0, list.length >> 1)) {
      if (exceeds(JSON.stringify(list), maxStepBytes)) continue;
      const all = list.length === this.#records.length && this.#usage.length + this.#beyond.length === 0;
      return all ? { steps: list } : { steps: list, ...this.tellUsage() };
    }
    return this.tellUsage();
  }

  /** What the answer took, as far as it was told. */
  tellUsage(): { usage?: UsageRecord[] } {
    const list = this.#usage.length > 0 ? this.#usage : this.#countSteps();
    return list.length > 0 ? { usage: list.map(tidy) } : {};
  }

  #countSteps(): UsageRecord[] {
    const list: UsageRecord[] = [];
    for (const { model = "", input_tokens = 0, output_tokens = 0 } of this.#records) {
      if (input_tokens > 0 || output_tokens > 0) addUsage(list, { model, input_tokens, output_tokens });
    }
    for (const more of this.#beyond) addUsage(list, more);
    return list;
  }

  #now(): number {
    return Math.round((performance.now() - this.#began) * 1000);
  }
}

function addUsage(list: UsageRecord[], more: UsageRecord): void {
  const known = list.find((usage) => usage.model === more.model);
  if (!known) {
    list.push({ ...more });
    return;
  }
  known.input_tokens = (known.input_tokens ?? 0) + (more.input_tokens ?? 0);
  known.output_tokens = (known.output_tokens ?? 0) + (more.output_tokens ?? 0);
  known.cost_usd = (known.cost_usd ?? 0) + (more.cost_usd ?? 0);
}

/** A record without numbers that say nothing; when and how long are always told. */
function tidy<T extends object>(record: T): T {
  const said = Object.entries(record).filter(([name, value]) => name.endsWith("_us") || (value !== 0 && value !== ""));
  return Object.fromEntries(said) as T;
}

function newSpanId(): string {
  const id = randomBytes(8);
  id[7]! |= 1; // never all zeros
  return id.toString("hex");
}

/** Cuts a text after so many bytes, between two characters, and shows that it did. */
function shorten(text: string, most: number): string {
  if (!exceeds(text, most)) return text;
  const cut = new TextDecoder().decode(Buffer.from(text).subarray(0, most));
  return cut.replace(/\ufffd+$/, "") + "…";
}
