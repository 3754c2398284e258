package project

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
)

// language is one that agents are written in.
type language struct {
	templates map[string]string // by the file's name; of templates/
	// findSDK fills in how a project in dir gets the SDK, and returns what else has to be written.
	findSDK func(ctx context.Context, f *facts, dir, sdk string) (more map[string]string, err error)
	// install is the command that fetches what the project is made of; empty = nothing is missing.
	install func(f *facts, dir string) string
}

// facts are what the templates need to know.
type facts struct {
	Name string
	Lang string
	Exec string // how the service unit starts the agent
	Mod  module // of a project in Go
	// SDK is how a project in Python or TypeScript asks for the SDK: a version, or the
	// file that lies in the project.
	SDK     string
	SDKFile string
}

// inAll are the templates that all languages share.
var inAll = map[string]string{".dockerignore": "dockerignore", "agent.service": "agent.service"}

var languages = map[string]language{
	"go": {
		templates: map[string]string{
			"main.go": "go/main.go", "main_test.go": "go/main_test.go", "go.mod": "go/go.mod",
			"README.md": "go/README.md", "Dockerfile": "go/Dockerfile",
		},
		findSDK: findGoModule,
		install: func(f *facts, dir string) string {
			if f.Mod.Sum != "" {
				return ""
			}
			return fmt.Sprintf("go -C %s mod tidy", formatFolder(dir))
		},
	},
	"python": {
		templates: map[string]string{
			"agent.py": "python/agent.py", "test_agent.py": "python/test_agent.py", "requirements.txt": "python/requirements.txt",
			"README.md": "python/README.md", "Dockerfile": "python/Dockerfile",
		},
		findSDK: findPackage("beeos-*.whl", "a wheel of the Python SDK", "python -m hatchling build -t wheel, in sdk/python"),
		install: func(_ *facts, dir string) string { return installPython(dir) },
	},
	"typescript": {
		templates: map[string]string{
			"agent.ts": "typescript/agent.ts", "answers.ts": "typescript/answers.ts", "answers.test.ts": "typescript/answers.test.ts",
			"package.json": "typescript/package.json", "tsconfig.json": "typescript/tsconfig.json", "README.md": "typescript/README.md", "Dockerfile": "typescript/Dockerfile",
		},
		findSDK: findPackage("beeos-sdk-*.tgz", "a package of the TypeScript SDK", "npm ci && npm run build && npm pack, in sdk/typescript"),
		install: func(_ *facts, dir string) string { return installTypeScript(dir) },
	},
}

// execs are how the service unit starts an agent, %s being its name.
var execs = map[string]string{
	"go":         "/opt/%[1]s/%[1]s",
	"python":     "/opt/%[1]s/.venv/bin/python agent.py",
	"typescript": "/usr/bin/node agent.ts",
}

func installPython(dir string) string {
	venv := filepath.Join(dir, ".venv")
	return fmt.Sprintf("python3 -m venv %s && %s -m pip install -r %s", formatFolder(venv),
		formatFolder(filepath.Join(venv, "bin", "python")), formatFolder(filepath.Join(dir, "requirements.txt")))
}

func installTypeScript(dir string) string {
	return fmt.Sprintf("npm --prefix %s install", formatFolder(cmp.Or(dir, ".")))
}
