package main

import (
	"fmt"
	"os"
	"strings"
)

// renew replaces the table between the marks of its name in a Markdown file.
func renew(file, name, table string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- bench:%s -->\n", name), fmt.Sprintf("<!-- /bench:%s -->", name)
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for %s", file, name)
	}
	return os.WriteFile(file, []byte(head+begin+"\n"+table+"\n"+end+tail), 0o644)
}
