/** An agent of the AI SDK with a scripted model. */
import { serve } from "@beeos/sdk/adapters";
import { tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { model } from "./model.ts";
import { broken, deleteFile, forecast } from "./script.ts";

const agent = new ToolLoopAgent({
  model,
  instructions: "Do what the script says.",
  tools: {
    forecast: tool({ description: "The weather.", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => forecast(city) }),
    delete_file: tool({ description: "Deletes a file.", inputSchema: z.object({ path: z.string() }), needsApproval: true, execute: ({ path }) => deleteFile(path) }),
    broken: tool({ description: "Fails.", inputSchema: z.object({}), execute: broken }),
    ask_person: tool({ description: "Asks the person.", inputSchema: z.object({ question: z.string() }) }),
  },
});

await serve(agent, { name: "vercel", onConnected: (id) => console.log("connected", id) });
