// Package bridge makes agents of what is none: Exec of a program that reads and
// writes JSON lines (exec.go keeps the process alive, lines.go is the format),
// HTTP of an endpoint that is posted the same (http.go, sse.go), OpenAI of a
// model (openai.go), MCP of a server, A2A of an agent of another platform.
// file.go has several of them in one file, secret.go where their secrets come
// from. oauth.go gets into MCP servers and peers that want tokens, with the
// consent of the person at the terminal where it takes that (consent.go);
// vault.go keeps the tokens.
//
// A2A (docs/adr/0028): a2a.go keeps the agent there, as the peer's card says
// (a2acard.go). a2aanswer.go makes a message to the peer of one of ours, a2atalk.go
// is all that comes of it, and a2aaccount.go the answer so far. a2aclient.go asks
// the peer; a2awire.go has what is said, in both dialects.
//
// MCP passes messages on without looking into them (docs/adr/0022). mcp.go
// keeps the server there and mcplist.go knows what it offers; mcpanswer.go makes
// an agent's calls of ours. Underneath, mcpsession.go is a conversation with the
// server and mcpheard.go what the server begins in it, over mcplink.go (stdio) or
// mcphttp.go. mcpvisit.go has the sessions of callers who can be asked,
// mcpwatch.go hears of changes.
//
// Of Exec and HTTP: one line on the program's stdin is one message:
//
//	{"id":"…","text":"hello","tool":"","arguments":{…},"method":"","params":{…},
//	 "channel":"…","from":"…","attempt":1,"deadline_ms":0,"metadata":{…},"attachments":[…]}
//
// What is empty is left out. A caller who gave up shows as
//
//	{"id":"…","cancel":"why"}
//
// The program answers on its stdout, one line each, in any order and for many
// messages at a time; id says which message is meant:
//
//	{"id":"…","delta":"a piece of the answer"}           any number of times
//	{"id":"…","reasoning":"a piece of thought"}          any number of times
//	{"id":"…","progress":1,"total":3,"message":"…"}      any number of times
//	{"id":"…","reply":"the answer, or the rest of it"}   once, and the end
//	{"id":"…","error":"what went wrong"}                 instead of a reply
//	{"id":"…","approve":{"request":"1","tool":"…","arguments":{…}}}
//
// The last one asks whether a tool may be called with these arguments; the
// answer is a line on its stdin
//
//	{"id":"…","decision":{"request":"1","approved":false,"reason":"…"}}
//
// The answer is everything that was sent as delta, then the reply. A reply may
// carry "parts", an array of content such as images, and "structured", a
// value. What the program writes to stderr goes to the log. When the program
// ends it is started again, and the messages that it had not answered fail.
package bridge
