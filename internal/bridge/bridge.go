// Package bridge makes agents of programs that are none. Exec runs a command
// and speaks JSON lines with it: exec.go keeps the process alive, lines.go is
// the format, which any language can read and write.
//
// One line on the program's stdin is one message:
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
//
// The answer is everything that was sent as delta, then the reply. A reply may
// carry "parts", an array of content such as images, and "structured", a
// value. What the program writes to stderr goes to the log. When the program
// ends it is started again, and the messages that it had not answered fail.
package bridge
