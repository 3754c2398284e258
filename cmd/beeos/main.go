// Command beeos is BeeOS: the server, and the tools around it.
package main

import (
	"os"

	"github.com/beeos/beeos/internal/cli"
)

func main() { os.Exit(cli.Main()) }
