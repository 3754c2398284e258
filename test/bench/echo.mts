/** The agent of the benchmark sdks, in TypeScript. */
import { Agent } from "../../sdk/typescript/src/index.ts";

const agent = new Agent("bench-typescript", { onConnected: (id) => console.log("connected", id) });

agent.tool("echo", {
  description: "Says it back.",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const,
  handler: ({ text }) => `you said: ${text}`,
});

await agent.run();
