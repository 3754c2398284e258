/** A place in a distributed trace, as W3C Trace Context writes it. */
export interface Trace {
  /** traceparent: 00-<32 digits of the trace>-<16 of the span>-<flags> */
  readonly parent: string;
  /** tracestate; may be empty. */
  readonly state: string;
}

const wanted = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const maxState = 512;

/** Reads a traceparent and a tracestate. What is malformed is as if it were not there. */
export function parseTrace(parent = "", state = ""): Trace | undefined {
  // A later version may add something, which is not for us.
  const head = parent.length > 55 && parent[55] === "-" && !parent.startsWith("00") ? parent.slice(0, 55) : parent;
  if (!wanted.test(head)) return undefined;
  return { parent: "00" + head.slice(2), state: tidyState(state) };
}

function tidyState(state: string): string {
  return state.length <= maxState && /^[\t\x20-\x7e]*$/.test(state) ? state.replaceAll("\t", " ").trim() : "";
}

export function isSampled(trace: Trace | undefined): boolean {
  return trace !== undefined && (parseInt(trace.parent.slice(53), 16) & 1) === 1;
}

/** The same trace at another of its spans. */
export function atSpan(trace: Trace, span: string): Trace {
  return { parent: trace.parent.slice(0, 36) + span + trace.parent.slice(52), state: trace.state };
}

/** The headers by which a server that the agent asks learns what its work is part of. */
export function traceHeaders(trace: Trace | undefined): Record<string, string> {
  if (!trace) return {};
  return trace.state ? { traceparent: trace.parent, tracestate: trace.state } : { traceparent: trace.parent };
}
