/** A chain of LangChain.js, which is a runnable and no graph, with a scripted model. */
import { serve } from "@beeos/sdk/adapters";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { Scripted } from "./scripted.ts";

const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);

await serve(prompt.pipe(new Scripted()), { name: "chain", onConnected: (id) => console.log("connected", id) });
