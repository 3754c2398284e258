/** An agent of Mastra with a scripted model. */
import { serve } from "@beeos/sdk/adapters";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { model } from "./model.ts";
import { broken, deleteFile, forecast } from "./script.ts";

const tools = {
  forecast: createTool({ id: "forecast", description: "The weather.", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => forecast(city) }),
  delete_file: createTool({
    id: "delete_file",
    description: "Deletes a file.",
    inputSchema: z.object({ path: z.string() }),
    requireApproval: true,
    execute: async ({ path }) => deleteFile(path),
  }),
  broken: createTool({ id: "broken", description: "Fails.", inputSchema: z.object({}), execute: async () => broken() }),
  ask_person: createTool({
    id: "ask_person",
    description: "Asks the person.",
    inputSchema: z.object({ question: z.string() }),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async ({ question }, context) => {
      const { resumeData, suspend } = context.agent ?? {};
      return resumeData ? resumeData.answer : suspend?.({ question });
    },
  }),
};

const scripted = new Agent({ id: "scripted", name: "scripted", instructions: "Do what the script says.", model: model as never, tools });
const mastra = new Mastra({ agents: { scripted }, storage: new InMemoryStore(), logger: false });

await serve(mastra.getAgent("scripted"), { name: "mastra", onConnected: (id) => console.log("connected", id) });
