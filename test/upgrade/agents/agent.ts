// The agent of the upgrade tests in TypeScript, with nothing that its first SDK does not
// have. The first argument is where that is.
const { Agent } = await import(process.argv[2]!);

const agent = new Agent("echo", { onConnected: (id: string) => console.log("connected", id) });

agent.tool("shout", {
  description: "Says it louder.",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: ({ text }: { text: string }) => {
    console.log("begin tool 1", text);
    return text.toUpperCase();
  },
});

agent.message(async (turn: any) => {
  console.log("begin message 1", turn.text);
  const [order, ...words] = turn.text.split(" ");
  const rest = words.join(" ");
  switch (order) {
    case "ask":
      return "asked: " + (await turn.inputRequired("which one?")).text;
    case "write":
      await turn.approve("write_file", { text: rest });
      return "wrote: " + rest;
    case "file":
      await turn.attach("note.txt", "text/plain", rest);
      return "attached";
    case "stream":
      for (let i = 0; i < Number(words[0]); i++) await turn.delta(`${i} `);
      return "end";
  }
  return "echo: " + turn.text;
});

await agent.run();
