/** An agent of LangChain.js with a scripted model. */
import { serve } from "@beeos/sdk/adapters";
import { interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";
import { Scripted } from "./scripted.ts";
import { broken, deleteFile, forecast } from "./script.ts";

const agent = createAgent({
  model: new Scripted(),
  tools: [
    tool(({ city }: { city: string }) => forecast(city), { name: "forecast", description: "The weather.", schema: z.object({ city: z.string() }) }),
    tool(({ path }: { path: string }) => deleteFile(path), { name: "delete_file", description: "Deletes a file.", schema: z.object({ path: z.string() }) }),
    tool(() => broken(), { name: "broken", description: "Fails.", schema: z.object({}) }),
    tool(({ question }: { question: string }) => String(interrupt(question)), { name: "ask_person", description: "Asks the person.", schema: z.object({ question: z.string() }) }),
  ],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { delete_file: true } })],
  checkpointer: new MemorySaver(),
});

await serve(agent, { name: "langchain", onConnected: (id) => console.log("connected", id) });
