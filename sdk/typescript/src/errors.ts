/** The codes that every surface of BeeOS shares. */
export type Code =
  | "invalid_json"
  | "invalid_body"
  | "invalid_param"
  | "missing_param"
  | "missing_token"
  | "unauthorized"
  | "invalid_token"
  | "forbidden"
  | "agent_not_found"
  | "not_found"
  | "conflict"
  | "confirmation_required"
  | "message_terminal"
  | "payload_too_large"
  | "login_rejected"
  | "rate_limited"
  | "internal_error"
  | "agent_offline"
  | "agent_service_unavailable"
  | "service_timeout"
  | (string & {});

/** A refusal by BeeOS: `code` to switch on, `message` for a person. */
export class BeeosError extends Error {
  override name = "BeeosError";
  readonly code: Code;
  /** With rate_limited: how long to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: Code, message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** No server answered. */
export class UnreachableError extends Error {
  override name = "UnreachableError";
  readonly url: string;

  constructor(url: string, cause: unknown) {
    super(`${url} cannot be reached: ${reasonOf(cause)}`, { cause });
    this.url = url;
  }
}

/**
 * An error of the caller's protocol: it tells the program that calls, not the model behind it, that there is
 * no answer. A handler that throws any other error gives an answer that says what went wrong.
 */
export class Fault extends Error {
  override name = "Fault";
  readonly code: number;
  readonly data: unknown;

  /** `code` is JSON-RPC's. */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A tool call that may not be made. Tell the model: it can try something else. */
export class Denied extends Error {
  override name = "Denied";
  readonly tool: string;
  /** What the person wrote; may be empty. */
  readonly reason: string;
  /** Nobody decided in time. */
  readonly expired: boolean;

  constructor(tool: string, reason = "", expired = false) {
    super(expired ? `${tool} was not approved in time` : reason ? `${tool} was denied: ${reason}` : `${tool} was denied`);
    this.tool = tool;
    this.reason = reason;
    this.expired = expired;
  }
}

/** MCP's code for a call that needs more of its client. */
const missingCapability = -32021;

/** The caller's program cannot be asked this. `turn.can` tells beforehand. */
export class CannotAsk extends Fault {
  override name = "CannotAsk";

  constructor(capability: string, method: string) {
    const message = `${method}: the caller cannot be asked this`;
    super(missingCapability, message, { requiredCapabilities: { [capability]: {} } });
  }
}

/** The answer has ended already. */
export class Ended extends Error {
  override name = "Ended";

  constructor() {
    super("this answer has ended already");
  }
}

/** Why a turn's signal was aborted. */
export class Aborted extends Error {
  override name = "AbortError";
  readonly why: "cancelled" | "deadline" | "stopping";

  constructor(why: "cancelled" | "deadline" | "stopping", reason = "") {
    super(
      {
        cancelled: `the caller cancelled: ${reason}`,
        deadline: "the answer took too long",
        stopping: "the agent is stopping",
      }[why],
    );
    this.why = why;
  }
}

/** An error that trying again cannot mend. */
export class Refusal extends Error {
  override name = "Refusal";

  constructor(cause: unknown, before = "") {
    super(before + describe(cause), { cause });
  }
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** What an error says, with the code that BeeOS gave it. */
export function describe(error: unknown): string {
  return error instanceof BeeosError ? `${error.code}: ${error.message}` : messageOf(error);
}

/** What an error of fetch says: the reason is in its cause. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error);
}

/** Reports whether an error is one of the program, not one that its author foresaw. */
export function isCrash(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause === undefined; // fetch throws TypeErrors that have one
  return error instanceof ReferenceError || error instanceof RangeError;
}

export function codeOf(error: unknown): Code {
  if (error instanceof BeeosError) return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : "internal_error";
}
