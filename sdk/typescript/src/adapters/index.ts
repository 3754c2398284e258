/** Serves agents that are written with a framework already. Nothing of the frameworks is imported. */
export { adapt, handlerOf, serve } from "./serve.ts";
export type { Servable, ServeOptions, Streaming } from "./serve.ts";
export type { PlainFunction } from "./plain.ts";
