package connect

import "strings"

// sdk is a language that agents are written in with a package of ours.
type sdk struct {
	Name  string // of the way, and as `beeos agent new` has it
	Title string
	About string

	fetch string // what a new project needs before it runs, FOLDER being its folder; empty = nothing
	note  string // when
	lines string // an agent in a program that is there already, NAME being its name as the language writes it
}

// sdks are all of them.
var sdks = []sdk{
	{
		Name: "go", Title: "A program in Go", About: "A function that gets messages and answers them: in a new program, or in one that you have.",
		lines: "import \"github.com/beeos/beeos/agent\"\n\nerr := agent.Run(ctx, agent.Options{Name: NAME},\n\tfunc(ctx context.Context, m agent.Message, r *agent.Reply) error {\n\t\treturn r.Send(\"you said: \" + m.Text)\n\t})",
	},
	{
		Name: "python", Title: "A program in Python", About: "Functions that get messages and are tools, their schemas from type hints: in a new program, or in one that you have.",
		fetch: "python3 -m venv FOLDER/.venv && FOLDER/.venv/bin/python -m pip install -r FOLDER/requirements.txt", note: "Where there is uv, this is done for you. Otherwise fetch what it is made of, once:",
		lines: "from beeos import Agent\n\nagent = Agent(NAME)\n\n@agent.message\ndef answer(text: str) -> str:\n    return \"you said: \" + text\n\nagent.run()",
	},
	{
		Name: "typescript", Title: "A program in TypeScript", About: "Functions that get messages and are tools, for Node, Bun and Deno: in a new program, or in one that you have.",
		fetch: "npm --prefix FOLDER install", note: "Fetch what it is made of, once:",
		lines: "import { Agent } from \"@beeos/sdk\";\n\nconst agent = new Agent(NAME);\n\nagent.message((turn) => \"you said: \" + turn.text);\n\nawait agent.run();",
	},
}

// commands write a program and run it.
func (s sdk) commands(d *data, a access) []command {
	folder, write := "./"+d.Name, "beeos agent new "+d.Name
	if s.Name != "go" { // which is what it writes unless it is told
		write += " --lang " + s.Name
	}
	list := []command{{Title: "Write a new one:", Code: write, Label: "the command that writes it"}}
	if s.fetch != "" {
		list = append(list, command{Title: s.note, Code: strings.ReplaceAll(s.fetch, "FOLDER", folder), Label: "the command that fetches what it needs"})
	}
	return append(list,
		command{Title: "Run it:", Code: a.variables() + "beeos agent run " + folder, Label: "the command that runs it"},
		command{
			Title: "Or make an agent of a program that you have, and start it with the same two variables:", Label: "the lines of " + strings.TrimPrefix(s.Title, "A program in "),
			Code: strings.ReplaceAll(s.lines, "NAME", encode(d.Name)),
		})
}
